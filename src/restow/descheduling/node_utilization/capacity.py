"""How full a node is: what it can hold, percentages of that, and the amount that a percentage stands for.

Amounts are exact integers in nano-units. Percentages are floats, computed from milli-CPUs and whole units in the order
of operations that upstream uses, because a node exactly at a threshold must fall on the same side of it. Source:
Descheduler 0.36, plugins/nodeutilization.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from restow.cluster.nodes import Nodes
from restow.cluster.usage import Amounts
from restow.cluster.usage_changes import UsageChange
from restow.descheduling.framework import View
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT

#: The only resource with Prometheus: the result of the query, of which every node has 100.
METRIC_RESOURCE = "MetricResource"

#: Resource name to percent of capacity.
Percentages = dict[str, float]

#: The share of a change that the figure of its node does not include yet, 0 to 1.
ShareUnseen = Callable[[UsageChange], float]

#: It is never measured: the number of pods is always known.
_COUNTED: Final = "pods"


def step(resource: str) -> int:
    """The smallest amount that counts in percentages, in nano-units: 1m of CPU, 1 of anything else."""
    return NANO_PER_MILLI if resource == "cpu" else NANO_PER_UNIT


def steps(resource: str, nano: int) -> int:
    """An amount in whole steps, rounded up."""
    return -(-nano // step(resource))


def capacities(nodes: Nodes, chosen: Iterable[int]) -> dict[int, Amounts]:
    """What each of these nodes can hold: its allocatable, or its capacity where allocatable is empty."""
    at = np.fromiter(chosen, dtype=np.int64)
    listed, amounts = nodes.lists_allocatable[:, at], nodes.allocatable[:, at]
    lists_any = listed.any(axis=0)
    listed = np.where(lists_any, listed, nodes.lists_capacity[:, at])
    amounts = np.where(lists_any, amounts, nodes.capacity[:, at])
    resources = [(name, step(name)) for name in nodes.resources]
    return {
        node: _capacity(resources, *of_node)
        for node, *of_node in zip(at.tolist(), listed.T.tolist(), amounts.T.tolist(), strict=True)
    }


def _capacity(resources: Sequence[tuple[str, int]], listed: Sequence[bool], amounts: Sequence[int]) -> Amounts:
    """What one node can hold of the resources that it lists, each with its step."""
    held = zip(resources, listed, amounts, strict=True)
    capacity = {name: amount * size for (name, size), is_listed, amount in held if is_listed}
    capacity[METRIC_RESOURCE] = 100 * NANO_PER_UNIT
    return capacity


def percentages(usage: Amounts, capacity: Amounts) -> Percentages:
    """Usage in percent of capacity; a resource that the node does not have is left out, an empty one is 0 %."""
    return {name: percentage(name, used, capacity) for name, used in usage.items() if name in capacity}


def percentage(resource: str, used: int, capacity: Amounts) -> float:
    """Usage of one resource in percent of capacity; 0 if that is empty, or if the node does not have the resource."""
    total = steps(resource, capacity.get(resource, 0))
    return steps(resource, used) / total * 100 if total > 0 else 0.0


def ceilings(capacity: Amounts, thresholds: Mapping[str, float], names: Iterable[str]) -> Amounts:
    """The usage that each resource may reach: its threshold, cut to a whole step, or all of its capacity."""
    return {name: _ceiling(name, capacity.get(name, 0), thresholds.get(name)) for name in names}


def _ceiling(resource: str, capacity: int, threshold: float | None) -> int:
    if threshold is None:
        return capacity
    return int(threshold * 0.01 * steps(resource, capacity)) * step(resource)


def total(usage: Amounts) -> int:
    """What nodes are ordered by: milli-CPUs plus units of everything else, so that bytes decide."""
    return sum(steps(resource, used) for resource, used in usage.items())


def add_unseen(view: View, by_node: Mapping[int, Amounts], share_unseen: ShareUnseen) -> None:
    """Add pods that came since the nodes were measured, and subtract those that left, as far as the figures lack them."""
    cluster = view.state.cluster
    if not cluster.usage_changes:
        return
    numbers = {cluster.nodes.names[node]: node for node in by_node}
    for change in cluster.usage_changes:
        amounts = by_node.get(numbers.get(change.node, -1), {})
        for name in amounts.keys() & change.amounts.keys() - {_COUNTED}:
            amounts[name] = max(0, amounts[name] + round(change.amounts[name] * share_unseen(change)))
