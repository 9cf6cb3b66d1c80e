"""The arguments of the scheduler's plugins, as they stand in a KubeSchedulerConfiguration, with their defaults.

Field names are upstream's, so that a decoded ``pluginConfig[].args`` is one of these. Source: kube-scheduler
configuration API v1, Kubernetes 1.36.
"""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects import Int32, Int64, NodeAffinity, TopologySpreadConstraint
from restow.scheduling.spread_terms import Defaulting


class PluginArgs(Struct, frozen=True, rename="camel", kw_only=True):
    """What all arguments may say of themselves."""

    api_version: str = ""
    kind: str = ""


class ResourceSpec(Struct, frozen=True):
    """A resource and its weight among the others."""

    name: str = ""
    weight: Int64 = 1


class UtilizationShapePoint(Struct, frozen=True):
    """One point of a broken line: a score of 0 to 10 at a utilisation in percent."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(Struct, frozen=True):
    """The line of RequestedToCapacityRatio."""

    shape: tuple[UtilizationShapePoint, ...] = ()


#: Seconds over which the load watcher of scheduler-plugins averages usage.
DEFAULT_WINDOW = 900

DEFAULT_RESOURCES = (ResourceSpec("cpu"), ResourceSpec("memory"))


class ScoringStrategy(Struct, frozen=True, rename="camel"):
    """How NodeResourcesFit scores: type and resources; ``type`` is not restricted here."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(PluginArgs, frozen=True):
    """How many nodes preemption tries at least. restow tries all of them."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class InterPodAffinityArgs(PluginArgs, frozen=True):
    """What the terms of existing pods are worth."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(PluginArgs, frozen=True):
    """What is asked of nodes on behalf of every pod."""

    added_affinity: NodeAffinity | None = None


class NodeResourcesFitArgs(PluginArgs, frozen=True):
    """What is not filtered by, and how is scored."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type="LeastAllocated")


class NodeResourcesBalancedAllocationArgs(PluginArgs, frozen=True):
    """Which resources are balanced; all have the weight 1."""

    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


class PodTopologySpreadArgs(PluginArgs, frozen=True):
    """The constraints of pods without constraints of their own; ``defaulting_type`` System or List."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = "System"

    @property
    def defaulting(self) -> Defaulting:
        """The type, once it is known to be valid."""
        return "List" if self.defaulting_type == "List" else "System"


class VolumeBindingArgs(PluginArgs, frozen=True):
    """How long binding may take, which no decision depends on."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


class DynamicResourcesArgs(PluginArgs, frozen=True):
    """Arguments of a plugin that is not modelled."""

    filter_timeout: str | None = None
    binding_timeout: str | None = None


class MetricProvider(Struct, frozen=True, rename="camel"):
    """Where another scheduler has usage from; restow has it from its input."""

    type: str = ""
    address: str | None = None
    token: str | None = None
    insecure_skip_verify: bool | None = None


class LoadVariationRiskBalancingArgs(PluginArgs, frozen=True):
    """What the risk of a node is made of. Source: scheduler-plugins, and restow's own ``window`` and ``guard``."""

    safe_variance_margin: float = 1.0
    safe_variance_sensitivity: float = 1.0
    watcher_address: str | None = None
    metric_provider: MetricProvider = MetricProvider()
    #: Over how long usage is averaged.
    window_seconds: Int64 = DEFAULT_WINDOW
    #: How long before the last sample pods came that count with their requests; None for no pods.
    guard_seconds: Int64 | None = None


class PluginArguments(Struct, frozen=True):
    """The arguments of every plugin that decisions depend on."""

    inter_pod_affinity: InterPodAffinityArgs = InterPodAffinityArgs()
    node_affinity: NodeAffinityArgs = NodeAffinityArgs()
    node_resources_fit: NodeResourcesFitArgs = NodeResourcesFitArgs()
    balanced_allocation: NodeResourcesBalancedAllocationArgs = NodeResourcesBalancedAllocationArgs()
    pod_topology_spread: PodTopologySpreadArgs = PodTopologySpreadArgs()
    load_variation: LoadVariationRiskBalancingArgs = LoadVariationRiskBalancingArgs()


DEFAULT_ARGUMENTS = PluginArguments()
