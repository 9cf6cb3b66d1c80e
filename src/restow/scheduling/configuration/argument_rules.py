"""What the arguments of the scheduler's plugins may say. Source: pluginargs validation, Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from restow.documents.findings import Issue, Path
from restow.kube.node_selection import NodeSelection, SelectorTerm, compile_preferred
from restow.kube.objects import NodeSelector, PreferredSchedulingTerm, TopologySpreadConstraint
from restow.scheduling.configuration.problems import (
    duplicate,
    forbidden,
    invalid,
    not_a_label,
    not_supported,
    out_of_range,
    required,
)
from restow.scheduling.plugin_arguments import (
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    LoadVariationRiskBalancingArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)

#: Seconds of a year.
_LONGEST: Final = 366 * 86_400
_RATIO: Final = "RequestedToCapacityRatio"
_STRATEGIES: Final = ("LeastAllocated", "MostAllocated", _RATIO)
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_DEFAULTING: Final = ("System", "List")


def default_preemption_problems(args: DefaultPreemptionArgs) -> list[Issue]:
    """Both shares from 0, and not 0 together."""
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    names = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
    problems = out_of_range(names[:1], percentage, 0, 100)
    if absolute < 0:
        problems.append(invalid(names[1:], absolute, "not in valid range [0, inf)"))
    if percentage == absolute == 0:
        problems += [
            invalid((own,), 0, f"cannot be zero at the same time as {other}") for own, other in (names, names[::-1])
        ]
    return problems


def inter_pod_affinity_problems(args: InterPodAffinityArgs) -> list[Issue]:
    """A weight of 0 to 100."""
    return out_of_range(("hardPodAffinityWeight",), args.hard_pod_affinity_weight, 0, 100)


def load_variation_problems(args: LoadVariationRiskBalancingArgs) -> list[Issue]:
    """Times within a year."""
    problems = out_of_range(("windowSeconds",), args.window_seconds, 1, _LONGEST)
    if args.guard_seconds is not None:
        problems += out_of_range(("guardSeconds",), args.guard_seconds, 0, _LONGEST)
    return problems


def node_affinity_problems(args: NodeAffinityArgs) -> list[Issue]:
    """Terms that can be read."""
    added = args.added_affinity
    if added is None:
        return []
    required_path = ("addedAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    preferred_path = ("addedAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    return [
        *_unreadable(added.required, required_path),
        *_unreadable_preferred(added.preferred or (), preferred_path),
    ]


def balanced_allocation_problems(args: NodeResourcesBalancedAllocationArgs) -> list[Issue]:
    """Different resources, all of the weight 1."""
    problems: list[Issue] = []
    seen: set[str] = set()
    for index, resource in enumerate(args.resources):
        path = ("resources", index)
        if resource.name in seen:
            problems.append(duplicate((*path, "name"), resource.name))
        seen.add(resource.name)
        if resource.weight != 1:
            problems.append(invalid((*path, "weight"), resource.weight, "must be 1"))
    return problems


def node_resources_fit_problems(args: NodeResourcesFitArgs) -> list[Issue]:
    """Resource names, groups without a slash, and a scoring strategy that is complete."""
    problems: list[Issue] = []
    for index, name in enumerate(args.ignored_resources):
        problems += not_a_label(("ignoredResources", index), name)
    for index, group in enumerate(args.ignored_resource_groups):
        path = ("ignoredResourceGroups", index)
        if "/" in group:
            problems.append(invalid(path, group, "resource group name can't contain '/'"))
        problems += not_a_label(path, group)
    return problems + _strategy_problems(args.scoring_strategy)


def pod_topology_spread_problems(args: PodTopologySpreadArgs) -> list[Issue]:
    """Constraints without a selector, and only where defaultingType is List."""
    problems: list[Issue] = []
    path: Path = ("defaultingType",)
    if args.defaulting_type not in _DEFAULTING:
        problems.append(not_supported(path, args.defaulting_type, _DEFAULTING))
    elif args.defaulting_type == "System" and args.default_constraints:
        problems.append(invalid(path, "System", "when .defaultConstraints are not empty"))
    for index, constraint in enumerate(args.default_constraints):
        path = ("defaultConstraints", index)
        problems += _constraint_problems(constraint, path)
        if any(_same(constraint, other) for other in args.default_constraints[:index]):
            same = f"{{{constraint.topology_key}, {constraint.when_unsatisfiable}}}"
            problems.append(duplicate(path, same))
    return problems


def volume_binding_problems(args: VolumeBindingArgs) -> list[Issue]:
    """A timeout from 0, and no shape: that takes a feature gate that is off."""
    problems: list[Issue] = []
    if args.bind_timeout_seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        problems.append(invalid(("bindTimeoutSeconds",), args.bind_timeout_seconds, detail))
    if args.shape is not None:
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        problems.append(Issue(("shape",), f"Invalid value: {detail}"))
    return problems


def _strategy_problems(strategy: ScoringStrategy) -> list[Issue]:
    path = ("scoringStrategy",)
    ratio, ratio_path = strategy.requested_to_capacity_ratio, (*path, "requestedToCapacityRatio")
    problems: list[Issue] = []
    if strategy.type not in _STRATEGIES:
        problems.append(not_supported((*path, "type"), strategy.type, _STRATEGIES))
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            detail = f"resource weight of {resource.name} not in valid range (0, 100]"
            problems.append(invalid((*path, "resources", index, "weight"), resource.weight, detail))
    if strategy.type == _RATIO:
        if ratio is None:
            problems.append(required(ratio_path, f"must be specified when type is {_RATIO}"))
        else:
            problems += _shape_problems(ratio.shape, (*ratio_path, "shape"))
    elif ratio is not None:
        problems.append(forbidden(ratio_path, f"must be nil when type is not {_RATIO}"))
    return problems


def _shape_problems(shape: Sequence[UtilizationShapePoint], path: Path) -> list[Issue]:
    if not shape:
        return [required(path, "at least one point must be specified")]
    problems: list[Issue] = []
    for index, (before, point) in enumerate(pairwise(shape), start=1):
        if before.utilization >= point.utilization:
            place = (*path, index, "utilization")
            problems.append(invalid(place, point.utilization, "values must be sorted in increasing order"))
            break
    for index, point in enumerate(shape):
        problems += out_of_range((*path, index, "utilization"), point.utilization, 0, 100)
        problems += out_of_range((*path, index, "score"), point.score, 0, 10)
    return problems


def _constraint_problems(constraint: TopologySpreadConstraint, path: Path) -> Iterator[Issue]:
    key, action = constraint.topology_key, constraint.when_unsatisfiable
    if constraint.max_skew <= 0:
        yield invalid((*path, "maxSkew"), constraint.max_skew, "not in valid range (0, inf)")
    if not key:
        yield required((*path, "topologyKey"), "can not be empty")
    else:
        yield from not_a_label((*path, "topologyKey"), key)
    if not action:
        yield required((*path, "whenUnsatisfiable"), "can not be empty")
    elif action not in _ACTIONS:
        yield not_supported((*path, "whenUnsatisfiable"), action, _ACTIONS)
    if constraint.label_selector is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        yield forbidden((*path, "labelSelector"), detail)


def _same(one: TopologySpreadConstraint, other: TopologySpreadConstraint) -> bool:
    return (one.topology_key, one.when_unsatisfiable) == (other.topology_key, other.when_unsatisfiable)


def _unreadable(selector: NodeSelector | None, path: Path) -> Iterator[Issue]:
    for index, term in enumerate(NodeSelection.compile(None, selector).terms or ()):
        yield from _term_problems(term, f"nodeSelectorTerms[{index}].", (*path, "nodeSelectorTerms", index))


def _unreadable_preferred(terms: Iterable[PreferredSchedulingTerm], path: Path) -> Iterator[Issue]:
    """Terms without weight are not even read."""
    for index, weighted in enumerate(compile_preferred(terms)):
        if weighted.weight != 0:
            yield from _term_problems(weighted.term, "nodeSelectorTerms[0].", (*path, index))


def _term_problems(term: SelectorTerm, prefix: str, path: Path) -> Iterator[Issue]:
    return (Issue(path, problem.removeprefix(prefix)) for problem in term.problems)
