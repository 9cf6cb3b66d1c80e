"""Which pods are on which node: those that were there at first in one array, those that came later by node."""

from __future__ import annotations

import numpy as np

from restow.cluster.interning import BoolArray, IdArray, IntArray
from restow.cluster.pods import Pods


class Residents:
    """The pods on each of so many nodes."""

    def __init__(self, pods: Pods, count: int) -> None:
        order = pods.where(np.ones(len(pods), dtype=bool))
        order = order[np.argsort(pods.node[order], kind="stable")]
        #: The pods that were there at first, by node, and where each node's begin.
        self._settled = order[np.searchsorted(pods.node[order], 0) :]
        self._first = np.searchsorted(pods.node[self._settled], np.arange(count + 1))
        #: Where each pod was at first.
        self._home: IdArray = pods.node
        #: The pods that came later, by node.
        self.arrived: dict[int, list[int]] = {}

    def copied(self) -> Residents:
        """The same pods, for another state."""
        other = Residents.__new__(Residents)
        other._settled, other._first, other._home = self._settled, self._first, self._home  # noqa: SLF001
        other.arrived = {node: list(pods) for node, pods in self.arrived.items()}
        return other

    def on(self, node: int, exists: BoolArray, now: IdArray) -> tuple[IntArray, bool]:
        """The pods on a node, and whether all of them have been there from the beginning; ``now`` is where pods are."""
        settled = self._settled[self._first[node] : self._first[node + 1]]
        settled = settled[exists[settled] & (now[settled] == node)]
        arrived = self.arrived.get(node)
        return (np.concatenate((settled, arrived)), False) if arrived else (settled, True)

    def enter(self, pod: int, node: int) -> None:
        """A pod has come."""
        if pod >= len(self._home) or self._home[pod] != node:
            self.arrived.setdefault(node, []).append(pod)
