"""How full or empty a node should be: the strategies of NodeResourcesFit, their arguments, and the usage that they read.

A strategy takes what would be used, the capacity (both int64[resource, node]) and the weights (int64[resource, 1]) and
gives 0..100 for each node. A resource that a node does not have counts neither above nor below the line. Integer division
as in Go. Field names of arguments are upstream's. Source: noderesources, the configuration API v1 and the validation of
its arguments, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct, structs

from restow.cluster.amounts import percent_of
from restow.cluster.interning import IntArray
from restow.cluster.journal import NodeChange
from restow.cluster.nodes import CPU, MEMORY, PODS, NodePart
from restow.cluster.state import ClusterState
from restow.documents.findings import Issue, Path
from restow.kube.objects import Int32, Int64
from restow.scheduling.framework.context import Follower
from restow.scheduling.framework.declaration import forbidden, invalid, not_supported, out_of_range, required
from restow.scheduling.framework.extension_points import MAX_SCORE, Scores

#: Resources that count even for pods that do not request them, in the order in which lacking ones are reported.
BASIC: Final = ("cpu", "memory", "ephemeral-storage")
_RATIO: Final = "RequestedToCapacityRatio"
_STRATEGIES: Final = ("LeastAllocated", "MostAllocated", _RATIO)

Table = npt.NDArray[np.int64]
Strategy = Callable[[Table, Table, Table], Scores]

#: (utilisation in percent, score 0..10).
Shape = Sequence[tuple[int, int]]

#: The resources whose usage counts containers without requests, by row.
NONZERO: Final = {CPU: "cpu", MEMORY: "memory"}


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


DEFAULT_RESOURCES: Final = (ResourceSpec("cpu"), ResourceSpec("memory"))


class ScoringStrategy(Struct, frozen=True, rename="camel"):
    """How NodeResourcesFit scores: type and resources; ``type`` is not restricted here."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


def weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """Resources with defaults: an empty list and a weight of 0 are no choice."""
    return tuple(structs.replace(each, weight=each.weight or 1) for each in resources) or DEFAULT_RESOURCES


def strategy_problems(strategy: ScoringStrategy, path: Path) -> list[Issue]:
    """What is wrong with a scoring strategy that stands at a path."""
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


# Only scoring asks for it, so it follows pods from here instead of weighing on every change. Sums that no int64 holds
# wrap around, as Go's do. Source: NodeInfo.NonZeroRequested, Kubernetes 1.36.
class NonzeroUsage:
    """CPU (milli) and memory (bytes) of one state, kept up to date."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        #: None before the first question, and after nodes got other positions.
        self._requested: Table | None = None
        #: By the identifier of what is held.
        self._vectors: dict[int, Table] = {}
        self._follower = Follower(state, self._note)
        state.cluster.nodes.follow(NodePart.POSITION, self._forget)

    def requested(self) -> Table:
        """The sums over the pods that hold resources, int64[CPU and MEMORY, node]; not to be changed."""
        if self._requested is None:
            self._requested = self._sums()
            self._follower.skip()
        else:
            self._follower.catch_up()
        return self._requested

    def _note(self, change: NodeChange) -> None:
        if self._requested is None or not self._state.holds[change.pod]:
            return
        self._requested[:, change.node] += change.present * self._vector(int(self._state.held[change.pod]))

    def _vector(self, held: int) -> Table:
        """What is held, int64[CPU and MEMORY]."""
        known = self._vectors.get(held)
        if known is None:
            amounts = self._amounts(held)
            known = self._vectors[held] = np.array([amounts.get(name, 0) for name in NONZERO.values()], dtype=np.int64)
        return known

    def _amounts(self, held: int) -> Mapping[str, int]:
        tables = self._state.cluster.pods.tables
        return tables.resources[held].nonzero if held >= 0 else tables.held[-1 - held][1]

    def _forget(self) -> None:
        self._requested = None

    def _sums(self) -> Table:
        state = self._state
        placed = np.flatnonzero(state.holds_resources() & (state.node >= 0))
        known, held = np.unique(state.held[placed], return_inverse=True)
        amounts = [self._amounts(each) for each in known.tolist()]
        sums = np.zeros((len(NONZERO), len(state.cluster.nodes)), dtype=np.int64)
        for row, name in NONZERO.items():
            of_value = np.array([each.get(name, 0) for each in amounts], dtype=np.int64)
            np.add.at(sums[row], state.node[placed], of_value[held])
        return sums


class ResourceRoom:
    """What is free of some resources and of pod slots on one node, which some pods leave and come back to."""

    def __init__(self, state: ClusterState, rows: list[int], pod: int, node: int, usage: tuple[int, IntArray]) -> None:
        """``rows`` are the resources that count; ``usage`` is how many pods are on the node, and what they request."""
        running, requested = usage
        self._state = state
        self._rows = rows
        offered, wanted = state.cluster.nodes.allocatable[:, node], state.requests_of(pod)
        # Python's integers: what is free may lie beyond int64 on the way.
        amounts = (each[self._rows].tolist() for each in (offered, requested, wanted))
        self._free: list[int] = [has - taken - more for has, taken, more in zip(*amounts, strict=True)]
        self._slots = int(state.cluster.nodes.allocatable[PODS, node]) - running - 1

    def reprieve(self, pods: Sequence[int]) -> list[bool]:
        """Which of the potential victims have to go where nothing else is at stake; none if that does not help."""
        for pod in pods:
            self.remove_pod(pod)
        helps = self._slots >= 0 and min(self._free, default=0) >= 0
        return [helps and not self.add_pod(pod) for pod in pods]

    def remove_pod(self, pod: int) -> None:
        """Remove a pod."""
        self._free = [free + amount for free, amount in zip(self._free, self._held(pod), strict=True)]
        self._slots += 1

    def add_pod(self, pod: int) -> bool:
        """A pod comes back if there is room for it."""
        left = [free - amount for free, amount in zip(self._free, self._held(pod), strict=True)]
        if self._slots <= 0 or any(amount < 0 for amount in left):
            return False
        self._free = left
        self._slots -= 1
        return True

    def _held(self, pod: int) -> list[int]:
        held: list[int] = self._state.held_by(pod)[self._rows].tolist()
        return held


def least_allocated(used: Table, capacity: Table, weights: Table) -> Scores:
    """The emptier the better."""
    free = np.maximum(capacity - used, 0)
    return _weighted_mean(percent_of(free, capacity), capacity > 0, weights)


def most_allocated(used: Table, capacity: Table, weights: Table) -> Scores:
    """The fuller the better."""
    taken = np.minimum(used, capacity)
    return _weighted_mean(percent_of(taken, capacity), capacity > 0, weights)


def least_allocated_at(used: Sequence[int], capacity: Sequence[int], weights: Sequence[int]) -> int:
    """``least_allocated`` of one node, in Python's numbers."""
    total = weight = 0
    for taken, has, counts in zip(used, capacity, weights, strict=True):
        if has > 0:
            total += max(has - taken, 0) * MAX_SCORE // has * counts
            weight += counts
    return total // max(weight, 1)


def most_allocated_at(used: Sequence[int], capacity: Sequence[int], weights: Sequence[int]) -> int:
    """``most_allocated`` of one node, in Python's numbers."""
    total = weight = 0
    for taken, has, counts in zip(used, capacity, weights, strict=True):
        if has > 0:
            total += min(taken, has) * MAX_SCORE // has * counts
            weight += counts
    return total // max(weight, 1)


#: The strategies that give the same for one node, with lists in place of columns.
AT_NODE: Final[Mapping[Strategy, Callable[[Sequence[int], Sequence[int], Sequence[int]], int]]] = {
    least_allocated: least_allocated_at,
    most_allocated: most_allocated_at,
}


def requested_to_capacity_ratio(shape: Shape) -> Strategy:
    """As a broken line of the utilisation says; resources that score 0 are left out of the mean."""

    def strategy(used: Table, capacity: Table, weights: Table) -> Scores:
        utilisation = np.where(used > capacity, MAX_SCORE, percent_of(np.minimum(used, capacity), capacity))
        scores = _along(shape, utilisation)
        counted = (capacity > 0) & (scores > 0)
        total = np.where(counted, scores * weights, 0).sum(axis=0)
        weight = np.where(counted, weights, 0).sum(axis=0)
        rounded: Scores = np.floor(total / np.maximum(weight, 1) + 0.5).astype(np.int64)
        return rounded

    return strategy


def _weighted_mean(scores: Table, counted: npt.NDArray[np.bool_], weights: Table) -> Scores:
    weight = (counted * weights).sum(axis=0)
    mean: Scores = (scores * weights * counted).sum(axis=0) // np.maximum(weight, 1)
    return mean


def _along(shape: Shape, utilisation: Table) -> Table:
    """The broken line at each utilisation, scaled from 0..10 to 0..100, truncated between its points."""
    points = [(at, score * MAX_SCORE // 10) for at, score in shape]
    result = np.full(utilisation.shape, points[-1][1], dtype=np.int64)
    for (low, start), (high, end) in reversed(list(pairwise(points))):
        between = start + np.trunc((end - start) * (utilisation - low) / (high - low)).astype(np.int64)
        result = np.where(utilisation <= high, between, result)
    along: Table = np.where(utilisation <= points[0][0], points[0][1], result)
    return along
