"""How full nodes are: percentages against thresholds before anything moves, and headroom up to ceilings while pods move.

Thresholds are absolute or around the mean (``useDeviationThresholds``). A node is underutilised if it is at or below every
low threshold, overutilised if it is above some target. Some thresholds can never trigger, which lint says. Source:
Descheduler 0.36, plugins/nodeutilization with its classifier and normalizer.

While pods move, amounts are compared in nano-units, which for memory exceed 64 bits. So each is kept in two parts, whole
units and billionths of a unit, and the parts are compared one after the other: thousands of nodes take a few array
operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import nan
from typing import Literal

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.descheduling.framework import NodeClass
from restow.descheduling.node_utilization.usage import Percentages, Usage
from restow.documents.findings import Issue
from restow.kube.excerpts import did_you_mean, excerpt
from restow.kube.quantity import NANO_PER_UNIT
from restow.scheduling.framework.caches import PerNode
from restow.usage.measured import Amounts

#: Whether a node (by index) with this load belongs to the class with this limit.
Rule = Callable[[int, Percentages, Percentages], bool]

#: Requests never exceed this many percent of a node.
FULL = 100
_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage", "MetricResource")
#: One figure a node.
Figures = npt.NDArray[np.float64]
#: For how many different pods the result for all nodes is kept.
_CAPACITY = 256
#: Up to this many nodes are faster one by one.
_FEW = 4
#: More units than a node has of any resource.
_PLENTY = 1 << 62


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
    for resource, bound in limit.items():  # noqa: SIM110 - a generator would cost half of the time
        if load.get(resource, 0.0) > bound:
            return False
    return True


def is_above(load: Percentages, limit: Percentages) -> bool:
    """Whether some resource is above its limit."""
    for resource, bound in limit.items():  # noqa: SIM110 - a generator would cost half of the time
        if load.get(resource, 0.0) > bound:
            return True
    return False


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


def lint_values(key: str, thresholds: Mapping[str, float]) -> Iterator[Issue]:
    """Yield shares that are meant as percentages, and resources that Kubernetes does not know."""
    for resource, value in thresholds.items():
        if 0 < value <= 1:
            text = f"{key}.{resource} {value:g} is {value:g} %, not {value * 100:g} %: thresholds are percentages"
            yield Issue((key, resource), text, "warning")
        if resource not in _RESOURCES and "/" not in resource and not resource.startswith("hugepages-"):
            text = f'"{excerpt(resource)}" is no resource that Kubernetes knows'
            yield Issue((key, resource), text, "warning", did_you_mean(resource, _RESOURCES))


def lint_number_of_nodes(number: int) -> Iterator[Issue]:
    """Yield a ``numberOfNodes`` below 0."""
    if number < 0:
        yield Issue(("numberOfNodes",), "a negative number of nodes is the same as 0", "note")


def lint_all_under(thresholds: Mapping[str, float]) -> Iterator[Issue]:
    """Yield thresholds that no node exceeds."""
    if all(value >= FULL for value in thresholds.values()):
        text = "thresholds of 100: every node is underutilised, and then nothing is evicted"
        yield Issue(("thresholds",), text, "warning")


class Headroom:
    """What some nodes can take until they reach their ceilings, as usage changes. All other nodes take nothing."""

    def __init__(self, usage: Usage, ceilings: Mapping[int, Amounts], nodes: int) -> None:
        self._usage = usage
        self._ceilings = ceilings
        #: How many changes are known; None before all nodes were measured.
        self._read: int | None = None
        self._whole = np.full((len(usage.names), nodes), -_PLENTY)
        self._rest = np.zeros_like(self._whole)
        #: By what a pod uses.
        self._fits = PerNode(usage, nodes, self._compare, _CAPACITY)

    def takes(self, used: Mapping[str, int] | None, nodes: IntArray) -> BoolArray:
        """Which of some nodes stay at or below their ceilings with one more pod; None if the pod's usage is not known."""
        fits: BoolArray = self._fits.at(_amounts(used, self._usage.names), nodes)
        return fits

    def _compare(self, more: tuple[int, ...], nodes: IntArray) -> BoolArray:
        if len(nodes) <= _FEW:
            return np.array([self._fits_on(node, more) for node in nodes.tolist()], dtype=bool)
        self._measure(self._ceilings if self._read is None else self._usage.changes[self._read :])
        self._read = len(self._usage.changes)
        whole, rest = (part[:, None] for part in _parts(more))
        left, beyond = self._whole[:, nodes], self._rest[:, nodes]
        fits: BoolArray = ((left > whole) | (left == whole) & (beyond >= rest)).all(axis=0)
        return fits

    def _fits_on(self, node: int, more: tuple[int, ...]) -> bool:
        ceiling = self._ceilings.get(node)
        if ceiling is None:
            return False
        used = self._usage.by_node[node]
        for name, added in zip(self._usage.names, more, strict=True):  # noqa: SIM110 - a generator takes twice the time
            if used[name] + added > ceiling[name]:
                return False
        return True

    def _measure(self, nodes: Iterable[int]) -> None:
        for node in set(nodes):
            used, ceiling = self._usage.by_node[node], self._ceilings[node]
            self._whole[:, node], self._rest[:, node] = _parts(
                [ceiling[name] - used[name] for name in self._usage.names]
            )


class Fullness:
    """How full nodes are, as usage changes: the largest share that is used of the capacity of any resource.

    ``names`` are the resources that count. A node whose usage is not known is neither fuller nor emptier than another, and
    is chosen last.
    """

    def __init__(self, usage: Usage, capacities: Mapping[int, Amounts], names: Iterable[str], nodes: int) -> None:
        self._usage = usage
        self._capacities = capacities
        self._names = tuple(names)
        #: How many changes are known; None before all nodes were measured.
        self._read: int | None = None
        self._capacity = np.full((len(self._names), nodes), np.nan)
        self._used = np.full_like(self._capacity, np.nan)
        #: By what a pod uses.
        self._shares = PerNode(usage, nodes, self._share, _CAPACITY)
        self._emptiest = PerNode(usage, nodes, lambda *asked: _unknown_last(self._share(*asked)), _CAPACITY)
        self._fullest = PerNode(usage, nodes, lambda *asked: _unknown_last(-self._share(*asked)), _CAPACITY)

    def fuller(self, than: int, nodes: IntArray) -> BoolArray:
        """Which of some nodes are fuller than a given node."""
        shares = self._shares.of(_amounts(None, self._names))
        fuller: BoolArray = shares[nodes] > shares[than]
        return fuller

    def emptier(self, than: int, nodes: IntArray) -> BoolArray:
        """Which of some nodes are emptier than a given node."""
        shares = self._shares.of(_amounts(None, self._names))
        emptier: BoolArray = shares[nodes] < shares[than]
        return emptier

    def emptiest_with(self, used: Mapping[str, int] | None, nodes: IntArray) -> Figures:
        """The cost of one more pod on each of some nodes: the lowest for the emptiest."""
        figures: Figures = self._emptiest.at(_amounts(used, self._names), nodes)
        return figures

    def fullest_with(self, used: Mapping[str, int] | None, nodes: IntArray) -> Figures:
        """The cost of one more pod on each of some nodes: the lowest for the fullest."""
        figures: Figures = self._fullest.at(_amounts(used, self._names), nodes)
        return figures

    def _share(self, more: tuple[int, ...], nodes: IntArray) -> Figures:
        if len(nodes) <= _FEW:
            return np.array([self._share_of(node, more) for node in nodes.tolist()], dtype=float)
        self._catch_up()
        shares = (self._used[:, nodes] + np.array(more, dtype=float)[:, None]) / self._capacity[:, nodes]
        known = np.isfinite(shares)
        highest = np.where(known, shares, -np.inf).max(axis=0, initial=-np.inf)
        return np.where(known.any(axis=0), highest, np.nan)

    def _share_of(self, node: int, more: tuple[int, ...]) -> float:
        used, capacity = self._usage.by_node.get(node), self._capacities.get(node)
        if used is None or capacity is None:
            return nan
        # Floats as in the arrays, so that a node has the same share alone and among others.
        shares = [
            (float(used.get(name, 0)) + float(added)) / most
            for name, added in zip(self._names, more, strict=True)
            if (most := capacity.get(name, 0))
        ]
        return max(shares, default=nan)

    def _catch_up(self) -> None:
        if self._read is None:
            for node, capacity in self._capacities.items():
                self._capacity[:, node] = [capacity.get(name, 0) or np.nan for name in self._names]
        for node in self._usage.by_node if self._read is None else set(self._usage.changes[self._read :]):
            self._used[:, node] = [self._usage.by_node[node].get(name, 0) for name in self._names]
        self._read = len(self._usage.changes)


def _amounts(used: Mapping[str, int] | None, names: tuple[str, ...]) -> tuple[int, ...]:
    """What a pod uses of some resources; nothing if that is not known."""
    return (0,) * len(names) if used is None else tuple([used[name] for name in names])


def _unknown_last(figures: Figures) -> Figures:
    """Replace unknown figures by the highest possible."""
    known_first: Figures = np.fmin(figures, np.inf)
    return known_first


def _parts(amounts: Sequence[int]) -> tuple[IntArray, IntArray]:
    """The two parts of an amount: whole units, capped at 64 bits, and billionths."""
    parts = [divmod(amount, NANO_PER_UNIT) for amount in amounts]
    whole = [max(-_PLENTY, min(each, _PLENTY)) for each, _ in parts]
    return np.array(whole, dtype=np.int64), np.array([each for _, each in parts], dtype=np.int64)
