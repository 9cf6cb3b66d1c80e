"""The kinds of objects that restow knows, and their API versions."""

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
    "ControllerRevision": objects.ControllerRevision,
    "VerticalPodAutoscaler": objects.VerticalPodAutoscaler,
    "Service": objects.Service,
    "PersistentVolumeClaim": objects.PersistentVolumeClaim,
    "PersistentVolume": objects.PersistentVolume,
    "StorageClass": objects.StorageClass,
    "CSINode": objects.CSINode,
    "CSIDriver": objects.CSIDriver,
    "CSIStorageCapacity": objects.CSIStorageCapacity,
    "VolumeAttachment": objects.VolumeAttachment,
    "VirtualMachineInstanceMigration": objects.VirtualMachineInstanceMigration,
    "NodeResourceTopology": objects.NodeResourceTopology,
    "NodeMetrics": objects.NodeMetrics,
    "PodMetrics": objects.PodMetrics,
    "UsageSeries": objects.UsageSeries,
}

API_VERSIONS: Mapping[str, str] = {
    "Node": "v1",
    "Pod": "v1",
    "Namespace": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "ReplicaSet": "apps/v1",
    "Deployment": "apps/v1",
    "ReplicationController": "v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "ControllerRevision": "apps/v1",
    "VerticalPodAutoscaler": "autoscaling.k8s.io/v1",
    "Service": "v1",
    "PersistentVolumeClaim": "v1",
    "PersistentVolume": "v1",
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "CSIDriver": "storage.k8s.io/v1",
    "CSIStorageCapacity": "storage.k8s.io/v1",
    "VolumeAttachment": "storage.k8s.io/v1",
    "VirtualMachineInstanceMigration": "kubevirt.io/v1",
    "NodeResourceTopology": "topology.node.k8s.io/v1alpha2",
    "NodeMetrics": "metrics.k8s.io/v1beta1",
    "PodMetrics": "metrics.k8s.io/v1beta1",
    "UsageSeries": "restow.dev/v1alpha1",
}


#: The API group of each kind; empty for the core group.
GROUPS: Mapping[str, str] = {kind: version.rpartition("/")[0] for kind, version in API_VERSIONS.items()}
