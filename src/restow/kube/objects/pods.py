"""Pod: the fields that decisions read, its containers and its rules; some of them raw, decoded once for each distinct text."""

from __future__ import annotations

from typing import Final

from msgspec import Raw, Struct, field

from restow.kube.objects.metadata import (
    ABSENT,
    Condition,
    Int32,
    Int64,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    WireQuantity,
)
from restow.kube.objects.volumes import Volume


class GroupAnnotations(Struct, frozen=True, gc=False):
    """The annotations of a pod that name its group or say how the group must be placed."""

    #: Volcano's PodGroup; also of schedulers that took the annotation over.
    group_name: str | None = field(default=None, name="scheduling.k8s.io/group-name")
    volcano_group_name: str | None = field(default=None, name="scheduling.volcano.sh/group-name")
    #: How many pods a group of a LeaderWorkerSet has, and the node label whose domain it has to itself.
    lws_size: str | None = field(default=None, name="leaderworkerset.sigs.k8s.io/size")
    lws_exclusive: str | None = field(default=None, name="leaderworkerset.sigs.k8s.io/exclusive-topology")
    #: The node label whose domain each Job of a JobSet has to itself.
    jobset_exclusive: str | None = field(default=None, name="alpha.jobset.sigs.k8s.io/exclusive-topology")
    #: Kueue's Workload, and how many pods a group of plain pods has.
    kueue_workload: str | None = field(default=None, name="kueue.x-k8s.io/workload")
    kueue_total_count: str | None = field(default=None, name="kueue.x-k8s.io/pod-group-total-count")


#: What a pod is marked with that is scheduled with a PodGroup.
SCHEDULING_GROUP: Final = "spec.schedulingGroup"
#: What it is marked with that is scheduled with others of a Workload, in Kubernetes 1.35.
WORKLOAD_REFERENCE: Final = "spec.workloadRef"


class SchedulingGroup(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.schedulingGroup``, the PodGroup that a pod is scheduled with. Source: core/v1, Kubernetes 1.36."""

    pod_group_name: str = ""


class WorkloadReference(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.workloadRef``, which came before ``schedulingGroup``. Source: core/v1, Kubernetes 1.35."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str = ""


#: Name and name on the wire of each of ``GroupAnnotations``.
GROUP_ANNOTATIONS: Final = tuple(
    (name, wire)
    for name, wire in zip(GroupAnnotations.__struct_fields__, GroupAnnotations.__struct_encode_fields__, strict=True)
)


class Container(Struct, frozen=True, gc=False, rename="camel"):
    """A regular or init container. ``resources`` decodes to ResourceRequirements, ``ports`` to ContainerPort list."""

    name: str = ""
    image: str = ""
    resources: Raw = ABSENT
    ports: Raw = ABSENT
    restart_policy: str | None = None


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
    """A container with its actual resources, which the loader interns; they may differ from the spec during a resize.

    ``resources`` decodes to ResourceRequirements, ``allocated_resources`` to a map of quantities.
    """

    name: str = ""
    resources: Raw = ABSENT
    allocated_resources: Raw = ABSENT


class PodAnnotations(GroupAnnotations, frozen=True, gc=False):
    """The annotations that decisions read; all others are never decoded."""

    evict: str | None = field(default=None, name="descheduler.alpha.kubernetes.io/evict")
    prefer_no_eviction: str | None = field(default=None, name="descheduler.alpha.kubernetes.io/prefer-no-eviction")
    index_failures: str | None = field(default=None, name="batch.kubernetes.io/job-index-failure-count")
    mirror: str | None = field(default=None, name="kubernetes.io/config.mirror")
    source: str | None = field(default=None, name="kubernetes.io/config.source")
    #: What the admission controller of VerticalPodAutoscalers has changed of a pod.
    vpa_updates: str | None = field(default=None, name="vpaUpdates")
    request_evict_only: str | None = field(default=None, name="descheduler.alpha.kubernetes.io/request-evict-only")
    eviction_in_progress: str | None = field(default=None, name="descheduler.alpha.kubernetes.io/eviction-in-progress")
    do_not_disrupt: str | None = field(default=None, name="karpenter.sh/do-not-disrupt")
    safe_to_evict: str | None = field(default=None, name="cluster-autoscaler.kubernetes.io/safe-to-evict")
    #: The names of volumes, separated by commas.
    safe_local_volumes: str | None = field(
        default=None, name="cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
    )


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
    #: 1 until the spec is changed.
    generation: Int64 | None = None


class PodResourceClaim(Struct, frozen=True, gc=False, rename="camel"):
    """One entry of ``spec.resourceClaims``: a claim, or the template of one."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class ResourceClaimInStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The claim that was made of a template; None where none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


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
    resource_claims: tuple[PodResourceClaim, ...] | None = None
    scheduling_gates: Raw = ABSENT
    scheduling_group: SchedulingGroup | None = None
    workload_ref: WorkloadReference | None = None
    priority: Int32 | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    scheduler_name: str | None = None
    host_network: bool | None = None
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None


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
    resource_claim_statuses: tuple[ResourceClaimInStatus, ...] | None = None
    #: ``Proposed``, ``InProgress``, ``Deferred`` or ``Infeasible``; since Kubernetes 1.33 conditions say so.
    resize: str | None = None


class Pod(Struct, frozen=True, gc=False):
    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


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
