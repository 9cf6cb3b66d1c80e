"""The arguments of a profile's plugins: decoded, filled with defaults, validated.

Source: SetDefaults and Validate of the plugins' arguments, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from restow.documents.decoding import decode
from restow.documents.findings import Issue, Path
from restow.kube.excerpts import excerpt
from restow.kube.near_words import misspelled_or_foreign
from restow.scheduling.configuration.argument_rules import (
    balanced_allocation_problems,
    default_preemption_problems,
    inter_pod_affinity_problems,
    load_variation_problems,
    node_affinity_problems,
    node_resources_fit_problems,
    pod_topology_spread_problems,
    volume_binding_problems,
)
from restow.scheduling.configuration.wire import PluginConfig
from restow.scheduling.in_tree import IN_TREE, OWNER, REMOVED
from restow.scheduling.plugin_arguments import (
    DEFAULT_RESOURCES,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    LoadVariationRiskBalancingArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PluginArguments,
    PodTopologySpreadArgs,
    ResourceSpec,
    VolumeBindingArgs,
)

_FIT: Final = "NodeResourcesFit"
_TYPES: Final[Mapping[str, type[PluginArgs]]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "LoadVariationRiskBalancing": LoadVariationRiskBalancingArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    _FIT: NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
_RULES: Final[Mapping[str, Callable[[Any], list[Issue]]]] = {
    "DefaultPreemption": default_preemption_problems,
    "InterPodAffinity": inter_pod_affinity_problems,
    "LoadVariationRiskBalancing": load_variation_problems,
    "NodeAffinity": node_affinity_problems,
    "NodeResourcesBalancedAllocation": balanced_allocation_problems,
    _FIT: node_resources_fit_problems,
    "PodTopologySpread": pod_topology_spread_problems,
    "VolumeBinding": volume_binding_problems,
}


def read_arguments(
    configs: Sequence[PluginConfig], path: Path, running: Collection[str], api_version: str
) -> tuple[PluginArguments, list[Issue]]:
    """The arguments that stand at a path, and what is wrong with them or has no effect.

    ``running`` are the plugins that run at some point.
    """
    found: dict[str, PluginArgs] = {}
    issues: list[Issue] = []
    for index, config in enumerate(configs):
        place = (*path, index)
        issue = _unusable(config.name, place, found)
        if issue:
            issues.append(issue)
            continue
        found[config.name], undecodable = _decoded(config, (*place, "args"))
        issues += undecodable or _check(config.name, found[config.name], (*place, "args"), running, api_version)
    arguments = PluginArguments(
        inter_pod_affinity=_of(found, "InterPodAffinity", InterPodAffinityArgs()),
        node_affinity=_of(found, "NodeAffinity", NodeAffinityArgs()),
        node_resources_fit=_of(found, _FIT, NodeResourcesFitArgs()),
        balanced_allocation=_of(found, "NodeResourcesBalancedAllocation", NodeResourcesBalancedAllocationArgs()),
        pod_topology_spread=_of(found, "PodTopologySpread", PodTopologySpreadArgs()),
        load_variation=_of(found, "LoadVariationRiskBalancing", LoadVariationRiskBalancingArgs()),
    )
    return arguments, issues


def _of(found: Mapping[str, PluginArgs], name: str, default: Any) -> Any:
    return found.get(name, default)


def _unusable(name: str, path: Path, found: Collection[str]) -> Issue | None:
    """Why the arguments of a plugin are refused or ignored, whatever they say; None where they are read."""
    if name in REMOVED:
        return Issue(path, f'plugin "{excerpt(name)}" is no longer part of kube-scheduler')
    if name in found:
        return Issue(path, f'plugin "{excerpt(name)}" is configured twice')
    if name in _TYPES:
        return None
    if name in IN_TREE:
        return Issue(path, f"{name} takes no arguments; these are ignored", "warning")
    hint = misspelled_or_foreign(name, _TYPES, OWNER)
    return Issue(path, f'unknown plugin "{excerpt(name)}": its arguments are ignored', "warning", hint)


def _decoded(config: PluginConfig, path: Path) -> tuple[PluginArgs, tuple[Issue, ...]]:
    """The arguments with their defaults, or the defaults alone and why the arguments cannot be read."""
    decoded = decode(config.args, _TYPES[config.name], path)
    return _with_defaults(decoded.value or _TYPES[config.name]()), decoded.strictly()


def _check(name: str, args: PluginArgs, path: Path, running: Collection[str], api_version: str) -> Iterator[Issue]:
    if args.api_version not in ("", api_version):
        yield Issue((*path, "apiVersion"), f'must be {api_version}, not "{excerpt(args.api_version)}"')
    if args.kind not in ("", f"{name}Args"):
        yield Issue((*path, "kind"), f'must be {name}Args, not "{excerpt(args.kind)}"')
    # NodeResourcesFit is only validated when it is made.
    if name in _RULES and (name != _FIT or _FIT in running):
        yield from (replace(issue, path=(*path, *issue.path)) for issue in _RULES[name](args))


def _with_defaults(args: PluginArgs) -> PluginArgs:
    """The arguments as their plugin gets them: an empty list of resources, an empty type and a weight of 0 are defaults.

    So are negative factors of LoadVariationRiskBalancing.
    """
    match args:
        case NodeResourcesBalancedAllocationArgs():
            return structs.replace(args, resources=_weighted(args.resources))
        case NodeResourcesFitArgs(scoring_strategy=strategy):
            weighted = structs.replace(strategy, resources=_weighted(strategy.resources))
            return structs.replace(args, scoring_strategy=weighted)
        case PodTopologySpreadArgs(defaulting_type=""):
            return structs.replace(args, defaulting_type="System")
        case LoadVariationRiskBalancingArgs(safe_variance_margin=margin, safe_variance_sensitivity=sensitivity):
            return structs.replace(
                args,
                safe_variance_margin=1.0 if margin < 0 else margin,
                safe_variance_sensitivity=1.0 if sensitivity < 0 else sensitivity,
            )
    return args


def _weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(structs.replace(each, weight=each.weight or 1) for each in resources) or DEFAULT_RESOURCES
