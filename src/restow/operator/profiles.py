"""What each profile of a KubeDescheduler does: a profile of a DeschedulerPolicy, as plain data.

Sets of plugins and protections that say nothing are left out. Source: cluster-kube-descheduler-operator 5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from restow.cluster.nodes import BASIC_RESOURCES
from restow.descheduling.node_utilization.usage import METRIC_RESOURCE
from restow.kube.duration import SECOND
from restow.operator.facts import KUBEVIRT_QUERY, metrics_provider
from restow.operator.resource import DeviationLevel, Level, PackingLevel, ProfileCustomizations
from restow.operator.rules import NamespaceArgs
from restow.policies.schema import DEFAULT_EVICTOR

Plain = dict[str, Any]

_DAY: Final = 24 * 60 * 60
_RESTARTS: Final = 100
#: Underused up to, overused from: of a node's capacity.
_STATIC: Final[dict[Level, tuple[int, int]]] = {"Low": (10, 30), "Medium": (20, 50), "High": (40, 70)}
#: The same below and above the mean of all nodes.
_DEVIATION: Final[dict[DeviationLevel, tuple[int, int]]] = {
    "Low": (10, 10),
    "Medium": (20, 20),
    "High": (30, 30),
    "AsymmetricLow": (0, 10),
    "AsymmetricMedium": (0, 20),
    "AsymmetricHigh": (0, 30),
}
#: Nodes below this are underused, and emptied.
_PACKING: Final[dict[PackingLevel, int]] = {"Minimal": 10, "Modest": 20, "Moderate": 30}


@dataclass(slots=True, frozen=True)
class ProfileSettings:
    """What all profiles of one resource have in common."""

    custom: ProfileCustomizations
    scope: NamespaceArgs
    #: Arguments of DefaultEvictor; those of virtual machines have other protections.
    evictor: Plain
    priority: Plain
    #: The query of LowNodeUtilization; empty: the requests of pods.
    query: str
    #: Evictions from one node in one run of LowNodeUtilization.
    node_limit: int | None


def _profile(
    name: str,
    evictor: Plain,
    *,
    deschedule: Mapping[str, Plain] | None = None,
    balance: Mapping[str, Plain] | None = None,
) -> Plain:
    """Return a profile with strategies by their arguments, in order."""
    strategies = {**(deschedule or {}), **(balance or {})}
    points = {"deschedule": deschedule, "balance": balance, "filter": {DEFAULT_EVICTOR: evictor}}
    configs = [{"name": plugin, "args": args} for plugin, args in (strategies | {DEFAULT_EVICTOR: evictor}).items()]
    return {
        "name": name,
        "pluginConfig": configs,
        "plugins": {point: {"enabled": [*plugins]} for point, plugins in points.items() if plugins is not None},
    }


def _affinity_and_taints(settings: ProfileSettings) -> Plain:
    chosen = {"namespaces": settings.scope.namespaces}
    strategies: dict[str, Plain] = {
        "RemovePodsViolatingInterPodAntiAffinity": chosen,
        "RemovePodsViolatingNodeTaints": chosen,
        "RemovePodsViolatingNodeAffinity": {
            **chosen,
            "nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"],
        },
    }
    return _profile("AffinityAndTaints", settings.evictor, deschedule=strategies)


def _topology_and_duplicates(settings: ProfileSettings) -> Plain:
    return _spreading("TopologyAndDuplicates", settings, ["DoNotSchedule"])


def _soft_topology_and_duplicates(settings: ProfileSettings) -> Plain:
    return _spreading("SoftTopologyAndDuplicates", settings, ["DoNotSchedule", "ScheduleAnyway"])


def _spreading(name: str, settings: ProfileSettings, constraints: list[str]) -> Plain:
    chosen = {"namespaces": settings.scope.namespaces}
    strategies: dict[str, Plain] = {
        "RemovePodsViolatingTopologySpreadConstraint": {"constraints": constraints, **chosen},
        "RemoveDuplicates": chosen,
    }
    return _profile(name, settings.evictor, balance=strategies)


def _lifecycle_and_utilization(settings: ProfileSettings) -> Plain:
    lifetime = settings.custom.pod_lifetime
    seconds = _DAY if lifetime is None else lifetime // SECOND
    aged = {"PodLifeTime": {"maxPodLifeTimeSeconds": seconds, "namespaces": settings.scope.namespaces}}
    return _profile(
        "LifecycleAndUtilization",
        settings.evictor,
        deschedule=aged | _restarted(settings),
        balance=_relieved(settings, _utilization(settings)),
    )


def _long_lifecycle(settings: ProfileSettings) -> Plain:
    return _profile(
        "LongLifecycle",
        settings.evictor,
        deschedule=_restarted(settings),
        balance=_relieved(settings, _utilization(settings)),
    )


def _restarted(settings: ProfileSettings) -> dict[str, Plain]:
    often = {"includingInitContainers": True, "podRestartThreshold": _RESTARTS}
    return {"RemovePodsHavingTooManyRestarts": {**often, "namespaces": settings.scope.namespaces}}


def _relieved(settings: ProfileSettings, utilization: Plain) -> dict[str, Plain]:
    limit = {} if settings.node_limit is None else {"evictionLimits": {"node": settings.node_limit}}
    return {"LowNodeUtilization": {"evictableNamespaces": settings.scope.evictable, **limit, **utilization}}


def _utilization(settings: ProfileSettings) -> Plain:
    span = _STATIC[settings.custom.dev_low_node_utilization_thresholds or "Medium"]
    return _of_query(span, settings.query) if settings.query else _of_requests(span)


def _compact_and_scale(settings: ProfileSettings) -> Plain:
    threshold = _PACKING[settings.custom.dev_high_node_utilization_thresholds or "Modest"]
    packing = {
        "evictableNamespaces": settings.scope.evictable,
        "thresholds": _of_requests((threshold, threshold))["thresholds"],
    }
    return _profile("CompactAndScale", settings.evictor, balance={"HighNodeUtilization": packing})


def _kubevirt(settings: ProfileSettings) -> Plain:
    custom, query = settings.custom, settings.query or KUBEVIRT_QUERY
    if custom.dev_low_node_utilization_thresholds:
        utilization = _of_query(_STATIC[custom.dev_low_node_utilization_thresholds], query)
    else:
        span = _DEVIATION[custom.dev_deviation_thresholds or "AsymmetricLow"]
        utilization = {**_of_query(span, query), "useDeviationThresholds": True}
    evictor = {"evictLocalStoragePods": True, "noEvictionPolicy": "Mandatory", **settings.priority}
    return _profile("KubeVirtRelieveAndMigrate", evictor, balance=_relieved(settings, utilization))


def _of_requests(span: tuple[int, int]) -> dict[str, Any]:
    """Return the arguments that classify nodes by the requests of their pods."""
    low, high = span
    return {"thresholds": dict.fromkeys(BASIC_RESOURCES, low), "targetThresholds": dict.fromkeys(BASIC_RESOURCES, high)}


def _of_query(span: tuple[int, int], query: str) -> dict[str, Any]:
    """Return the arguments that classify nodes by a Prometheus query."""
    low, high = span
    return {
        "metricsUtilization": metrics_provider(query),
        "thresholds": {METRIC_RESOURCE: low},
        "targetThresholds": {METRIC_RESOURCE: high},
    }


#: By the names that a resource has for them; profiles that only change others are not among them.
PROFILES: Final[Mapping[str, Callable[[ProfileSettings], Plain]]] = {
    "AffinityAndTaints": _affinity_and_taints,
    "TopologyAndDuplicates": _topology_and_duplicates,
    "SoftTopologyAndDuplicates": _soft_topology_and_duplicates,
    "LifecycleAndUtilization": _lifecycle_and_utilization,
    "LongLifecycle": _long_lifecycle,
    "DevPreviewLongLifecycle": _long_lifecycle,
    "CompactAndScale": _compact_and_scale,
    "KubeVirtRelieveAndMigrate": _kubevirt,
    "DevKubeVirtRelieveAndMigrate": _kubevirt,
}
