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

from restow.kube.objects.autoscaling import ContainerPolicy, VerticalPodAutoscaler
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
from restow.kube.objects.namespaces import ConfigMap, Namespace, PodDisruptionBudget, PriorityClass
from restow.kube.objects.nodes import (
    ContainerImage,
    ContainerMetrics,
    Node,
    NodeMetrics,
    NodeStatus,
    PodMetrics,
    Taint,
    UsageSeries,
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
from restow.kube.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    TopologySelectorTerm,
    VolumeAttachment,
)
from restow.kube.objects.templates import ControllerRevision, PodTemplate, without_page
from restow.kube.objects.unreadable import Unreadable
from restow.kube.objects.virtual_machines import VirtualMachineInstanceMigration
from restow.kube.objects.volumes import (
    AWSElasticBlockStore,
    GCEPersistentDisk,
    ISCSIVolume,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    RBDVolume,
    Volume,
)
from restow.kube.objects.workloads import (
    Job,
    PodFailurePolicy,
    PodFailureRule,
    ReplicationController,
    Service,
    SuccessPolicy,
    SuccessRule,
    Workload,
)

__all__ = [
    "ABSENT",
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
    "GCEPersistentDisk",
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
    "PodMetrics",
    "PodSpec",
    "PodStatus",
    "PodTemplate",
    "PreferredSchedulingTerm",
    "PriorityClass",
    "RBDVolume",
    "ReplicationController",
    "ResourceRequirements",
    "SchedulingGate",
    "Service",
    "StorageClass",
    "SuccessPolicy",
    "SuccessRule",
    "Taint",
    "Toleration",
    "TopologySelectorTerm",
    "TopologySpreadConstraint",
    "Unreadable",
    "UsageSeries",
    "VerticalPodAutoscaler",
    "VirtualMachineInstanceMigration",
    "Volume",
    "VolumeAttachment",
    "WeightedPodAffinityTerm",
    "WireQuantity",
    "Workload",
    "decode_part",
    "without_page",
]
