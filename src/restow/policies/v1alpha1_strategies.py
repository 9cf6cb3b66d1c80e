"""The ten strategies of descheduler/v1alpha1: which plugin arguments their parameters become.

The table is history and will not change: the format was removed in v0.31, and its parameters were fields for these ten.
So it stands here as a whole, and not with the plugins that the strategies have become.
Source: descheduler v0.30, pkg/api/v1alpha1 strategy migration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from restow.documents.shapes import Int, Uint
from restow.kube.objects import Int32, LabelSelector
from restow.policies.arguments import Namespaces, Thresholds
from restow.policies.schema import no_errors

Args = dict[str, Any]

#: Parameters that DefaultEvictor of the strategy's profile takes over.
EVICTOR_PARAMS = ("thresholdPriority", "thresholdPriorityClassName", "nodeFit")
_SELECTION = ("namespaces", "labelSelector")


class FormerStrategy(Struct, frozen=True):
    """One strategy: where its plugin runs, the parameters it reads besides the evictor's, the arguments they make."""

    point: Literal["deschedule", "balance"]
    params: tuple[str, ...]
    args: Callable[[StrategyParameters], Args]
    #: PodLifeTime always ignored it.
    node_fit: bool = True
    #: Upstream's texts of what is wrong with its parameters.
    check: Callable[[StrategyParameters], list[str]] = no_errors

    def reads(self, param: str) -> bool:
        """Whether the parameter has any effect on this strategy."""
        if param == "nodeFit":
            return self.node_fit
        return param in self.params or param in EVICTOR_PARAMS


# Struct names are the Go types' names: decode errors quote them. Source: descheduler v0.30, pkg/api/v1alpha1.
class NodeResourceUtilizationThresholds(Struct, frozen=True, rename="camel"):
    """Parameters of the two utilisation strategies."""

    use_deviation_thresholds: bool = False
    thresholds: Thresholds | None = None
    target_thresholds: Thresholds | None = None
    number_of_nodes: Int = 0


class PodsHavingTooManyRestarts(Struct, frozen=True, rename="camel"):
    """Parameters of RemovePodsHavingTooManyRestarts."""

    pod_restart_threshold: Int32 = 0
    including_init_containers: bool = False


class RemoveDuplicates(Struct, frozen=True, rename="camel"):
    """Parameters of RemoveDuplicates."""

    exclude_owner_kinds: tuple[str, ...] = ()


class PodLifeTime(Struct, frozen=True, rename="camel"):
    """Parameters of PodLifeTime; ``pod_status_phases`` is the older word for ``states``."""

    max_pod_life_time_seconds: Uint | None = None
    states: tuple[str, ...] = ()
    pod_status_phases: tuple[str, ...] = ()


class FailedPods(Struct, frozen=True, rename="camel"):
    """Parameters of RemoveFailedPods."""

    exclude_owner_kinds: tuple[str, ...] = ()
    min_pod_lifetime_seconds: Uint | None = None
    reasons: tuple[str, ...] = ()
    including_init_containers: bool = False


class StrategyParameters(Struct, frozen=True, rename="camel"):
    """The parameters of all strategies in one."""

    node_resource_utilization_thresholds: NodeResourceUtilizationThresholds = NodeResourceUtilizationThresholds()
    node_affinity_type: tuple[str, ...] = ()
    pods_having_too_many_restarts: PodsHavingTooManyRestarts = PodsHavingTooManyRestarts()
    pod_life_time: PodLifeTime = PodLifeTime()
    #: Where v0.18 and v0.19 had it; under ``podLifeTime`` since.
    max_pod_life_time_seconds: Uint | None = None
    remove_duplicates: RemoveDuplicates = RemoveDuplicates()
    failed_pods: FailedPods = FailedPods()
    include_soft_constraints: bool = False
    namespaces: Namespaces | None = None
    threshold_priority: Int32 | None = None
    threshold_priority_class_name: str = ""
    label_selector: LabelSelector | None = None
    node_fit: bool = False
    include_prefer_no_schedule: bool = False
    excluded_taints: tuple[str, ...] = ()
    included_taints: tuple[str, ...] = ()


class DeschedulerStrategy(Struct, frozen=True):
    """One strategy; ``weight`` never meant anything."""

    enabled: bool = False
    weight: Int = 0
    params: StrategyParameters = StrategyParameters()


class DeschedulerPolicy(Struct, frozen=True, rename="camel"):
    """A policy file of descheduler/v1alpha1."""

    api_version: str = ""
    kind: str = ""
    strategies: dict[str, DeschedulerStrategy] | None = None
    node_selector: str | None = None
    evict_failed_bare_pods: bool | None = None
    evict_local_storage_pods: bool | None = None
    evict_daemon_set_pods: bool | None = None
    evict_system_critical_pods: bool | None = None
    ignore_pvc_pods: bool | None = None
    max_no_of_pods_to_evict_per_node: Uint | None = None
    max_no_of_pods_to_evict_per_namespace: Uint | None = None
    max_no_of_pods_to_evict_total: Uint | None = None
    #: restow's own section; it is copied as it is.
    restow: Any = None


def given(**args: Any) -> Args:
    """Return the arguments that are set, as plain data. None, False and empty values count as not set, zero as set."""
    plain = {name: _plain(msgspec.to_builtins(value)) for name, value in args.items()}
    return {name: value for name, value in plain.items() if not _says_nothing(value)}


def _says_nothing(value: Any) -> bool:
    return value is None or value is False or value in ("", [], {})


def _plain(value: Any) -> Any:
    """Return the value without unset fields, with 20 for 20.0."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _selection(params: StrategyParameters) -> Args:
    return given(namespaces=_namespaces(params), labelSelector=params.label_selector)


def _namespaces(params: StrategyParameters) -> Args:
    if params.namespaces is None:
        return {}
    return given(include=params.namespaces.include, exclude=params.namespaces.exclude)


def _remove_duplicates(params: StrategyParameters) -> Args:
    return given(namespaces=_namespaces(params), excludeOwnerKinds=params.remove_duplicates.exclude_owner_kinds)


def _low_node_utilization(params: StrategyParameters) -> Args:
    utilisation = params.node_resource_utilization_thresholds
    return given(
        evictableNamespaces=_namespaces(params),
        thresholds=utilisation.thresholds,
        targetThresholds=utilisation.target_thresholds,
        useDeviationThresholds=utilisation.use_deviation_thresholds,
        numberOfNodes=utilisation.number_of_nodes or None,
    )


def _high_node_utilization(params: StrategyParameters) -> Args:
    utilisation = params.node_resource_utilization_thresholds
    return given(
        evictableNamespaces=_namespaces(params),
        thresholds=utilisation.thresholds,
        numberOfNodes=utilisation.number_of_nodes or None,
    )


def _pod_life_time(params: StrategyParameters) -> Args:
    return _selection(params) | given(
        maxPodLifeTimeSeconds=_max_pod_life_time(params),
        states=params.pod_life_time.pod_status_phases + params.pod_life_time.states,
    )


def _max_pod_life_time(params: StrategyParameters) -> int | None:
    """Return PodLifeTime's age limit in seconds, from either place where it was written."""
    newer = params.pod_life_time.max_pod_life_time_seconds
    return params.max_pod_life_time_seconds if newer is None else newer


def _check_pod_life_time(params: StrategyParameters) -> list[str]:
    return ["MaxPodLifeTimeSeconds not set"] if _max_pod_life_time(params) is None else []


def _failed_pods(params: StrategyParameters) -> Args:
    failed = params.failed_pods
    return _selection(params) | given(
        excludeOwnerKinds=failed.exclude_owner_kinds,
        minPodLifetimeSeconds=failed.min_pod_lifetime_seconds,
        reasons=failed.reasons,
        includingInitContainers=failed.including_init_containers,
    )


def _too_many_restarts(params: StrategyParameters) -> Args:
    restarts = params.pods_having_too_many_restarts
    return _selection(params) | given(
        podRestartThreshold=restarts.pod_restart_threshold,
        includingInitContainers=restarts.including_init_containers,
    )


def _node_affinity(params: StrategyParameters) -> Args:
    return _selection(params) | given(nodeAffinityType=params.node_affinity_type)


def _node_taints(params: StrategyParameters) -> Args:
    return _selection(params) | given(
        includePreferNoSchedule=params.include_prefer_no_schedule, excludedTaints=params.excluded_taints
    )


def _topology_spread(params: StrategyParameters) -> Args:
    soft = ["ScheduleAnyway"] if params.include_soft_constraints else []
    return _selection(params) | {"constraints": ["DoNotSchedule", *soft], "topologyBalanceNodeFit": True}


_THRESHOLDS = "nodeResourceUtilizationThresholds"

STRATEGIES = {
    "RemoveDuplicates": FormerStrategy("balance", ("namespaces", "removeDuplicates"), _remove_duplicates),
    "LowNodeUtilization": FormerStrategy("balance", ("namespaces", _THRESHOLDS), _low_node_utilization),
    "HighNodeUtilization": FormerStrategy("balance", ("namespaces", _THRESHOLDS), _high_node_utilization),
    "PodLifeTime": FormerStrategy(
        "deschedule",
        (*_SELECTION, "podLifeTime", "maxPodLifeTimeSeconds"),
        _pod_life_time,
        node_fit=False,
        check=_check_pod_life_time,
    ),
    "RemoveFailedPods": FormerStrategy("deschedule", (*_SELECTION, "failedPods"), _failed_pods),
    "RemovePodsHavingTooManyRestarts": FormerStrategy(
        "deschedule", (*_SELECTION, "podsHavingTooManyRestarts"), _too_many_restarts
    ),
    "RemovePodsViolatingInterPodAntiAffinity": FormerStrategy("deschedule", _SELECTION, _selection),
    "RemovePodsViolatingNodeAffinity": FormerStrategy("deschedule", (*_SELECTION, "nodeAffinityType"), _node_affinity),
    "RemovePodsViolatingNodeTaints": FormerStrategy(
        "deschedule", (*_SELECTION, "includePreferNoSchedule", "excludedTaints"), _node_taints
    ),
    "RemovePodsViolatingTopologySpreadConstraint": FormerStrategy(
        "balance", (*_SELECTION, "includeSoftConstraints"), _topology_spread
    ),
}
