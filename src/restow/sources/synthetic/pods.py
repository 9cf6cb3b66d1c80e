"""Pod objects in the compact style: every field that a decision reads, and no other.

What pods of one owner share is built once for the owner and referenced from every pod, so a pod costs a few small
dicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from restow.sources.synthetic.names import uid
from restow.sources.synthetic.workloads import owner_references, pod_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

    from restow.sources.synthetic.names import Object
    from restow.sources.synthetic.workloads import SyntheticWorkload

_MOUNTS = [{"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}]

#: The projected volume that the API server adds to every pod.
_TOKEN_VOLUME: Object = {
    "name": "kube-api-access",
    "projected": {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        ],
    },
}

_DEFAULT_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]

_POD_DEFAULTS: Object = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default",
    "securityContext": {"runAsNonRoot": True},
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}

_CONTAINER_DEFAULTS: Object = {
    "env": [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
    ],
    "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
    "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
    "imagePullPolicy": "IfNotPresent",
    "securityContext": {"capabilities": {"drop": ["ALL"]}},
}

_ANNOTATIONS = {"kubectl.kubernetes.io/restartedAt": "2025-11-20T08:15:00Z"}


@dataclass(slots=True, frozen=True)
class Life:
    """What a pod has been through; by default it was scheduled, started and runs."""

    phase: str = "Running"
    #: ``status.reason``, as the kubelet writes it on pods that it failed.
    reason: str | None = None
    restarts: int = 0
    #: Why the container waits, if it does.
    waiting: str | None = None
    #: Why and with which code the container ended, if it did.
    terminated: str | None = None
    exit_code: int = 0
    #: ``metadata.deletionTimestamp`` of a pod that is going away.
    deleted: str | None = None
    annotations: dict[str, str] | None = None


HEALTHY = Life()


class PodMaker(Protocol):
    """Makes the pods of one owner."""

    def __call__(self, replica: int, node: str | None, created: str, life: Life = HEALTHY) -> Object:
        """Return the pod of a replica, created at a time; it is pending if ``node`` is None."""


def container(image: str, requests: dict[str, str], limits: dict[str, str] | None = None) -> Object:
    """One container, named after its image without number and tag."""
    resources: Object = {"requests": requests} if requests else {}
    if limits:
        resources["limits"] = limits
    name = image.rpartition("/")[2].partition(":")[0]
    return {"name": name.rstrip("-0123456789"), "image": image, "resources": resources}


def pod_maker(owner: SyntheticWorkload, rng: Random) -> PodMaker:
    """Return what makes the pods of one owner; their uids come from ``rng``."""
    shared: Object = {"labels": owner.labels}
    if references := owner_references(owner):
        shared["ownerReferences"] = references
    qos = _qos(owner.spec)
    containers = [entry["name"] for entry in owner.spec["containers"]]

    def make(replica: int, node: str | None, created: str, life: Life = HEALTHY) -> Object:
        metadata = {
            "name": pod_name(owner, replica),
            "namespace": owner.namespace,
            "uid": uid(rng),
            "creationTimestamp": created,
            **shared,
        }
        if life.deleted:
            metadata["deletionTimestamp"] = life.deleted
        if life.annotations:
            metadata["annotations"] = life.annotations
        status = _status(life, qos, created, containers) if node else _unscheduled(qos, created)
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": _spec(owner, replica, node),
            "status": status,
        }

    return make


def claim_name(owner: SyntheticWorkload, replica: int) -> str:
    """Name the claim of a StatefulSet's pod."""
    return f"{owner.claim}-{pod_name(owner, replica)}"


def _spec(owner: SyntheticWorkload, replica: int, node: str | None) -> Object:
    spec = {"nodeName": node, **owner.spec} if node else owner.spec
    if not owner.claim:
        return spec
    claim = {"name": owner.claim, "persistentVolumeClaim": {"claimName": claim_name(owner, replica)}}
    return {**spec, "volumes": [claim]}


def _qos(spec: Object) -> str:
    resources = [entry["resources"] for entry in spec["containers"]]
    if not any(resources):
        return "BestEffort"
    pairs = [(entry.get("requests", {}), entry.get("limits", {})) for entry in resources]
    same = all(requests == limits and {"cpu", "memory"} <= requests.keys() for requests, limits in pairs)
    return "Guaranteed" if same else "Burstable"


def _unscheduled(qos: str, created: str) -> Object:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": created,
    }
    return {"phase": "Pending", "qosClass": qos, "conditions": [condition]}


def _status(life: Life, qos: str, started: str, containers: list[str]) -> Object:
    ready = life.phase == "Running" and not life.waiting
    state = _container_state(life)
    status: Object = {
        "phase": life.phase,
        "qosClass": qos,
        "startTime": started,
        "conditions": [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": started}],
        "containerStatuses": [
            {"name": name, "ready": ready, "restartCount": life.restarts, "state": state} for name in containers
        ],
    }
    if life.reason:
        status["reason"] = life.reason
    return status


def _container_state(life: Life) -> Object:
    if life.waiting:
        return {"waiting": {"reason": life.waiting}}
    if life.terminated:
        return {"terminated": {"reason": life.terminated, "exitCode": life.exit_code}}
    return {"running": {}}


# A reader's speed depends on what it has to skip, so the ``full`` profile makes pods of the size that ``kubectl get
# pods -o json`` really prints: about 3 KB without indentation.
def completed(objects: Iterable[Object], rng: Random) -> Iterator[Object]:
    """Yield the objects, pods in full size; decisions about them stay the same."""
    for item in objects:
        yield _complete(item, rng) if item["kind"] == "Pod" else item


def _complete(pod: Object, rng: Random) -> Object:
    digest = f"{rng.getrandbits(256):064x}"
    metadata = pod["metadata"]
    return pod | {
        "metadata": metadata
        | {
            "resourceVersion": str(rng.getrandbits(30)),
            "annotations": _ANNOTATIONS | metadata.get("annotations", {}),
        },
        "spec": _full_spec(pod["spec"]),
        "status": _full_status(pod["status"], digest, rng),
    }


def _full_spec(spec: Object) -> Object:
    return (
        _POD_DEFAULTS
        | spec
        | {
            "containers": [entry | _CONTAINER_DEFAULTS | {"volumeMounts": _MOUNTS} for entry in spec["containers"]],
            "volumes": [*spec.get("volumes", []), _TOKEN_VOLUME],
            "tolerations": [*spec.get("tolerations", []), *_DEFAULT_TOLERATIONS],
        }
    )


def _full_status(status: Object, digest: str, rng: Random) -> Object:
    if "startTime" not in status:
        return status
    ready = status["conditions"][0]
    passed = {"status": "True", "lastTransitionTime": status["startTime"]}
    address = f"10.{rng.getrandbits(8)}.{rng.getrandbits(8)}.{rng.getrandbits(8)}"
    host = f"192.168.{rng.getrandbits(8)}.{rng.getrandbits(8)}"
    return status | {
        "conditions": [
            {"type": "Initialized"} | passed,
            ready,
            ready | {"type": "ContainersReady"},
            {"type": "PodScheduled"} | passed,
        ],
        "containerStatuses": [_container_status(entry, digest) for entry in status["containerStatuses"]],
        "hostIP": host,
        "podIP": address,
        "podIPs": [{"ip": address}],
    }


def _container_status(entry: Object, digest: str) -> Object:
    return entry | {
        "containerID": f"containerd://{digest}",
        "image": f"example.com/{entry['name']}:1.0",
        "imageID": f"example.com/{entry['name']}@sha256:{digest}",
        "lastState": {},
        "started": entry["ready"],
    }
