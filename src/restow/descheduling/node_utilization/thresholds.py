"""Thresholds, absolute or around the mean, and the classes of nodes that follow from them.

Source: Descheduler 0.36, plugins/nodeutilization with its classifier and normalizer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

from restow.descheduling.framework import NodeClass
from restow.descheduling.node_utilization.capacity import Percentages

#: Whether a node (by index) with this load belongs to the class with this limit.
Rule = Callable[[int, Percentages, Percentages], bool]


def mean(loads: Iterable[Percentages]) -> Percentages:
    """The mean of each resource over the loads that have it, summed in their order."""
    sums: Percentages = {}
    counts: dict[str, int] = {}
    for load in loads:
        for resource, percentage in load.items():
            # Not sum(): since Python 3.12 it compensates for rounding, and upstream does not.
            sums[resource] = sums.get(resource, 0.0) + percentage
            counts[resource] = counts.get(resource, 0) + 1
    return {resource: added / counts[resource] for resource, added in sums.items()}


def around(
    centre: Percentages, below: Mapping[str, float], above: Mapping[str, float]
) -> tuple[Percentages, Percentages]:
    """The thresholds this far below and above a centre, cut to 0 and 100. Resources without a centre are left out."""
    low = {resource: _clamp(middle - below.get(resource, 0.0)) for resource, middle in centre.items()}
    high = {resource: _clamp(middle + above.get(resource, 0.0)) for resource, middle in centre.items()}
    return low, high


def _clamp(percentage: float) -> float:
    return min(max(percentage, 0.0), 100.0)


def is_below(load: Percentages, limit: Percentages) -> bool:
    """Whether every resource is at or below its limit. A resource that a node lacks counts as 0."""
    return all(load.get(resource, 0.0) <= bound for resource, bound in limit.items())


def is_above(load: Percentages, limit: Percentages) -> bool:
    """Whether some resource is above its limit."""
    return any(load.get(resource, 0.0) > bound for resource, bound in limit.items())


def classify(loads: Mapping[int, Percentages], limits: Sequence[Percentages], rules: Sequence[Rule]) -> list[list[int]]:
    """The nodes of each class, in the order of ``loads``: a node belongs to the first class whose rule holds.

    The n-th rule gets the n-th limit; a rule without a limit holds for no node.
    """
    classes: list[list[int]] = [[] for _ in rules]
    for node, load in loads.items():
        for members, limit, rule in zip(classes, limits, rules, strict=False):
            if rule(node, load, limit):
                members.append(node)
                break
    return classes


def node_classes(
    loads: Mapping[int, Percentages],
    *,
    under: Collection[int],
    over: Collection[int],
    low: Percentages,
    high: Percentages,
) -> dict[int, NodeClass]:
    """The class of each node with its figures of the resources with a threshold; ``gives`` is False for all of them."""
    names: dict[int, Literal["over", "under"]] = {**dict.fromkeys(under, "under"), **dict.fromkeys(over, "over")}
    return {
        node: NodeClass(names.get(node, "between"), False, {name: load.get(name, 0.0) for name in low}, low, high)
        for node, load in loads.items()
    }


def criteria(limits: Mapping[str, float]) -> str:
    """Thresholds for people: ``cpu 20 %, memory 20 %``."""
    return ", ".join(f"{resource} {limit:g} %" for resource, limit in sorted(limits.items()))


def why_idle(under: int, nodes: int, number_of_nodes: int, threshold: str) -> str | None:
    """Why there is nothing to balance, in upstream's words with the figures; None if there may be."""
    if under == 0:
        advice = "you might tune your thresholds further"
        return f"No node is underutilized, nothing to do here, {advice} (threshold: {threshold})"
    if under <= number_of_nodes:
        text = "Number of nodes underutilized is less or equal than NumberOfNodes, nothing to do here"
        return f"{text} ({under} of {nodes} at or below {threshold}, numberOfNodes {number_of_nodes})"
    if under == nodes:
        return f"All nodes are underutilized, nothing to do here (threshold: {threshold})"
    return None
