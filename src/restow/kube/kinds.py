"""The kinds of objects that restow knows."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from restow.kube import objects

#: What each decodes to.
KINDS: Mapping[str, type[Struct]] = {
    "Node": objects.Node,
    "Pod": objects.Pod,
    "Namespace": objects.Namespace,
    "PriorityClass": objects.PriorityClass,
    "PodDisruptionBudget": objects.PodDisruptionBudget,
    "ReplicaSet": objects.Workload,
    "Deployment": objects.Workload,
    "ReplicationController": objects.ReplicationController,
    "StatefulSet": objects.Workload,
    "DaemonSet": objects.Workload,
    "Job": objects.Job,
    "CronJob": objects.Workload,
    "Service": objects.Service,
    "PersistentVolumeClaim": objects.PersistentVolumeClaim,
    "PersistentVolume": objects.PersistentVolume,
    "StorageClass": objects.StorageClass,
    "CSINode": objects.CSINode,
    "CSIDriver": objects.CSIDriver,
    "CSIStorageCapacity": objects.CSIStorageCapacity,
    "VolumeAttachment": objects.VolumeAttachment,
    "NodeMetrics": objects.NodeMetrics,
    "PodMetrics": objects.PodMetrics,
    "UsageSeries": objects.UsageSeries,
}
