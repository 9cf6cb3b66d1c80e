"""How full each listed node is before anything moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from restow.cluster.nodes import Nodes
from restow.cluster.usage import Amounts
from restow.descheduling.framework import View
from restow.descheduling.node_utilization.capacity import Percentages, capacity_of, ceilings, percentages, total
from restow.descheduling.node_utilization.usage import Usage


@dataclass(slots=True, frozen=True)
class Survey:
    """Usage against capacity; the mappings are by node index, in canonical order."""

    nodes: Nodes
    #: Lowered as pods go; all else stays as it was at the start.
    usage: Usage
    capacities: Mapping[int, Amounts]
    loads: Mapping[int, Percentages]

    @staticmethod
    def of(view: View, usage: Usage) -> Survey:
        """The survey of the nodes whose usage is known."""
        nodes = view.state.cluster.nodes
        capacities = {node: capacity_of(nodes, node) for node in usage.by_node}
        loads = {node: percentages(used, capacities[node]) for node, used in usage.by_node.items()}
        return Survey(nodes, usage, capacities, loads)

    def ceilings(self, chosen: Iterable[int], thresholds: Mapping[str, float]) -> dict[int, Amounts]:
        """The usage that each of these nodes may reach."""
        return {node: ceilings(self.capacities[node], thresholds, self.usage.names) for node in chosen}

    def emptiest_first(self, chosen: Iterable[int]) -> list[int]:
        """These nodes by their total usage; ties in canonical order."""
        return sorted(chosen, key=lambda node: total(self.usage.by_node[node]))

    def fullest_first(self, chosen: Iterable[int]) -> list[int]:
        """The same, from the other end; ties again in canonical order."""
        return sorted(chosen, key=lambda node: -total(self.usage.by_node[node]))
