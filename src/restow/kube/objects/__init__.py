"""The Kubernetes objects that decisions read, as the API writes them.

Every kind is a frozen ``msgspec.Struct`` with the API's own field names (camel case on the wire, snake case here).
Fields that no decision reads are left out: msgspec skips their bytes without building anything, so the size of an
annotation or of an environment block costs neither memory nor time. Wrong types raise ``msgspec.ValidationError``
with the path of the field.

Some fields are ``msgspec.Raw``. They are the parts that many pods share to the byte (resources, tolerations,
affinity, spread constraints, labels): the loader interns those bytes and decodes each distinct text once, with
``decode_part``. A ``Raw`` keeps its whole page alive, so nothing outside the loader holds one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from restow.kube.decoding import Unreadable
from restow.kube.objects.cluster_objects import (
    ConfigMap,
    ContainerImage,
    ContainerMetrics,
    CoscheduledGroup,
    CoscheduledGroupSpec,
    GangWorkload,
    Namespace,
    Node,
    NodeMetrics,
    NodeResourceTopology,
    NodeStatus,
    PodDisruptionBudget,
    PodGroup,
    PodMetrics,
    PriorityClass,
    ResourceQuota,
    Taint,
    TopologyZone,
    UsageSeries,
    VirtualMachineInstanceMigration,
    WorkloadGroup,
    ZoneResource,
)
from restow.kube.objects.devices import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from restow.kube.objects.metadata import (
    ABSENT,
    Annotations,
    Condition,
    Int32,
    Int64,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    WireQuantity,
    decode_part,
)
from restow.kube.objects.pods import (
    Affinity,
    Container,
    ContainerPort,
    ContainerReport,
    ContainerStatus,
    NodeAffinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAnnotations,
    PodSpec,
    PodStatus,
    PreferredSchedulingTerm,
    ResourceRequirements,
    SchedulingGate,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from restow.kube.objects.volumes import (
    AWSElasticBlockStore,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    GCEPersistentDisk,
    ISCSIVolume,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    RBDVolume,
    StorageClass,
    TopologySelectorTerm,
    Volume,
    VolumeAttachment,
)
from restow.kube.objects.workloads import (
    ContainerPolicy,
    ControllerRevision,
    Job,
    PodFailurePolicy,
    PodFailureRule,
    PodTemplate,
    ReplicationController,
    Service,
    SuccessPolicy,
    SuccessRule,
    VerticalPodAutoscaler,
    Workload,
    without_page,
)

__all__ = [
    "ABSENT",
    "API_VERSIONS",
    "DEVICE_KINDS",
    "GROUPS",
    "KINDS",
    "AWSElasticBlockStore",
    "Affinity",
    "Annotations",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "Condition",
    "ConfigMap",
    "Container",
    "ContainerImage",
    "ContainerMetrics",
    "ContainerPolicy",
    "ContainerPort",
    "ContainerReport",
    "ContainerStatus",
    "ControllerRevision",
    "CoscheduledGroup",
    "CoscheduledGroupSpec",
    "DeviceClass",
    "DeviceTaintRule",
    "GCEPersistentDisk",
    "GangWorkload",
    "ISCSIVolume",
    "Int32",
    "Int64",
    "Job",
    "LabelSelector",
    "LabelSelectorRequirement",
    "Namespace",
    "Node",
    "NodeAffinity",
    "NodeMetrics",
    "NodeResourceTopology",
    "NodeSelector",
    "NodeSelectorTerm",
    "NodeStatus",
    "ObjectMeta",
    "ObjectReference",
    "OwnerReference",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeClaimStatus",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodAnnotations",
    "PodDisruptionBudget",
    "PodFailurePolicy",
    "PodFailureRule",
    "PodGroup",
    "PodMetrics",
    "PodSpec",
    "PodStatus",
    "PodTemplate",
    "PreferredSchedulingTerm",
    "PriorityClass",
    "RBDVolume",
    "ReplicationController",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceQuota",
    "ResourceRequirements",
    "ResourceSlice",
    "SchedulingGate",
    "Service",
    "StorageClass",
    "SuccessPolicy",
    "SuccessRule",
    "Taint",
    "Toleration",
    "TopologySelectorTerm",
    "TopologySpreadConstraint",
    "TopologyZone",
    "Unreadable",
    "UsageSeries",
    "VerticalPodAutoscaler",
    "VirtualMachineInstanceMigration",
    "Volume",
    "VolumeAttachment",
    "WeightedPodAffinityTerm",
    "WireQuantity",
    "Workload",
    "WorkloadGroup",
    "ZoneResource",
    "decode_part",
    "known_kind",
    "without_page",
    "written_kind",
]


#: The kinds, their API versions, and what each decodes to; ``Kind.group`` where two groups have the same word.
_ALL: Final[Mapping[str, tuple[str, type[Struct]]]] = {
    "Node": ("v1", Node),
    "Pod": ("v1", Pod),
    "Namespace": ("v1", Namespace),
    "PriorityClass": ("scheduling.k8s.io/v1", PriorityClass),
    "PodGroup": ("scheduling.k8s.io/v1beta1", PodGroup),
    "Workload.scheduling.k8s.io": ("scheduling.k8s.io/v1alpha1", GangWorkload),
    "PodGroup.scheduling.x-k8s.io": ("scheduling.x-k8s.io/v1alpha1", CoscheduledGroup),
    "PodDisruptionBudget": ("policy/v1", PodDisruptionBudget),
    "ResourceQuota": ("v1", ResourceQuota),
    "ReplicaSet": ("apps/v1", Workload),
    "Deployment": ("apps/v1", Workload),
    "ReplicationController": ("v1", ReplicationController),
    "StatefulSet": ("apps/v1", Workload),
    "DaemonSet": ("apps/v1", Workload),
    "Job": ("batch/v1", Job),
    "CronJob": ("batch/v1", Workload),
    "ControllerRevision": ("apps/v1", ControllerRevision),
    "VerticalPodAutoscaler": ("autoscaling.k8s.io/v1", VerticalPodAutoscaler),
    "Service": ("v1", Service),
    "PersistentVolumeClaim": ("v1", PersistentVolumeClaim),
    "PersistentVolume": ("v1", PersistentVolume),
    "StorageClass": ("storage.k8s.io/v1", StorageClass),
    "CSINode": ("storage.k8s.io/v1", CSINode),
    "CSIDriver": ("storage.k8s.io/v1", CSIDriver),
    "CSIStorageCapacity": ("storage.k8s.io/v1", CSIStorageCapacity),
    "VolumeAttachment": ("storage.k8s.io/v1", VolumeAttachment),
    "ResourceClaim": ("resource.k8s.io/v1", ResourceClaim),
    "ResourceClaimTemplate": ("resource.k8s.io/v1", ResourceClaimTemplate),
    "DeviceClass": ("resource.k8s.io/v1", DeviceClass),
    "ResourceSlice": ("resource.k8s.io/v1", ResourceSlice),
    "DeviceTaintRule": ("resource.k8s.io/v1", DeviceTaintRule),
    "VirtualMachineInstanceMigration": ("kubevirt.io/v1", VirtualMachineInstanceMigration),
    "NodeResourceTopology": ("topology.node.k8s.io/v1alpha2", NodeResourceTopology),
    "NodeMetrics": ("metrics.k8s.io/v1beta1", NodeMetrics),
    "PodMetrics": ("metrics.k8s.io/v1beta1", PodMetrics),
    "UsageSeries": ("restow.dev/v1alpha1", UsageSeries),
}

#: The kinds of dynamic resources. API servers serve them since Kubernetes 1.34, if nobody has turned them off.
DEVICE_KINDS: Final = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice")

KINDS: Final[Mapping[str, type[Struct]]] = {kind: struct for kind, (_, struct) in _ALL.items()}

API_VERSIONS: Final[Mapping[str, str]] = {kind: version for kind, (version, _) in _ALL.items()}


def known_kind(kind: str, api_version: str) -> str:
    """The kind of an object as ``KINDS`` has it: with its group where another group has the same word."""
    qualified = f"{kind}.{api_version.rpartition('/')[0]}"
    return qualified if qualified in KINDS else kind


def written_kind(kind: str) -> str:
    """The kind as objects of it write it: without a group."""
    return kind.partition(".")[0]


#: The API group of each kind; empty for the core group.
GROUPS: Final[Mapping[str, str]] = {kind: version.rpartition("/")[0] for kind, version in API_VERSIONS.items()}
