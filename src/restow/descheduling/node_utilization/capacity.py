"""How full a node is: what it can hold, percentages of that, and the amount that a percentage stands for.

Amounts are exact integers in nano-units. Percentages are floats, computed from milli-CPUs and whole units in the order
of operations that upstream uses, because a node exactly at a threshold must fall on the same side of it. Source:
Descheduler 0.36, plugins/nodeutilization.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from restow.cluster.nodes import Nodes
from restow.cluster.usage import Amounts
from restow.cluster.usage_changes import UsageChange
from restow.descheduling.framework import View
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT

#: The only resource that goes with Prometheus: the query's result, of which every node has 100.
METRIC_RESOURCE = "MetricResource"

#: Resource name to percent of capacity.
Percentages = dict[str, float]

#: Which share of a change the figure of its node does not show yet, 0 to 1.
ShareUnseen = Callable[[UsageChange], float]

#: Never measured: how many pods there are is known at any time.
_COUNTED: Final = "pods"


def step(resource: str) -> int:
    """The smallest amount that counts in percentages, in nano-units: 1m of CPU, 1 of anything else."""
    return NANO_PER_MILLI if resource == "cpu" else NANO_PER_UNIT


def steps(resource: str, nano: int) -> int:
    """An amount in whole steps, rounded up."""
    return -(-nano // step(resource))


def capacity_of(nodes: Nodes, node: int) -> Amounts:
    """What a node can hold: its allocatable, or its capacity where allocatable is empty."""
    listed, amounts = nodes.lists_allocatable[:, node], nodes.allocatable[:, node]
    if not listed.any():
        listed, amounts = nodes.lists_capacity[:, node], nodes.capacity[:, node]
    held = zip(nodes.resources, listed.tolist(), amounts.tolist(), strict=True)
    capacity = {name: amount * step(name) for name, is_listed, amount in held if is_listed}
    capacity[METRIC_RESOURCE] = 100 * NANO_PER_UNIT
    return capacity


def percentages(usage: Amounts, capacity: Amounts) -> Percentages:
    """Usage in percent of capacity; a resource that the node does not have is left out, an empty one is 0 %."""
    return {name: _percentage(name, used, capacity[name]) for name, used in usage.items() if name in capacity}


def _percentage(resource: str, used: int, capacity: int) -> float:
    total = steps(resource, capacity)
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
    """Count pods that have left or come since the figures of nodes were taken, as far as those do not show it."""
    cluster = view.state.cluster
    if not cluster.usage_changes:
        return
    numbers = {cluster.nodes.names[node]: node for node in by_node}
    for change in cluster.usage_changes:
        amounts = by_node.get(numbers.get(change.node, -1), {})
        for name in amounts.keys() & change.amounts.keys() - {_COUNTED}:
            amounts[name] = max(0, amounts[name] + round(change.amounts[name] * share_unseen(change)))
