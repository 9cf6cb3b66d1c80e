"""NodeResourcesFit: enough of every requested resource filters; how much is left (or used) scores.

Filtering compares requests with allocatable minus what is requested already; a request that the whole node could never
serve is unresolvable. Scoring counts a container that requests no CPU or memory as 100m and 200Mi, so that such pods
are not free. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import structs

from restow.cluster.amounts import LARGEST, capped_sum
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import PODS, NodePart
from restow.documents.findings import Issue
from restow.scheduling.devices.extended_resources import is_on_nodes, serving_classes
from restow.scheduling.framework.caches import PerNode
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin, SchedulerPluginArgs, invalid, not_a_label
from restow.scheduling.framework.extension_points import (
    PASSES,
    PROCEED,
    FilterResult,
    Outcome,
    PreFiltered,
    Scope,
    Scores,
)
from restow.scheduling.framework.minors import TOO_SMALL_NODES, holds
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, NodeFacts, PodFacts, Resource
from restow.scheduling.plugins.resource_scoring import (
    AT_NODE,
    BASIC,
    NONZERO,
    NonzeroUsage,
    ResourceRoom,
    ScoringStrategy,
    Strategy,
    least_allocated,
    most_allocated,
    requested_to_capacity_ratio,
    strategy_problems,
    weighted,
)
from restow.scheduling.sampling.relative_scores import sorted_out

NAME = "NodeResourcesFit"

Amounts = npt.NDArray[np.int64]

_TOO_MANY_PODS = "Too many pods"
#: Of an int64 that is not negative.
_BITS = 63


class NodeResourcesFitArgs(SchedulerPluginArgs, frozen=True):
    """What is not filtered by, and how is scored."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type="LeastAllocated")


def check(args: NodeResourcesFitArgs) -> list[Issue]:
    """Resource names, groups without a slash, and a scoring strategy that is complete."""
    problems: list[Issue] = []
    for index, name in enumerate(args.ignored_resources):
        problems += not_a_label(("ignoredResources", index), name)
    for index, group in enumerate(args.ignored_resource_groups):
        path = ("ignoredResourceGroups", index)
        if "/" in group:
            problems.append(invalid(path, group, "resource group name can't contain '/'"))
        problems += not_a_label(path, group)
    return problems + strategy_problems(args.scoring_strategy, ("scoringStrategy",))


@dataclass(slots=True, frozen=True)
class _Wanted:
    """What filtering looks at in some requests; rows and amounts are columns, int64[resource, 1]."""

    rows: IntArray
    amounts: Amounts
    #: The reasons for too many pods and for each lacking resource.
    reasons: tuple[str, ...]
    #: A bit for each of the reasons, and for each of the resources one above them if no such node ever has enough.
    bits: IntArray
    #: Row and amount of each resource.
    in_lists: list[tuple[int, int]]


@dataclass(slots=True, frozen=True)
class _Scored:
    """What scoring looks at in some requests; all are columns, int64[resource, 1]."""

    #: Rows of resources whose usage counts containers without requests, and rows of the others.
    nonzero: IntArray
    plain: IntArray
    #: Of both, in this order.
    rows: IntArray
    amounts: Amounts
    weights: Amounts
    #: ``rows``, ``amounts`` and ``weights`` as lists.
    in_lists: tuple[list[int], list[int], list[int]]


class NodeResourcesFit:
    """Filter and score."""

    name = NAME
    scope = Scope.RESIDENTS

    def __init__(
        self,
        context: Context,
        *,
        strategy: Strategy = least_allocated,
        weights: Mapping[str, int] | None = None,
        ignored_resources: Sequence[str] = (),
        ignored_groups: Sequence[str] = (),
    ) -> None:
        self._state = context.state
        self._nodes = context.state.cluster.nodes
        self._knows_too_small = holds(TOO_SMALL_NODES, context.state.cluster)
        self._strategy = strategy
        self._weights = dict(weights or {"cpu": 1, "memory": 1})
        self._ignored = frozenset(ignored_resources)
        self._ignored_groups = frozenset(ignored_groups)
        self._serving = serving_classes(context.state.cluster)
        self._usage = NonzeroUsage(context.state)
        self._known: dict[int, _Wanted] = {}
        self._scoring: dict[int, _Scored] = {}
        self._scores = PerNode.following(
            context.state, self._compute, at_node=self._compute_at if strategy in AT_NODE else None
        )
        # A resource that is scored may be there only now.
        self._nodes.follow(NodePart.AMOUNTS | NodePart.POSITION, self._scoring.clear)
        if self._serving:
            # And so may one that devices were claimed for.
            self._nodes.follow(NodePart.AMOUNTS | NodePart.POSITION, self._known.clear)

    def applies_to(self, _pod: int) -> bool:
        """Every pod."""
        return True

    def key(self, pod: int) -> int:
        """Its requests."""
        return int(self._state.cluster.pods.resources[pod])

    def prefilter(self, _pod: int) -> PreFiltered:
        """Every pod takes at least a pod slot."""
        return PROCEED

    def affecting_pods(self, _pod: int) -> None:
        """Every pod takes room."""
        return

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes that lack resources; every lacking resource is reported."""
        return self.filter_usage(pod, nodes, self._state.running[nodes], self._state.requested[:, nodes])

    def filter_usage(self, pod: int, nodes: IntArray, running: Amounts, requested: Amounts) -> FilterResult:
        """Filter nodes with these pod counts, int64[node], and requests, int64[resource, node]."""
        wanted = self._wanted(pod)
        crowded = running >= self._nodes.allocatable[PODS, nodes]
        allocatable = self._nodes.allocatable[wanted.rows, nodes]
        lacking = allocatable - requested[wanted.rows.ravel()] < wanted.amounts
        if not (crowded.any() or lacking.any()):
            return FilterResult(np.full(len(nodes), PASSES), ())
        too_small = lacking & (allocatable < wanted.amounts) & self._knows_too_small
        failing = np.concatenate((crowded[None], lacking, too_small))
        return _filter_result(wanted.reasons, wanted.bits @ failing)

    def fits(self, pod: int, nodes: IntArray, running: Amounts, requested: Amounts) -> BoolArray:
        """Only whether there is enough, bool[len(nodes)]."""
        wanted = self._wanted(pod)
        free = self._nodes.allocatable[wanted.rows, nodes] - requested[wanted.rows.ravel()]
        crowded = running >= self._nodes.allocatable[PODS, nodes]
        fits: BoolArray = ~((wanted.amounts > free).any(axis=0) | crowded)
        return fits

    def fits_at(self, pod: int, node: int) -> bool:
        """Whether there is enough at one node as it is; False also where its sums are beyond int64."""
        allocatable, requested = self._nodes.allocatable, self._state.requested
        if self._state.running.item(node) >= allocatable.item(PODS, node):
            return False
        for row, amount in self._wanted(pod).in_lists:
            taken = requested.item(row, node)
            if taken < 0 or allocatable.item(row, node) - taken < amount:
                return False
        return True

    def score(self, pod: int, nodes: IntArray) -> Scores | None:
        """The strategy's score of the node as it would be with the pod."""
        scores: Scores = self._scores.at(int(self._state.cluster.pods.resources[pod]), nodes)
        return scores

    def score_all(self, pod: int, _feasible: BoolArray) -> Scores:
        """The scores of all nodes."""
        scores: Scores = self._scores.of(int(self._state.cluster.pods.resources[pod]))
        return scores

    def fullness(self, pods: Sequence[int], nodes: IntArray) -> int:
        """How full some nodes would be together with these pods, 0 to 100, whatever the strategy for one node is.

        Source: ScorePlacement, Kubernetes 1.37.
        """
        tables, amounts = self._state.cluster.pods.tables, Counter[str]()
        for pod in pods:
            amounts.update(tables.resources[self.key(pod)].scored)
        scored = self._prepare(amounts)
        if len(scored.rows) == 0:
            return 0
        capacity = self._nodes.allocatable[scored.rows, nodes]
        used = np.where(capacity > 0, self._used(scored, nodes), 0).sum(axis=1, keepdims=True)
        return int(most_allocated(used + scored.amounts, capacity.sum(axis=1, keepdims=True), scored.weights)[0])

    def room(self, pod: int, node: int, running: int, requested: IntArray) -> ResourceRoom:
        """What a node with ``count`` pods has left of the resources that the pod requests."""
        rows: list[int] = self._wanted(pod).rows.ravel().tolist()
        return ResourceRoom(self._state, rows, pod, node, (running, requested))

    def _wanted(self, pod: int) -> _Wanted:
        key = self.key(pod)
        known = self._known.get(key)
        if known is None:
            requests = self._state.cluster.pods.tables.resources[key].requests
            named = [name for name in accounted(requests) if not self._ignores(name) and not self._is_claimed(name)]
            ordered = sorted(named, key=lambda name: (BASIC.index(name) if name in BASIC else len(BASIC), name))
            rows = np.array([[self._nodes.resources.index(name)] for name in ordered], dtype=np.int64).reshape(-1, 1)
            reasons = (_TOO_MANY_PODS, *(f"Insufficient {name}" for name in ordered))
            bits = _bits(len(reasons), len(rows))
            amounts = self._state.request_vectors()[key][rows]
            in_lists = list(zip(rows.ravel().tolist(), amounts.ravel().tolist(), strict=True))
            known = self._known[key] = _Wanted(rows, amounts, reasons, bits, in_lists)
        return known

    def _is_claimed(self, name: str) -> bool:
        """Whether devices are claimed for a resource in place of what nodes have: a DeviceClass serves it, and no node does."""
        cluster = self._state.cluster
        return name in self._serving and not is_on_nodes(cluster, name)

    def _ignores(self, name: str) -> bool:
        ignored = name in self._ignored or name.partition("/")[0] in self._ignored_groups
        return is_extended(name) and ignored

    def _compute(self, resources: int, nodes: IntArray) -> Scores:
        scored = self._scored(resources)
        if len(scored.rows) == 0:
            return np.zeros(len(nodes), dtype=np.int16)
        capacity, used = self._nodes.allocatable[scored.rows, nodes], self._used(scored, nodes)
        return self._strategy(capped_sum(used, scored.amounts), capacity, scored.weights).astype(np.int16)

    def _compute_at(self, resources: int, node: int) -> int | None:
        rows, amounts, weights = self._scored(resources).in_lists
        usage, allocatable = self._usage.requested(), self._nodes.allocatable
        used = [(usage if row in NONZERO else self._state.requested).item(row, node) for row in rows]
        if min(used, default=-1) < 0:
            return None
        with_pod = [min(each + amount, LARGEST) for each, amount in zip(used, amounts, strict=True)]
        return AT_NODE[self._strategy](with_pod, [allocatable.item(row, node) for row in rows], weights)

    def _used(self, scored: _Scored, nodes: IntArray) -> Amounts:
        used: Amounts = self._usage.requested()[scored.nonzero, nodes]
        return np.concatenate((used, self._state.requested[scored.plain, nodes])) if len(scored.plain) else used

    def _scored(self, resources: int) -> _Scored:
        known = self._scoring.get(resources)
        if known is None:
            known = self._scoring[resources] = self._prepare(
                self._state.cluster.pods.tables.resources[resources].scored
            )
        return known

    def _prepare(self, amounts: Mapping[str, int]) -> _Scored:
        counted = [
            (row, amounts.get(name, 0), weight)
            for name, weight in self._weights.items()
            if (row := self._nodes.resource(name)) is not None and (name in BASIC or amounts.get(name, 0))
        ]
        nonzero = [each for each in counted if each[0] in NONZERO]
        plain = [each for each in counted if each[0] not in NONZERO]
        columns = np.array([*nonzero, *plain], dtype=np.int64).reshape(-1, 3)
        rows = columns[:, :1]
        in_lists = columns[:, 0].tolist(), columns[:, 1].tolist(), columns[:, 2].tolist()
        return _Scored(rows[: len(nonzero)], rows[len(nonzero) :], rows, columns[:, 1:2], columns[:, 2:], in_lists)


def _bits(reasons: int, rows: int) -> IntArray:
    """A bit for each reason, and the one above for what whole nodes lack; Python's integers where 64 bits are too few."""
    kind = np.int64 if reasons + rows.bit_length() < _BITS else object
    return np.array([1 << min(place, reasons) for place in range(reasons + rows)], dtype=kind)


def _filter_result(reasons: tuple[str, ...], number: IntArray) -> FilterResult:
    """One category for each combination of what fails, given for each node as the sum of its bits; some node fails."""
    if len(number) == 1:
        return FilterResult(np.zeros(1, dtype=np.int64), (_outcome(reasons, int(number[0])),))
    category = np.full(len(number), PASSES)
    rejected = np.flatnonzero(number)
    combinations, category[rejected] = sorted_out(number[rejected])
    return FilterResult(category, [_outcome(reasons, combination) for combination in combinations.tolist()])


@cache
def _outcome(reasons: tuple[str, ...], combination: int) -> Outcome:
    given = tuple(reason for bit, reason in enumerate(reasons) if combination >> bit & 1)
    return Outcome(given, unresolvable=bool(combination >> len(reasons)))


def _with_defaults(args: NodeResourcesFitArgs) -> NodeResourcesFitArgs:
    resources = weighted(args.scoring_strategy.resources)
    return structs.replace(args, scoring_strategy=structs.replace(args.scoring_strategy, resources=resources))


def _make(context: Context, args: NodeResourcesFitArgs) -> NodeResourcesFit:
    weights: Counter[str] = Counter()
    for each in args.scoring_strategy.resources:
        weights[each.name] += each.weight
    return NodeResourcesFit(
        context,
        strategy=_strategy(args.scoring_strategy),
        weights=weights,
        ignored_resources=args.ignored_resources,
        ignored_groups=args.ignored_resource_groups,
    )


def _strategy(strategy: ScoringStrategy) -> Strategy:
    if strategy.type == "RequestedToCapacityRatio" and strategy.requested_to_capacity_ratio is not None:
        shape = strategy.requested_to_capacity_ratio.shape
        return requested_to_capacity_ratio([(point.utilization, point.score) for point in shape])
    return most_allocated if strategy.type == "MostAllocated" else least_allocated


# Which resources the scheduler keeps account of.
@cache
def is_extended(name: str) -> bool:
    """Whether a resource is an extended one: with a domain that is not Kubernetes' own."""
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io") and not name.startswith("requests.")


@cache
def is_scalar(name: str) -> bool:
    """Whether the scheduler tracks a resource other than CPU, memory and ephemeral storage.

    Extended resources, huge pages, attachable volumes and native resources with a prefix; others are dropped.
    """
    return is_extended(name) or name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name


def accounted(requests: Mapping[str, int]) -> dict[str, int]:
    """What counts of some requests."""
    return {name: amount for name, amount in requests.items() if amount > 0 and (name in BASIC or is_scalar(name))}


def _frees_room(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: a pod is gone that took room, or takes less of what the pod requests; or the pod itself requests less."""
    old: PodFacts = event.old
    new: PodFacts | None = event.new
    if new is None:
        return old.counts_somewhere
    if new.uid == pod.uid:
        return True
    return bool(new.node) and _is_less(new.requests, old.requests, accounted(pod.requests))


def _has_room(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the pod fits on the empty node, and the node is new or has more of what the pod requests than before.

    As upstream does, this includes resources that the plugin is configured to ignore.
    """
    old: NodeFacts | None = event.old
    new: NodeFacts = event.new
    needs = {"pods": 1} | accounted(pod.requests)
    if any(new.allocatable.get(name, 0) < amount for name, amount in needs.items()):
        return False
    return old is None or _is_less(old.allocatable, new.allocatable, needs)


def _is_less(less: Mapping[str, int], more: Mapping[str, int], of: Mapping[str, int]) -> bool:
    """Whether there is less of any of some resources."""
    return any(less.get(name, 0) < more.get(name, 0) for name in of)


_INTERESTS: Final = (
    Interest(
        Resource.POD,
        Action.DELETE | Action.UPDATE_POD_SCALE_DOWN,
        _frees_room,
        "a pod goes, or requests less, and leaves room on its node",
    ),
    Interest(
        Resource.NODE,
        Action.ADD | Action.UPDATE_NODE_ALLOCATABLE,
        _has_room,
        "a node is added, or grows, that has enough of what it requests",
    ),
)

PLUGIN = SchedulerPlugin(
    NAME,
    ("preFilter", "filter", "preScore", "score", "placementScore"),
    _make,
    args=NodeResourcesFitArgs,
    check=check,
    with_defaults=_with_defaults,
    # kube-scheduler validates them when it makes the plugin.
    is_checked_when_idle=False,
    dependent=("filter",),
    interests=_INTERESTS,
)
