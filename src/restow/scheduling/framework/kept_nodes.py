"""What nominated pods would take of the nodes that are kept for them.

Where only resources are at stake, a node with the pods that it is kept for is a node with so much less room, and that is
arithmetic. Verdicts with that in mind are kept by node too: they hold until a pod comes or goes, or a nomination does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restow.cluster.amounts import capped_sum
from restow.cluster.interning import IntArray
from restow.cluster.snapshot import Cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.nominations import Nominations

Amounts = npt.NDArray[np.int64]


class KeptNodes:
    """One state with its nominations, as one log of changes."""

    def __init__(self, state: ClusterState, nominations: Nominations) -> None:
        self._state = state
        self._nominations = nominations
        self._read, self._born = len(state.changes), len(state.births)
        self._heard = len(nominations.events)
        self._nodes: list[int] = []
        state.before_rewriting.append(lambda: len(self.changes))

    @property
    def cluster(self) -> Cluster:
        """The cluster that it is about."""
        return self._state.cluster

    @property
    def changes(self) -> list[int]:
        """The node of every change, oldest first; a nominated pod that is placed changes the node that was kept for it."""
        changes, births, events = self._state.changes, self._state.births, self._nominations.events
        if self._read != len(changes):
            for change in changes[self._read :]:
                self._nodes.append(change.node)
                self._note(change.pod)
            self._read = len(changes)
        for pod in births[self._born :]:
            self._note(pod)
        self._born = len(births)
        if self._heard != len(events):
            self._nodes += events[self._heard :]
            self._heard = len(events)
        return self._nodes

    def _note(self, pod: int) -> None:
        """A pod waits no longer, or waits again."""
        nominated = self._nominations.node(pod)
        if nominated >= 0:
            self._nodes.append(nominated)

    def changed_nodes(self, since: int) -> IntArray:
        """The nodes of all changes but the first ``since``, in order."""
        return np.array(sorted(set(self._nodes[since:])), dtype=np.int64)

    def with_nominated(self, priority: int, nodes: IntArray) -> tuple[IntArray, Amounts]:
        """How many pods run on some nodes, and what they request, with the pods that one of a priority must let in."""
        running, requested = self._state.running[nodes], self._state.requested[:, nodes]
        kept = self._nominations.by_node
        if kept:
            for position, node in enumerate(nodes.tolist()):
                for other in self._nominations.kept_for(node, priority) if node in kept else ():
                    running[position] += 1
                    requested[:, position] = capped_sum(requested[:, position], self._state.held_by(other))
        return running, requested
