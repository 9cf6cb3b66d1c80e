"""The arguments of a profile's plugins: decoded, filled with defaults, validated.

Source: SetDefaults and Validate of the plugins' arguments, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from msgspec import structs

from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.kube.near_words import misspelled_or_foreign
from restow.scheduling.configuration.argument_rules import (
    balanced_allocation_problems,
    default_preemption_problems,
    inter_pod_affinity_problems,
    node_affinity_problems,
    node_resources_fit_problems,
    pod_topology_spread_problems,
    volume_binding_problems,
)
from restow.scheduling.configuration.decoding import decode
from restow.scheduling.configuration.document import Path
from restow.scheduling.configuration.findings import Findings
from restow.scheduling.configuration.problems import Problem
from restow.scheduling.configuration.wire import PluginConfig
from restow.scheduling.in_tree import IN_TREE, OWNER, REMOVED
from restow.scheduling.plugin_arguments import (
    DEFAULT_RESOURCES,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
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
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    _FIT: NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
_RULES: Final[Mapping[str, Callable[[Any], list[Problem]]]] = {
    "DefaultPreemption": default_preemption_problems,
    "InterPodAffinity": inter_pod_affinity_problems,
    "NodeAffinity": node_affinity_problems,
    "NodeResourcesBalancedAllocation": balanced_allocation_problems,
    _FIT: node_resources_fit_problems,
    "PodTopologySpread": pod_topology_spread_problems,
    "VolumeBinding": volume_binding_problems,
}


def read_arguments(
    configs: Sequence[PluginConfig], path: Path, running: Collection[str], api_version: str, findings: Findings
) -> PluginArguments:
    """The arguments that stand at a path; what is wrong with them goes to the findings.

    ``running`` are the plugins that run at some point.
    """
    found: dict[str, PluginArgs] = {}
    for index, config in enumerate(configs):
        place = (*path, index)
        if config.name in REMOVED:
            findings.refuse(place, f'plugin "{excerpt(config.name)}" is no longer part of kube-scheduler')
        elif config.name in found:
            findings.refuse(place, f'plugin "{excerpt(config.name)}" is configured twice')
        elif config.name in _TYPES:
            found[config.name] = _read(config, (*place, "args"), running, api_version, findings)
        else:
            findings.warn(place, _unused(config.name))
    return PluginArguments(
        inter_pod_affinity=_of(found, "InterPodAffinity", InterPodAffinityArgs()),
        node_affinity=_of(found, "NodeAffinity", NodeAffinityArgs()),
        node_resources_fit=_of(found, _FIT, NodeResourcesFitArgs()),
        balanced_allocation=_of(found, "NodeResourcesBalancedAllocation", NodeResourcesBalancedAllocationArgs()),
        pod_topology_spread=_of(found, "PodTopologySpread", PodTopologySpreadArgs()),
    )


def _of(found: Mapping[str, PluginArgs], name: str, default: Any) -> Any:
    return found.get(name, default)


def _unused(name: str) -> str:
    if name in IN_TREE:
        return f"{name} takes no arguments; these are ignored"
    return f'unknown plugin "{excerpt(name)}": its arguments are ignored{misspelled_or_foreign(name, _TYPES, OWNER)}'


def _read(
    config: PluginConfig, path: Path, running: Collection[str], api_version: str, findings: Findings
) -> PluginArgs:
    try:
        args = decode(findings.document, config.args, path, _TYPES[config.name])
    except InputError as error:
        findings.problems += error.sentences
        return _TYPES[config.name]()
    if args.api_version not in ("", api_version):
        findings.refuse((*path, "apiVersion"), f'must be {api_version}, not "{excerpt(args.api_version)}"')
    if args.kind not in ("", f"{config.name}Args"):
        findings.refuse((*path, "kind"), f'must be {config.name}Args, not "{excerpt(args.kind)}"')
    args = _with_defaults(args)
    # NodeResourcesFit is only validated when it is made.
    if config.name in _RULES and (config.name != _FIT or _FIT in running):
        for problem in _RULES[config.name](args):
            findings.refuse((*path, *problem.path), problem.message)
    return args


def _with_defaults(args: PluginArgs) -> PluginArgs:
    """The arguments as their plugin gets them: an empty list of resources, an empty type and a weight of 0 are defaults."""
    match args:
        case NodeResourcesBalancedAllocationArgs():
            return structs.replace(args, resources=_weighted(args.resources))
        case NodeResourcesFitArgs(scoring_strategy=strategy):
            weighted = structs.replace(strategy, resources=_weighted(strategy.resources))
            return structs.replace(args, scoring_strategy=weighted)
        case PodTopologySpreadArgs(defaulting_type=""):
            return structs.replace(args, defaulting_type="System")
    return args


def _weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(structs.replace(each, weight=each.weight or 1) for each in resources) or DEFAULT_RESOURCES
