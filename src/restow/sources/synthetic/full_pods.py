"""Pods with everything that a real dump carries and no decision reads: environment, mounts, probes, addresses.

A reader's speed depends on what it has to skip, so the ``full`` profile makes pods of the size that
``kubectl get pods -o json`` really prints: about 3 KB without indentation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

    from restow.sources.synthetic.names import Object

MOUNTS = [{"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}]

#: The projected volume that the API server adds to every pod.
TOKEN_VOLUME: Object = {
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

DEFAULT_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]

POD_DEFAULTS: Object = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default",
    "securityContext": {"runAsNonRoot": True},
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}

CONTAINER_DEFAULTS: Object = {
    "env": [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
    ],
    "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
    "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
    "imagePullPolicy": "IfNotPresent",
    "securityContext": {"capabilities": {"drop": ["ALL"]}},
}

ANNOTATIONS = {"kubectl.kubernetes.io/restartedAt": "2025-11-20T08:15:00Z"}


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
            "annotations": ANNOTATIONS | metadata.get("annotations", {}),
        },
        "spec": _spec(pod["spec"]),
        "status": _status(pod["status"], digest, rng),
    }


def _spec(spec: Object) -> Object:
    return (
        POD_DEFAULTS
        | spec
        | {
            "containers": [entry | CONTAINER_DEFAULTS | {"volumeMounts": MOUNTS} for entry in spec["containers"]],
            "volumes": [*spec.get("volumes", []), TOKEN_VOLUME],
            "tolerations": [*spec.get("tolerations", []), *DEFAULT_TOLERATIONS],
        }
    )


def _status(status: Object, digest: str, rng: Random) -> Object:
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
