"""Topology domains: the nodes that share a value of one label.

Pods are counted by domain (``scheduling.framework.pod_counts``), and one look-up takes the counts to the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NO_LABEL, NodePart, Nodes

#: The domain of nodes that are in none.
NO_DOMAIN = 0


@dataclass(frozen=True, eq=False)
class Domains:
    """A division of the nodes into domains 1, 2...; NO_DOMAIN is for the rest. Only ever equal to itself."""

    #: int64[node].
    of_node: IntArray
    #: One more than the highest domain.
    count: int

    @cached_property
    def listed(self) -> list[int]:
        """The domain of each node, to be looked up one by one."""
        listed: list[int] = self.of_node.tolist()
        return listed

    def totals(self, per_node: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Sum over the nodes of each domain, int64[domain]; 0 for NO_DOMAIN."""
        # The sums are made in float64, which is exact below 2**53.
        totals = np.bincount(self.of_node, weights=per_node, minlength=self.count).astype(np.int64)
        totals[NO_DOMAIN] = 0
        return totals

    def only(self, nodes: BoolArray) -> Domains:
        """These domains with only some of the nodes."""
        return self if nodes.all() else Domains(np.where(nodes, self.of_node, NO_DOMAIN), self.count)

    def existing(self) -> IntArray:
        """The domains that have a node."""
        return np.setdiff1d(self.of_node, NO_DOMAIN)


class Topologies:
    """The domains of every topology key of one cluster."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._domains: dict[str, Domains] = {}
        self._complete: dict[str, Domains] = {}
        nodes.follow(NodePart.POSITION | NodePart.ASKED_LABELS, self._forget)

    @cached_property
    def nodes(self) -> Domains:
        """One domain per node, ignoring labels: node i is domain i + 1."""
        count = len(self._nodes) + 1
        return Domains(np.arange(1, count), count)

    def domains(self, key: str) -> Domains:
        """Nodes by the value of a label; those without it are in no domain."""
        known = self._domains.get(key)
        if known is None:
            column = self._nodes.label_column(key)
            known = self._domains[key] = Domains(column.codes.astype(np.int64) + 1, len(column.values) + 1)
        return known

    def _forget(self) -> None:
        self._domains, self._complete = {}, {}
        self.__dict__.pop("nodes", None)

    def complete(self, key: str) -> Domains:
        """Domains by a label; a node without it counts as one with an empty value."""
        known = self._complete.get(key)
        if known is None:
            column = self._nodes.label_column(key)
            codes = np.where(column.codes == NO_LABEL, column.code(""), column.codes)
            known = self._complete[key] = Domains(codes.astype(np.int64) + 1, len(column.values) + 2)
        return known
