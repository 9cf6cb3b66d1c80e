"""NodeResourcesBalancedAllocation: prefer nodes whose resources the pod leaves more evenly used.

The balance of a node is 1 minus the standard deviation of the used fractions. Up to 1.35 the balance with the pod is the
score. Since 1.36 what counts is how much the pod improves it: 50 + (50 + after - before) / 2, so 75 is neutral. Source:
Kubernetes 1.35 and 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import structs

from restow.cluster.amounts import LARGEST, capped_sum
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodePart
from restow.documents.findings import Issue
from restow.scheduling.framework.caches import PerNode
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin, SchedulerPluginArgs, duplicate, invalid
from restow.scheduling.framework.extension_points import MAX_SCORE, Scores
from restow.scheduling.framework.minors import IMPROVED_BALANCE, holds
from restow.scheduling.plugins.resource_scoring import BASIC, DEFAULT_RESOURCES, ResourceSpec, weighted

NAME = "NodeResourcesBalancedAllocation"


class NodeResourcesBalancedAllocationArgs(SchedulerPluginArgs, frozen=True):
    """Which resources are balanced; all have the weight 1."""

    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


def check(args: NodeResourcesBalancedAllocationArgs) -> list[Issue]:
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


class _Weighed(NamedTuple):
    """What counts of some requests."""

    #: The rows of the resources and how much of each is requested; both are columns, int64[resource, 1].
    rows: IntArray
    amounts: IntArray
    #: The same as lists.
    in_lists: tuple[list[int], list[int]]


class BalancedAllocation:
    """Score on requests without defaults."""

    name = NAME

    def __init__(self, context: Context, resources: tuple[str, ...] = ("cpu", "memory")) -> None:
        self._state = context.state
        self._resources = resources
        if holds(IMPROVED_BALANCE, context.state.cluster):
            self._scores = PerNode.following(context.state, self._improvement, at_node=self._improvement_at)
        else:
            self._scores = PerNode.following(context.state, self._balance_with)
        self._find_rows()
        context.state.cluster.nodes.follow(NodePart.AMOUNTS | NodePart.POSITION, self._find_rows)

    def _find_rows(self) -> None:
        """Find the rows of the resources that some node or pod names by now."""
        names = self._state.cluster.nodes.resources
        self._rows = [names.index(name) for name in self._resources if name in names]
        self._always = [names.index(name) for name in BASIC if name in names]
        self._known: dict[int, _Weighed] = {}
        #: Which distinct requests ask for any of the resources.
        self._asking: dict[int, bool] = {}

    def score(self, pod: int, nodes: IntArray) -> Scores | None:
        """0 to 100; None for pods that request none of the resources."""
        resources = int(self._state.cluster.pods.resources[pod])
        return self._scores.at(resources, nodes) if self._asks(resources) else None

    def score_all(self, pod: int, _feasible: BoolArray) -> Scores | None:
        """The scores of all nodes."""
        resources = int(self._state.cluster.pods.resources[pod])
        return self._scores.of(resources) if self._asks(resources) else None

    def _balance_with(self, resources: int, nodes: IntArray) -> Scores:
        """How even each node is with the pod."""
        rows, request, _ = self._weighed(resources)
        used = capped_sum(self._state.requested[rows, nodes], request)
        return _balance(used, self._state.cluster.nodes.allocatable[rows, nodes]).astype(np.int16)

    def _improvement(self, resources: int, nodes: IntArray) -> Scores:
        """50 to 100, 75 where the pod changes nothing."""
        rows, request, _ = self._weighed(resources)
        used = self._state.requested[rows, nodes]
        capacity = self._state.cluster.nodes.allocatable[rows, nodes]
        # Both at once: for a few nodes the number of operations is what counts.
        balance = _balance(
            np.concatenate((used, capped_sum(used, request)), axis=1), np.concatenate((capacity, capacity), axis=1)
        )
        before, after = balance[: len(nodes)], balance[len(nodes) :]
        half = MAX_SCORE // 2
        return (half + (half + after - before) // 2).astype(np.int16)

    def _improvement_at(self, resources: int, node: int) -> int | None:
        """That of one node, where it is about two resources."""
        rows, request = self._weighed(resources).in_lists
        if len(rows) != 2:
            return None
        requested, allocatable = self._state.requested, self._state.cluster.nodes.allocatable
        used = [requested.item(row, node) for row in rows]
        capacity = [allocatable.item(row, node) for row in rows]
        if min(used) < 0:
            return None
        before = _balance_of_two(used, capacity)
        after = _balance_of_two([min(each + more, LARGEST) for each, more in zip(used, request, strict=True)], capacity)
        half = MAX_SCORE // 2
        return half + (half + after - before) // 2

    def _asks(self, resources: int) -> bool:
        known = self._asking.get(resources)
        if known is None:
            known = self._asking[resources] = bool(self._state.request_vectors()[resources, self._rows].any())
        return known

    def _weighed(self, resources: int) -> _Weighed:
        known = self._known.get(resources)
        if known is None:
            request = self._state.request_vectors()[resources]
            rows = np.array([[row] for row in self._rows if row in self._always or request[row] > 0], dtype=np.int64)
            in_lists = rows.ravel().tolist(), request[rows].ravel().tolist()
            known = self._known[resources] = _Weighed(rows, request[rows], in_lists)
        return known


def _balance(used: npt.NDArray[np.int64], capacity: npt.NDArray[np.int64]) -> Scores:
    """How evenly resources are used, 0 to 100; resources that a node does not have do not count."""
    counted = capacity > 0
    fraction = np.minimum(1.0, used / np.maximum(capacity, 1))
    if len(fraction) == 2:
        deviation = np.where(counted[0] & counted[1], np.abs(fraction[0] - fraction[1]) / 2, 0.0)
    else:
        deviation = _deviation(fraction, counted)
    return ((1.0 - deviation) * MAX_SCORE).astype(np.int64)


def _balance_of_two(used: Sequence[int], capacity: Sequence[int]) -> int:
    """``_balance`` of one node with two resources, in Python's numbers; amounts are rounded as NumPy rounds them."""
    if min(capacity) <= 0:
        return MAX_SCORE
    one, other = [min(1.0, float(amount) / float(of)) for amount, of in zip(used, capacity, strict=True)]
    return int((1.0 - abs(one - other) / 2) * MAX_SCORE)


def _deviation(fraction: npt.NDArray[np.float64], counted: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    number = np.maximum(counted.sum(axis=0), 1)
    mean = np.where(counted, fraction, 0.0).sum(axis=0) / number
    squares = np.where(counted, (fraction - mean) ** 2, 0.0).sum(axis=0)
    # Two fractions have half their difference, which the root need not hit to the last bit.
    highest = np.where(counted, fraction, 0.0).max(axis=0, initial=0.0)
    lowest = np.where(counted, fraction, 1.0).min(axis=0, initial=1.0)
    return np.select([number < 2, number == 2], [0.0, (highest - lowest) / 2], np.sqrt(squares / number))


PLUGIN = SchedulerPlugin(
    NAME,
    ("preScore", "score"),
    lambda context, args: BalancedAllocation(context, tuple(each.name for each in args.resources)),
    args=NodeResourcesBalancedAllocationArgs,
    check=check,
    with_defaults=lambda args: structs.replace(args, resources=weighted(args.resources)),
)
