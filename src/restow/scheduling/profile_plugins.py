"""The plugins of a profile, made for one state.

A plugin that filters and scores is one object, so that what it keeps is kept once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from restow.scheduling.context import Context
from restow.scheduling.framework import FilterPlugin, ScorePlugin
from restow.scheduling.in_tree import IN_TREE
from restow.scheduling.partial_plugins import FilterPart, PreFilterPart, PreScorePart, UnpreparedScore
from restow.scheduling.plugin_arguments import NodeResourcesFitArgs, PluginArguments, ScoringStrategy
from restow.scheduling.plugins import (
    balanced_allocation,
    image_locality,
    inter_pod_affinity,
    load_variation,
    node_affinity,
    node_ports,
    node_resources_fit,
    node_unschedulable,
    node_volume_limits,
    pod_topology_spread,
    taint_toleration,
    volume_binding,
    volume_restrictions,
    volume_zone,
)
from restow.scheduling.profiles import SchedulerProfile
from restow.scheduling.resource_scoring import ScoringStrategy as Scoring
from restow.scheduling.resource_scoring import least_allocated, most_allocated, requested_to_capacity_ratio
from restow.scheduling.scoring import WeightedPlugin


@dataclass(slots=True, frozen=True)
class ProfilePlugins:
    """What filters and what scores, in order."""

    filters: tuple[FilterPlugin, ...]
    scores: tuple[WeightedPlugin, ...]


def plugins_of(profile: SchedulerProfile, context: Context) -> ProfilePlugins:
    """The plugins of a profile that decisions depend on."""
    arguments = profile.arguments
    both = _filter_and_score(context, arguments)
    filters: dict[str, FilterPlugin] = {name: make(context) for name, make in _FILTER.items()}
    scores: dict[str, ScorePlugin] = {
        balanced_allocation.NAME: _balanced_allocation(context, arguments),
        image_locality.NAME: image_locality.ImageLocality(context),
    }
    if profile.runs(load_variation.NAME, "score"):
        scores[load_variation.NAME] = load_variation.LoadVariationRiskBalancing(context, arguments.load_variation)
    return ProfilePlugins(_filters(profile, filters | both), _scores(profile, scores | both))


def _filters(profile: SchedulerProfile, plugins: Mapping[str, FilterPlugin]) -> tuple[FilterPlugin, ...]:
    before = [name for name in profile.plugins["preFilter"] if name in plugins]
    filtering = [name for name in profile.plugins["filter"] if name in plugins]
    if before == [name for name in filtering if "preFilter" in IN_TREE[name].points]:
        return tuple(plugins[name] for name in filtering)
    return (
        *(PreFilterPart(plugins[name]) for name in before),
        *(FilterPart(plugins[name], prepared=name in before) for name in filtering),
    )


def _scores(profile: SchedulerProfile, plugins: Mapping[str, ScorePlugin]) -> tuple[WeightedPlugin, ...]:
    def prepared(name: str) -> ScorePlugin:
        needs = "preScore" in IN_TREE[name].points and not profile.runs(name, "preScore")
        return UnpreparedScore(plugins[name]) if needs else plugins[name]

    scoring = [name for name in profile.plugins["score"] if name in plugins]
    unused = [name for name in profile.plugins["preScore"] if name in plugins and name not in scoring]
    return (
        *(WeightedPlugin(PreScorePart(plugins[name]), 1) for name in unused),
        *(WeightedPlugin(prepared(name), profile.weights[name]) for name in scoring),
    )


def _node_resources_fit(context: Context, arguments: PluginArguments) -> node_resources_fit.NodeResourcesFit:
    args: NodeResourcesFitArgs = arguments.node_resources_fit
    weights: Counter[str] = Counter()
    for each in args.scoring_strategy.resources:
        weights[each.name] += each.weight
    return node_resources_fit.NodeResourcesFit(
        context,
        strategy=_scoring(args.scoring_strategy),
        weights=weights,
        ignored_resources=args.ignored_resources,
        ignored_groups=args.ignored_resource_groups,
    )


def _scoring(strategy: ScoringStrategy) -> Scoring:
    if strategy.type == "RequestedToCapacityRatio" and strategy.requested_to_capacity_ratio is not None:
        shape = strategy.requested_to_capacity_ratio.shape
        return requested_to_capacity_ratio([(point.utilization, point.score) for point in shape])
    return most_allocated if strategy.type == "MostAllocated" else least_allocated


def _pod_topology_spread(context: Context, arguments: PluginArguments) -> pod_topology_spread.PodTopologySpread:
    args = arguments.pod_topology_spread
    return pod_topology_spread.PodTopologySpread(context, args.defaulting, args.default_constraints)


def _inter_pod_affinity(context: Context, arguments: PluginArguments) -> inter_pod_affinity.InterPodAffinity:
    args = arguments.inter_pod_affinity
    return inter_pod_affinity.InterPodAffinity(
        context,
        hard_weight=args.hard_pod_affinity_weight,
        ignore_preferred_of_existing=args.ignore_preferred_terms_of_existing_pods,
    )


def _balanced_allocation(context: Context, arguments: PluginArguments) -> balanced_allocation.BalancedAllocation:
    resources = arguments.balanced_allocation.resources
    return balanced_allocation.BalancedAllocation(context, tuple(each.name for each in resources))


def _filter_and_score(context: Context, arguments: PluginArguments) -> dict[str, Any]:
    return {
        taint_toleration.NAME: taint_toleration.TaintToleration(context),
        node_affinity.NAME: node_affinity.NodeAffinity(context, arguments.node_affinity.added_affinity),
        node_resources_fit.NAME: _node_resources_fit(context, arguments),
        pod_topology_spread.NAME: _pod_topology_spread(context, arguments),
        inter_pod_affinity.NAME: _inter_pod_affinity(context, arguments),
    }


_FILTER: Mapping[str, Callable[[Context], FilterPlugin]] = {
    node_unschedulable.NAME: node_unschedulable.NodeUnschedulable,
    node_ports.NAME: node_ports.NodePorts,
    volume_restrictions.NAME: volume_restrictions.VolumeRestrictions,
    node_volume_limits.NAME: node_volume_limits.NodeVolumeLimits,
    volume_binding.NAME: volume_binding.VolumeBinding,
    volume_zone.NAME: volume_zone.VolumeZone,
}
