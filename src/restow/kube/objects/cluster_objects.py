"""Node, Namespace, PriorityClass, PodDisruptionBudget, ResourceQuota, usage and topology of nodes, migrations of KubeVirt."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import Condition, Int32, Int64, LabelSelector, ObjectMeta, WireQuantity


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


class NodeSystemInfo(Struct, frozen=True, gc=False, rename="camel"):
    """What a kubelet says of itself."""

    kubelet_version: str = ""


class NodeStatus(Struct, frozen=True, gc=False, rename="camel"):
    """What decisions read of a node's status."""

    allocatable: dict[str, WireQuantity] | None = None
    capacity: dict[str, WireQuantity] | None = None
    conditions: tuple[Condition, ...] | None = None
    images: tuple[ContainerImage, ...] | None = None
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class TopologyAttribute(Struct, frozen=True, gc=False):
    """A name and value of a NodeResourceTopology."""

    name: str = ""
    value: str = ""


class ZoneResource(Struct, frozen=True, gc=False):
    """What a zone of a machine has of a resource."""

    name: str = ""
    #: Empty, which is no quantity, where it is not said.
    capacity: WireQuantity = ""
    allocatable: WireQuantity = ""
    available: WireQuantity = ""


class ZoneCost(Struct, frozen=True, gc=False):
    """How far one zone of a machine is from another."""

    name: str = ""
    value: Int64 = 0


class TopologyZone(Struct, frozen=True, gc=False):
    """A zone of a machine; a NUMA node if its type is Node."""

    name: str = ""
    type: str = ""
    costs: tuple[ZoneCost, ...] | None = None
    resources: tuple[ZoneResource, ...] | None = None


class NodeResourceTopology(Struct, frozen=True, gc=False, rename="camel"):
    """A topology.node.k8s.io NodeResourceTopology, named after its node: how its kubelet aligns resources."""

    metadata: ObjectMeta = ObjectMeta()
    #: Of v1alpha1, and deprecated in v1alpha2.
    topology_policies: tuple[str, ...] | None = None
    attributes: tuple[TopologyAttribute, ...] | None = None
    zones: tuple[TopologyZone, ...] | None = None


class NodeMetrics(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    usage: dict[str, WireQuantity] | None = None
    #: When it was measured.
    timestamp: str = ""


class ContainerMetrics(Struct, frozen=True, gc=False):
    """The usage of one container."""

    name: str = ""
    usage: dict[str, WireQuantity] | None = None


class PodMetrics(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    containers: tuple[ContainerMetrics, ...] | None = None


class UsageSeries(Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """A restow.dev/v1alpha1 UsageSeries: what a node used of a resource over time. ``cluster.usage_series`` packs it."""

    api_version: str = ""
    kind: str = ""
    #: The name is ``NODE.RESOURCE``.
    metadata: ObjectMeta = ObjectMeta()
    node: str = ""
    resource: str = ""
    #: The query that the samples answer.
    query: str = ""
    #: How many samples there are.
    samples: int = 0
    #: All values are multiples of it.
    unit: int = 1
    columns: bytes = b""


class Namespace(Struct, frozen=True, gc=False):
    """A v1 Namespace: its labels are what selectors read."""

    metadata: ObjectMeta = ObjectMeta()


class GangPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """All or nothing: how many pods of a group must have nodes before any is bound."""

    min_count: Int32 = 0


class PodGroupPolicy(Struct, frozen=True, gc=False):
    """How a group is scheduled; without ``gang``, as many of its pods as fit."""

    gang: GangPolicy | None = None


class TopologyConstraint(Struct, frozen=True, gc=False):
    """A node label whose value all pods of a group must share."""

    key: str = ""


class PodGroupConstraints(Struct, frozen=True, gc=False):
    topology: tuple[TopologyConstraint, ...] | None = None


class DisruptionMode(Struct, frozen=True, gc=False):
    """Whether the pods of a group can only be disrupted together, as of Kubernetes 1.37."""

    all: dict[str, str] | None = None


class PodGroupSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What decisions read of a PodGroup's spec; priority, parent and disruption mode count since Kubernetes 1.37."""

    scheduling_policy: PodGroupPolicy = PodGroupPolicy()
    scheduling_constraints: PodGroupConstraints | None = None
    priority: Int32 = 0
    parent_composite_pod_group_name: str | None = None
    #: A word in Kubernetes 1.36: Pod, which API servers fill in, or PodGroup.
    disruption_mode: DisruptionMode | str | None = None

    @property
    def goes_together(self) -> bool:
        """Whether the pods of the group can only be disrupted together."""
        mode = self.disruption_mode
        return mode == "PodGroup" or (isinstance(mode, DisruptionMode) and mode.all is not None)


class PodGroupCondition(Struct, frozen=True, gc=False):
    """Whether the pods of a group got nodes, and why not."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodGroupStatus(Struct, frozen=True, gc=False):
    conditions: tuple[PodGroupCondition, ...] | None = None


class PodGroup(Struct, frozen=True, gc=False):
    """Pods that kube-scheduler decides about together. Source: scheduling.k8s.io of Kubernetes 1.36 and 1.37."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class WorkloadGroup(Struct, frozen=True, gc=False):
    """A group of a Workload's pods, or one for each replica key that pods name with it."""

    name: str = ""
    policy: PodGroupPolicy = PodGroupPolicy()


class GangWorkloadSpec(Struct, frozen=True, gc=False, rename="camel"):
    pod_groups: tuple[WorkloadGroup, ...] = ()


class GangWorkload(Struct, frozen=True, gc=False):
    """How many pods of each of its groups wait for one another. Source: scheduling.k8s.io/v1alpha1 of Kubernetes 1.35."""

    metadata: ObjectMeta = ObjectMeta()
    spec: GangWorkloadSpec = GangWorkloadSpec()


class CoscheduledGroupSpec(Struct, frozen=True, gc=False, rename="camel"):
    """How many pods of a group need nodes before any is bound, and what the cluster must have free for them."""

    min_member: Int32 = 0
    min_resources: dict[str, WireQuantity] | None = None


class CoscheduledGroup(Struct, frozen=True, gc=False):
    """A PodGroup of the plugin Coscheduling. Source: scheduling.x-k8s.io/v1alpha1 of scheduler-plugins v0.33."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CoscheduledGroupSpec = CoscheduledGroupSpec()


class PriorityClass(Struct, frozen=True, gc=False, rename="camel"):
    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False


class ConfigMap(Struct, frozen=True, gc=False):
    """Texts by name."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None


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
    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class ScopeRequirement(Struct, frozen=True, gc=False, rename="camel"):
    """One of the ``matchExpressions`` of a quota's ``scopeSelector``."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class ScopeSelector(Struct, frozen=True, gc=False, rename="camel"):
    match_expressions: tuple[ScopeRequirement, ...] | None = None


class ResourceQuotaSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Which pods a ResourceQuota counts; what it allows is read of its status, as admission does."""

    scopes: tuple[str, ...] | None = None
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Struct, frozen=True, gc=False):
    """What a ResourceQuota allows, and what is used of it."""

    hard: dict[str, WireQuantity] | None = None
    used: dict[str, WireQuantity] | None = None


class ResourceQuota(Struct, frozen=True, gc=False):
    """A v1 ResourceQuota."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class MigrationSpec(Struct, frozen=True, gc=False, rename="camel"):
    #: The VirtualMachineInstance, in the same namespace.
    vmi_name: str = ""


class MigrationState(Struct, frozen=True, gc=False, rename="camel"):
    """When a migration began and ended."""

    start_timestamp: str | None = None
    end_timestamp: str | None = None


class MigrationStatus(Struct, frozen=True, gc=False, rename="camel"):
    phase: str = ""
    migration_state: MigrationState | None = None


class VirtualMachineInstanceMigration(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: MigrationSpec = MigrationSpec()
    status: MigrationStatus = MigrationStatus()
