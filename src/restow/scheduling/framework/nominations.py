"""Nominations: nodes that are kept for pods which preempted others there and wait for them to leave.

A nominated pod that waits in the queue counts on its node for pods that are not more important than it, until it is
placed or another pod takes over its node. Source: the scheduling queue's nominator, Kubernetes 1.36.
"""

from __future__ import annotations

import numpy as np

from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.scheduling.framework.queue import waiting_pods


class Nominations:
    """Which waiting pod is nominated for which node of one state."""

    def __init__(
        self, state: ClusterState, schedulers: frozenset[str], ignores_gates: frozenset[str] = frozenset()
    ) -> None:
        self._state = state
        self._pods = state.cluster.pods
        self._node: dict[int, int] = {}
        #: The pods that each node is kept for.
        self.by_node: dict[int, set[int]] = {}
        #: The node of every nomination that came or went, oldest first.
        self.events: list[int] = []
        state.before_rewriting.append(self._drop_those_gone)
        nominated = state.cluster.pods.nominated
        if np.any(nominated >= 0):
            for pod in waiting_pods(state, schedulers, ignores_gates).pods:
                if nominated[pod] >= 0:
                    self._add(pod, int(nominated[pod]))

    def __bool__(self) -> bool:
        return bool(self._node)

    def node(self, pod: int) -> int:
        """The node that a pod is nominated for, or PENDING."""
        return self._node.get(pod, PENDING)

    def ahead_of(self, pod: int, node: int) -> list[int]:
        """The other waiting pods that a node is kept for and that are at least as important as a pod."""
        return [other for other in self.kept_for(node, int(self._pods.priority[pod])) if other != pod]

    def kept_for(self, node: int, priority: int) -> list[int]:
        """The waiting pods of at least this priority that a node is kept for."""
        pods = sorted(self.by_node.get(node, ()), key=self._pods.rank.__getitem__)
        return [pod for pod in pods if self._pods.priority[pod] >= priority and self._waits(pod)]

    def nodes(self) -> list[int]:
        """The nodes that are kept for someone."""
        return sorted(self.by_node)

    def give(self, pod: int, node: int) -> None:
        """Keep a node for a pod that preempts there; less important pods lose their nomination for it."""
        self.drop(pod)
        for other in list(self.by_node.get(node, ())):
            if self._pods.priority[other] < self._pods.priority[pod]:
                self.drop(other)
        self._add(pod, node)

    def drop(self, pod: int) -> None:
        """Keep no node for a pod any longer."""
        node = self._node.pop(pod, PENDING)
        if node >= 0:
            self.by_node[node].discard(pod)
            if not self.by_node[node]:
                del self.by_node[node]
            self.events.append(node)

    def _add(self, pod: int, node: int) -> None:
        self._node[pod] = node
        self.by_node.setdefault(node, set()).add(pod)
        self.events.append(node)

    def _drop_those_gone(self) -> None:
        for pod in [each for each in self._node if not self._state.exists[each]]:
            self.drop(pod)

    def _waits(self, pod: int) -> bool:
        return bool(self._state.exists[pod]) and int(self._state.node[pod]) == PENDING
