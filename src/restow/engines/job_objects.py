"""The objects by which a cluster makes pieces of work: an Indexed Job, and ConfigMaps with the pieces.

The Job is created suspended and owns the ConfigMaps, so to delete it is to delete everything, and no pod starts before
its pieces are there. A pod that is preempted, drained or lost with its node counts as no failure (Pod failure policies,
Kubernetes 1.31 and later); one that ends by itself is tried again three times. A Job that no command resumes is deleted a day
after its end.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from restow.version import __version__

#: The label of all Jobs of one run.
RUN: Final = "restow.dev/run"
#: The Job controller's labels of a pod.
OF_JOB: Final = "batch.kubernetes.io/job-name"
_NAME: Final = "app.kubernetes.io/name"
_PARCEL: Final = "/parcel"
_MESSAGE: Final = "/dev/termination-log"
_DAY: Final = 86_400
_TRIES: Final = 3

Object = dict[str, Any]


class KubernetesArgs(Struct, frozen=True, rename="camel"):
    """Where the Job runs, and what its pods are like."""

    #: An image with this version of restow; ``restow`` is in its PATH.
    image: str = ""
    namespace: str = "default"
    kubeconfig: str | None = None
    context: str | None = None
    #: What a pod requests of each, and may use of memory.
    cpu: str = "1"
    memory: str = "1Gi"
    image_pull_secrets: tuple[str, ...] = ()
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Mapping[str, Any], ...] = ()
    priority_class_name: str = ""


@dataclass(slots=True, frozen=True)
class JobShape:
    """How a Job is called and how much it has to do."""

    name: str
    run: str
    indexes: int
    parallelism: int
    #: Of its parcel.
    files: int
    digest: str


def job_of(shape: JobShape, args: KubernetesArgs) -> Object:
    """Return the Job, suspended."""
    labels = {_NAME: "restow", RUN: shape.run}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": shape.name, "namespace": args.namespace, "labels": labels},
        "spec": {
            "completionMode": "Indexed",
            "completions": shape.indexes,
            "parallelism": shape.parallelism,
            "suspend": True,
            "backoffLimitPerIndex": _TRIES,
            "maxFailedIndexes": 0,
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                ]
            },
            "ttlSecondsAfterFinished": _DAY,
            "template": {"metadata": {"labels": labels}, "spec": _pod_spec(shape, args)},
        },
    }


def _pod_spec(shape: JobShape, args: KubernetesArgs) -> Object:
    spec: Object = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "imagePullSecrets": [{"name": each} for each in args.image_pull_secrets],
        "nodeSelector": dict(args.node_selector),
        "tolerations": [dict(each) for each in args.tolerations],
        "containers": [_container(shape, args)],
        "volumes": [{"name": "parcel", "projected": {"sources": _sources(shape)}}],
    }
    if args.priority_class_name:
        spec["priorityClassName"] = args.priority_class_name
    return spec


def _container(shape: JobShape, args: KubernetesArgs) -> Object:
    command = ["restow", "simulate", "index", "--parcel", _PARCEL, "--output", _MESSAGE]
    return {
        "name": "restow",
        "image": args.image,
        "command": [*command, "--sha256", shape.digest, "--for-version", __version__],
        "resources": {
            "requests": {"cpu": args.cpu, "memory": args.memory},
            "limits": {"memory": args.memory},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "terminationMessagePath": _MESSAGE,
        "volumeMounts": [{"name": "parcel", "mountPath": _PARCEL, "readOnly": True}],
    }


def _sources(shape: JobShape) -> list[Object]:
    names = (_config_map_name(shape.name, at) for at in range(shape.files))
    return [{"configMap": {"name": each}} for each in names]


def _config_map_name(job: str, at: int) -> str:
    return f"{job}-{at}"


def config_maps_of(job: Object, files: Sequence[bytes]) -> list[Object]:
    """Return the ConfigMaps with a parcel, owned by the Job that the API server has created."""
    meta = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": _config_map_name(meta["name"], at),
                "namespace": meta["namespace"],
                "labels": meta["labels"],
                "ownerReferences": [owner],
            },
            "immutable": True,
            "binaryData": {f"{at}.part": b64encode(content).decode()},
        }
        for at, content in enumerate(files)
    ]
