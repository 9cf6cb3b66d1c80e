"""The API version of each kind that restow reads."""

from __future__ import annotations

from collections.abc import Mapping

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
    "Service": "v1",
    "PersistentVolumeClaim": "v1",
    "PersistentVolume": "v1",
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "CSIDriver": "storage.k8s.io/v1",
    "CSIStorageCapacity": "storage.k8s.io/v1",
    "VolumeAttachment": "storage.k8s.io/v1",
    "NodeMetrics": "metrics.k8s.io/v1beta1",
    "PodMetrics": "metrics.k8s.io/v1beta1",
    "UsageSeries": "restow.dev/v1alpha1",
}


#: The API group of each kind; empty for the core group.
GROUPS: Mapping[str, str] = {kind: version.rpartition("/")[0] for kind, version in API_VERSIONS.items()}
