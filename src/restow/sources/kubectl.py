"""The kubectl commands that print a cluster for restow, declared once: help, hints and documentation name these.

``kubectl get`` prints nothing of a kind without objects, so "none" would look like "not asked". ``kubectl get --raw``
prints an empty list by its name; kinds that a cluster may well have none of are asked for like that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from restow.kube.objects import DEVICE_KINDS

#: What kubectl calls the kinds that every cluster has, or whose absence changes no answer.
_NAMES: Final = {
    "Node": "nodes",
    "Pod": "pods",
    "Service": "svc",
    "Deployment": "deploy",
    "ReplicaSet": "rs",
    "StatefulSet": "sts",
    "DaemonSet": "ds",
    "ReplicationController": "rc",
    "Job": "jobs",
    "Namespace": "ns",
    "PriorityClass": "pc",
    "ResourceQuota": "quota",
    "PersistentVolumeClaim": "pvc",
    "PersistentVolume": "pv",
    "CSINode": "csinodes",
}
#: Where the API server lists kinds of which there may be none.
_PATHS: Final = {
    "ControllerRevision": "/apis/apps/v1/controllerrevisions",
    "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
    "CSIStorageCapacity": "/apis/storage.k8s.io/v1/csistoragecapacities",
    "VolumeAttachment": "/apis/storage.k8s.io/v1/volumeattachments",
}
#: Where it lists kinds that not every cluster serves; then nothing is written of them.
_OPTIONAL: Final = {
    "VerticalPodAutoscaler": "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers",
    "DeviceTaintRule": "/apis/resource.k8s.io/v1/devicetaintrules",
    "Workload.scheduling.k8s.io": "/apis/scheduling.k8s.io/v1alpha1/workloads",
    "NodeResourceTopology": "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
}
#: The kind that some API servers have in one version, some in another, and most not at all: kubectl knows which.
_POD_GROUPS: Final = {"PodGroup": "podgroups.scheduling.k8s.io"}
#: What kubectl calls kinds of the same sort that are served together. Where there are none, they are not needed.
_DEVICES: Final = dict(
    zip(DEVICE_KINDS, ("resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices"), strict=True)
)
#: Every kind that a dump should hold.
DUMPED: Final = (*_NAMES, *_OPTIONAL, *_POD_GROUPS, *_DEVICES, *_PATHS)


def printing(kinds: Collection[str], file: str) -> str:
    """The command line that writes these kinds, one at least, into one file."""
    names = ",".join(name for kind, name in _NAMES.items() if kind in kinds)
    together = [f"kubectl get -A -o json {names}"] if names else []
    optional = [f"{each} 2>/dev/null" for each in _lists(path for kind, path in _OPTIONAL.items() if kind in kinds)]
    for served in (_POD_GROUPS, _DEVICES):
        names = ",".join(name for kind, name in served.items() if kind in kinds)
        optional += [f"kubectl get -A -o json {names} 2>/dev/null"] if names else []
    return _one_file([*together, *optional, *_lists(path for kind, path in _PATHS.items() if kind in kinds)], file)


def _lists(paths: Iterable[str]) -> list[str]:
    return [f"kubectl get --raw {path}" for path in paths]


def _one_file(commands: Sequence[str], file: str) -> str:
    joined = "; ".join(commands)
    return f"({joined}) > {file}" if len(commands) > 1 else f"{joined} > {file}"


#: Writes all that restow reads of a cluster into one file, which records empty kinds too.
DUMP: Final = printing(DUMPED, "cluster.json")
#: Writes what pods and nodes really use into one file; only clusters with a metrics server have it.
USAGE: Final = _one_file(_lists(f"/apis/metrics.k8s.io/v1beta1/{plural}" for plural in ("nodes", "pods")), "usage.json")
#: Writes the PodGroups of Coscheduling into one file; only clusters whose scheduler has that plugin have them.
COSCHEDULED: Final = _one_file(_lists(("/apis/scheduling.x-k8s.io/v1alpha1/podgroups",)), "groups.json")
#: Writes the migrations of virtual machines into one file; only clusters with KubeVirt have them.
MIGRATIONS: Final = _one_file(_lists(("/apis/kubevirt.io/v1/virtualmachineinstancemigrations",)), "migrations.json")
