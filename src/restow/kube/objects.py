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

from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct, field

from restow.kube import nulls

#: A quantity as the API may write it; ``kube.quantity.parse_quantity`` makes it exact.
WireQuantity = str | int | float

#: The API's integers; a larger number is an error that names its field.
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

T = TypeVar("T")

#: What an absent Raw field holds.
ABSENT = Raw()


class Present(Struct, frozen=True, gc=False):
    """An object of which only the presence matters (``emptyDir: {}``)."""


class OwnerReference(Struct, frozen=True, gc=False):
    """One entry of ``metadata.ownerReferences``."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Annotations(Struct, frozen=True, gc=False):
    """The annotations that decisions read of kinds other than Pod; all others are never decoded."""

    #: Where the scheduler asked for a claim's volume to be made.
    selected_node: str | None = field(default=None, name="volume.kubernetes.io/selected-node")
    #: The mark of the controller on a claim that it has bound for good.
    bind_completed: str | None = field(default=None, name="pv.kubernetes.io/bind-completed")
    #: The class of a claim or a volume, as it was written before it had a field.
    storage_class: str | None = field(default=None, name="volume.beta.kubernetes.io/storage-class")
    #: The built-in drivers that a node has replaced, on its CSINode.
    migrated_plugins: str | None = field(default=None, name="storage.alpha.kubernetes.io/migrated-plugins")


class ObjectMeta(Struct, frozen=True, gc=False, rename="camel"):
    """The metadata of every kind but Pod."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    annotations: Annotations | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


# Pods


class PodAnnotations(Struct, frozen=True, gc=False):
    """The annotations that decisions read; all others are never decoded."""

    evict: str | None = field(default=None, name="descheduler.alpha.kubernetes.io/evict")
    prefer_no_eviction: str | None = field(default=None, name="descheduler.alpha.kubernetes.io/prefer-no-eviction")
    mirror: str | None = field(default=None, name="kubernetes.io/config.mirror")
    source: str | None = field(default=None, name="kubernetes.io/config.source")


class PodMeta(Struct, frozen=True, gc=False, rename="camel"):
    """The metadata of a pod; ``labels`` and ``owner_references`` stay raw because replicas share them."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: Raw = ABSENT
    annotations: PodAnnotations | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: Raw = ABSENT


class ResourceRequirements(Struct, frozen=True, gc=False):
    """``resources`` of a container or of a pod."""

    requests: dict[str, WireQuantity] | None = None
    limits: dict[str, WireQuantity] | None = None


class ContainerPort(Struct, frozen=True, gc=False, rename="camel"):
    """A port of a container; only host ports matter to scheduling."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Struct, frozen=True, gc=False, rename="camel"):
    """A regular or init container. ``resources`` decodes to ResourceRequirements, ``ports`` to ContainerPort list."""

    name: str = ""
    image: str = ""
    resources: Raw = ABSENT
    ports: Raw = ABSENT
    restart_policy: str | None = None


class ClaimSource(Struct, frozen=True, gc=False, rename="camel"):
    """``persistentVolumeClaim`` of a volume."""

    claim_name: str = ""
    read_only: bool = False


class GCEPersistentDisk(Struct, frozen=True, gc=False, rename="camel"):
    """``gcePersistentDisk`` of a volume."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Struct, frozen=True, gc=False, rename="camel"):
    """``awsElasticBlockStore`` of a volume."""

    volume_id: str = field(default="", name="volumeID")


class ISCSIVolume(Struct, frozen=True, gc=False, rename="camel"):
    """``iscsi`` of a pod's volume."""

    iqn: str = ""
    read_only: bool = False


class RBDVolume(Struct, frozen=True, gc=False, rename="camel"):
    """``rbd`` of a pod's volume."""

    monitors: tuple[str, ...] | None = None
    pool: str = ""
    image: str = ""
    read_only: bool = False


class ImageVolume(Struct, frozen=True, gc=False):
    """``image`` of a pod's volume."""

    reference: str = ""


class Volume(Struct, frozen=True, gc=False, rename="camel"):
    """A volume of a pod: the sources that decisions tell apart."""

    name: str = ""
    host_path: Present | None = None
    empty_dir: Present | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Present | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    iscsi: ISCSIVolume | None = None
    rbd: RBDVolume | None = None
    image: ImageVolume | None = None


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What scheduling and eviction read of a pod's spec; the raw fields are interned by the loader."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    node_name: str | None = None
    node_selector: Raw = ABSENT
    affinity: Raw = ABSENT
    tolerations: Raw = ABSENT
    topology_spread_constraints: Raw = ABSENT
    resources: Raw = ABSENT
    overhead: Raw = ABSENT
    resource_claims: Raw = ABSENT
    scheduling_gates: Raw = ABSENT
    priority: Int32 | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    scheduler_name: str | None = None
    host_network: bool | None = None
    termination_grace_period_seconds: Int64 | None = None


class ContainerStateWaiting(Struct, frozen=True, gc=False):
    """``state.waiting``."""

    reason: str | None = None


class ContainerStateTerminated(Struct, frozen=True, gc=False, rename="camel"):
    """``state.terminated``."""

    reason: str | None = None
    exit_code: Int32 = 0


class ContainerState(Struct, frozen=True, gc=False):
    """The current state of a container; ``lastState`` is never consulted."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Struct, frozen=True, gc=False, rename="camel"):
    """One entry of the three container status lists."""

    restart_count: Int32 = 0
    state: ContainerState | None = None


class ContainerReport(ContainerStatus, frozen=True, gc=False, rename="camel"):
    """The same with what the container has, which the loader interns; it may differ from the spec while a pod is resized.

    ``resources`` decodes to ResourceRequirements, ``allocated_resources`` to a map of quantities.
    """

    name: str = ""
    resources: Raw = ABSENT
    allocated_resources: Raw = ABSENT


class Condition(Struct, frozen=True, gc=False, rename="camel"):
    """A condition of a pod or a node."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    last_transition_time: str | None = None


class PodStatus(Struct, frozen=True, gc=False, rename="camel"):
    """What decisions read of a pod's status."""

    phase: str = ""
    reason: str | None = None
    qos_class: str | None = None
    start_time: str | None = None
    nominated_node_name: str | None = None
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerReport, ...] | None = None
    init_container_statuses: tuple[ContainerReport, ...] | None = None
    ephemeral_container_statuses: tuple[ContainerStatus, ...] | None = None
    resources: Raw = ABSENT
    allocated_resources: Raw = ABSENT


class Pod(Struct, frozen=True, gc=False):
    """A v1 Pod."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


# The raw parts of a pod, decoded once for each distinct text


class LabelSelectorRequirement(Struct, frozen=True, gc=False):
    """One ``matchExpressions`` entry of a label selector, a node selector term or a policy."""

    key: str = ""
    operator: Annotated[str, Meta(extra={"go": "v1.LabelSelectorOperator"})] = ""
    values: tuple[str, ...] | None = None


class LabelSelector(Struct, frozen=True, gc=False, rename="camel"):
    """metav1.LabelSelector: absent matches nothing, empty matches everything (by convention of its users)."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None


class NodeSelectorTerm(Struct, frozen=True, gc=False, rename="camel"):
    """Expressions and fields of one term are ANDed; an empty term matches nothing."""

    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None
    match_fields: tuple[LabelSelectorRequirement, ...] | None = None


class NodeSelector(Struct, frozen=True, gc=False, rename="camel"):
    """Terms are ORed; no term matches nothing."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class PreferredSchedulingTerm(Struct, frozen=True, gc=False):
    """A weighted node preference."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Struct, frozen=True, gc=False):
    """``affinity.nodeAffinity``."""

    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredSchedulingTerm, ...] | None = field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Struct, frozen=True, gc=False, rename="camel"):
    """One term of pod affinity or anti-affinity."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class WeightedPodAffinityTerm(Struct, frozen=True, gc=False, rename="camel"):
    """A preferred term of pod affinity or anti-affinity."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Struct, frozen=True, gc=False):
    """``affinity.podAffinity`` and ``affinity.podAntiAffinity``."""

    required: tuple[PodAffinityTerm, ...] | None = field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] | None = field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.affinity``."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Struct, frozen=True, gc=False, rename="camel"):
    """One toleration of a pod."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class SchedulingGate(Struct, frozen=True, gc=False):
    """One reason not to schedule a pod yet."""

    name: str = ""


class TopologySpreadConstraint(Struct, frozen=True, gc=False, rename="camel"):
    """One spread constraint of a pod."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] | None = None


# Nodes


class Taint(Struct, frozen=True, gc=False):
    """A taint of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Struct, frozen=True, gc=False):
    """What decisions read of a node's spec."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class ContainerImage(Struct, frozen=True, gc=False, rename="camel"):
    """An image present on a node."""

    names: tuple[str, ...] | None = None
    size_bytes: Int64 = 0


class NodeStatus(Struct, frozen=True, gc=False):
    """What decisions read of a node's status."""

    allocatable: dict[str, WireQuantity] | None = None
    capacity: dict[str, WireQuantity] | None = None
    conditions: tuple[Condition, ...] | None = None
    images: tuple[ContainerImage, ...] | None = None


class Node(Struct, frozen=True, gc=False):
    """A v1 Node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# Everything else


class Namespace(Struct, frozen=True, gc=False):
    """A v1 Namespace: its labels are what selectors read."""

    metadata: ObjectMeta = ObjectMeta()


class PriorityClass(Struct, frozen=True, gc=False, rename="camel"):
    """A scheduling.k8s.io/v1 PriorityClass."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False


class PodDisruptionBudgetSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Spec of a policy/v1 PodDisruptionBudget."""

    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct, frozen=True, gc=False, rename="camel"):
    """Status of a policy/v1 PodDisruptionBudget as the disruption controller keeps it."""

    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    disrupted_pods: dict[str, str] | None = None


class PodDisruptionBudget(Struct, frozen=True, gc=False):
    """A policy/v1 PodDisruptionBudget."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class WorkloadSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a controller's spec that decisions read."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    pod_replacement_policy: str | None = None
    schedule: str | None = None


class Workload(Struct, frozen=True, gc=False):
    """A ReplicaSet, Deployment, StatefulSet, DaemonSet, Job or CronJob."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class ReplicationControllerSpec(Struct, frozen=True, gc=False):
    """Spec of a ReplicationController: its selector is a plain map of labels."""

    replicas: Int32 | None = None
    selector: dict[str, str] | None = None


class ReplicationController(Struct, frozen=True, gc=False):
    """A v1 ReplicationController."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ServiceSpec(Struct, frozen=True, gc=False):
    """The selector of a Service."""

    selector: dict[str, str] | None = None


class Service(Struct, frozen=True, gc=False):
    """A v1 Service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class VolumeResources(Struct, frozen=True, gc=False):
    """``resources`` of a claim."""

    requests: dict[str, WireQuantity] | None = None


class PersistentVolumeClaimSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Spec of a claim."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] | None = None
    resources: VolumeResources | None = None
    selector: LabelSelector | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Struct, frozen=True, gc=False):
    """Status of a claim."""

    phase: str = ""


class PersistentVolumeClaim(Struct, frozen=True, gc=False):
    """A v1 PersistentVolumeClaim."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class VolumeNodeAffinity(Struct, frozen=True, gc=False):
    """``spec.nodeAffinity`` of a volume."""

    required: NodeSelector | None = None


class CSIVolumeSource(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.csi`` of a volume."""

    driver: str = ""
    volume_handle: str = ""


class AzureDisk(Struct, frozen=True, gc=False):
    """``spec.azureDisk`` of a volume."""

    disk_uri: str = field(default="", name="diskURI")


class DiskByID(Struct, frozen=True, gc=False):
    """``spec.cinder`` and ``spec.portworxVolume`` of a volume."""

    volume_id: str = field(default="", name="volumeID")


class ObjectReference(Struct, frozen=True, gc=False):
    """``spec.claimRef`` of a volume."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class PersistentVolumeStatus(Struct, frozen=True, gc=False):
    """Status of a volume."""

    phase: str = ""


class PersistentVolumeSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Spec of a volume."""

    capacity: dict[str, WireQuantity] | None = None
    storage_class_name: str = ""
    access_modes: tuple[str, ...] | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    claim_ref: ObjectReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    cinder: DiskByID | None = None
    portworx_volume: DiskByID | None = None


class PersistentVolume(Struct, frozen=True, gc=False):
    """A v1 PersistentVolume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class TopologySelectorLabelRequirement(Struct, frozen=True, gc=False):
    """One requirement of ``allowedTopologies``."""

    key: str = ""
    values: tuple[str, ...] | None = None


class TopologySelectorTerm(Struct, frozen=True, gc=False, rename="camel"):
    """One term of ``allowedTopologies``."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] | None = None


class StorageClass(Struct, frozen=True, gc=False, rename="camel"):
    """A storage.k8s.io/v1 StorageClass."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] | None = None


class CSINodeAllocatable(Struct, frozen=True, gc=False):
    """How many volumes of a driver a node may attach."""

    count: Int32 | None = None


class CSINodeDriver(Struct, frozen=True, gc=False, rename="camel"):
    """A driver of a CSINode."""

    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: tuple[str, ...] | None = None
    allocatable: CSINodeAllocatable | None = None


class CSINodeSpec(Struct, frozen=True, gc=False):
    """Spec of a CSINode."""

    drivers: tuple[CSINodeDriver, ...] | None = None


class CSINode(Struct, frozen=True, gc=False):
    """A storage.k8s.io/v1 CSINode."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Spec of a CSIDriver."""

    storage_capacity: bool | None = None


class CSIDriver(Struct, frozen=True, gc=False):
    """A storage.k8s.io/v1 CSIDriver."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Struct, frozen=True, gc=False, rename="camel"):
    """A storage.k8s.io/v1 CSIStorageCapacity: what is left for one class in one part of the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: WireQuantity | None = None
    maximum_volume_size: WireQuantity | None = None


class VolumeAttachmentSource(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.source`` of a VolumeAttachment."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Spec of a VolumeAttachment."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(Struct, frozen=True, gc=False):
    """A storage.k8s.io/v1 VolumeAttachment."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


class NodeMetrics(Struct, frozen=True, gc=False):
    """A metrics.k8s.io/v1beta1 NodeMetrics."""

    metadata: ObjectMeta = ObjectMeta()
    usage: dict[str, WireQuantity] | None = None


class ContainerMetrics(Struct, frozen=True, gc=False):
    """The usage of one container."""

    name: str = ""
    usage: dict[str, WireQuantity] | None = None


class PodMetrics(Struct, frozen=True, gc=False):
    """A metrics.k8s.io/v1beta1 PodMetrics."""

    metadata: ObjectMeta = ObjectMeta()
    containers: tuple[ContainerMetrics, ...] | None = None


def decode_part(raw: bytes, part: type[T], default: T) -> T:
    """Decode one raw part of a pod; absent, empty and ``null`` give ``default``.

    Raises msgspec.MsgspecError with the path inside the part.
    """
    if not raw or raw == b"null":
        return default
    return nulls.decode(msgspec.json.Decoder(part), raw)
