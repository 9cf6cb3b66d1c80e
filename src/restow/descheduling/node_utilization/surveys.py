"""The usage of all nodes against what they can hold, as a strategy sees it before it moves anything.

Most of it is as it was in the round before, and in the plan before: what follows from the usage of a node is worked out
again only where that has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from restow.cluster.interning import BoolArray
from restow.cluster.nodes import Nodes
from restow.cluster.state import ClusterState
from restow.descheduling.framework import View
from restow.descheduling.node_utilization.thresholds import is_above, is_below
from restow.descheduling.node_utilization.usage import Capacities, Percentages, Usage, ceilings, percentages, total
from restow.usage.measured import Amounts


@dataclass(slots=True)
class NodeFigures:
    """What follows from the usage of one node."""

    used: Amounts
    capacity: Amounts
    load: Percentages
    #: What nodes are ordered by.
    total: int
    #: The usage that the node may reach by some thresholds, those that were asked for last.
    _ceilings: tuple[Percentages, Amounts] | None = field(default=None, init=False)
    #: Whether the node is below some thresholds and above others, those that were asked for last.
    _standing: tuple[Percentages, Percentages, tuple[bool, bool]] | None = field(default=None, init=False)

    @staticmethod
    def of(used: Amounts, capacity: Amounts) -> NodeFigures:
        """The figures of a node with this usage."""
        return NodeFigures(used, capacity, percentages(used, capacity), total(used))

    def ceilings(self, thresholds: Percentages) -> Amounts:
        """The usage that the node may reach, of each resource whose usage is known."""
        if self._ceilings is None or self._ceilings[0] is not thresholds:
            self._ceilings = thresholds, ceilings(self.capacity, thresholds, self.used)
        return self._ceilings[1]

    def standing(self, low: Percentages, high: Percentages) -> tuple[bool, bool]:
        """Whether every resource is at or below the low thresholds, and whether some is above the high ones."""
        known = self._standing
        if known is None or known[0] is not low or known[1] is not high:
            known = self._standing = low, high, (is_below(self.load, low), is_above(self.load, high))
        return known[2]


class KnownFigures:
    """The figures of the nodes of a state, as they were found last."""

    def __init__(self, _state: ClusterState) -> None:
        self._known: dict[int, NodeFigures] = {}

    def of(self, by_node: Mapping[int, Amounts], capacities: Mapping[int, Amounts]) -> dict[int, NodeFigures]:
        """Those of nodes with this usage, by index."""
        known = self._known
        for node, used in by_node.items():
            figures, capacity = known.get(node), capacities[node]
            if figures is None or figures.used is not used or figures.capacity is not capacity:
                known[node] = NodeFigures.of(used, capacity)
        return {node: known[node] for node in by_node}


class Survey(Struct, frozen=True):
    """Usage against capacity; the mappings are by node index, in canonical order."""

    nodes: Nodes
    #: Lowered as pods go; all else stays as it was at the start.
    usage: Usage
    capacities: Mapping[int, Amounts]
    figures: Mapping[int, NodeFigures]
    #: Which nodes may be given pods, bool[node].
    is_open: BoolArray

    @staticmethod
    def of(view: View, usage: Usage) -> Survey:
        """The survey of the nodes whose usage is known."""
        nodes = view.state.cluster.nodes
        held = view.once(Capacities).of(usage.by_node)
        figures = view.once(KnownFigures).of(usage.by_node, held)
        return Survey(nodes, usage, held, figures, ~nodes.unschedulable & ~view.closed)

    def loads(self) -> dict[int, Percentages]:
        """How full the nodes are."""
        return {node: each.load for node, each in self.figures.items()}

    def ceilings(self, chosen: Iterable[int], thresholds: Percentages) -> dict[int, Amounts]:
        """The usage that each of these nodes may reach."""
        return {node: self.figures[node].ceilings(thresholds) for node in chosen}

    def emptiest_first(self, chosen: Iterable[int]) -> list[int]:
        """These nodes by their total usage at the start; ties in canonical order."""
        return sorted(chosen, key=lambda node: self.figures[node].total)

    def fullest_first(self, chosen: Iterable[int]) -> list[int]:
        """These nodes by their total usage at the start, the highest first; ties in canonical order."""
        return sorted(chosen, key=lambda node: -self.figures[node].total)

    def extremes(self, low: Percentages, high: Percentages) -> tuple[list[int], list[int]]:
        """The nodes at or below the low thresholds that may be given pods, and of the others those above the high ones."""
        under, over = [], []
        is_open = self.is_open.tolist()
        for node, figures in self.figures.items():
            is_under, is_over = figures.standing(low, high)
            if is_under and is_open[node]:
                under.append(node)
            elif is_over:
                over.append(node)
        return under, over
