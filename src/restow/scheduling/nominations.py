"""Nominations: nodes that are kept for pods which preempted others there and wait for them to leave.

A nominated pod that waits in the queue counts on its node for pods that are not more important than it, until it is
placed or another pod takes over its node. Source: the scheduling queue's nominator, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.scheduling.queue import waiting_pods


class Nominations:
    """Which waiting pod is nominated for which node of one state."""

    def __init__(self, state: ClusterState, schedulers: frozenset[str]) -> None:
        self._state = state
        self._priority = state.cluster.pods.priority
        self._node: dict[int, int] = {}
        self._pods: dict[int, set[int]] = defaultdict(set)
        nominated = state.cluster.pods.nominated
        if np.any(nominated >= 0):
            for pod in waiting_pods(state, schedulers).pods:
                if nominated[pod] >= 0:
                    self._add(pod, int(nominated[pod]))

    def __bool__(self) -> bool:
        return bool(self._node)

    def node(self, pod: int) -> int:
        """The node that a pod is nominated for, or PENDING."""
        return self._node.get(pod, PENDING)

    def ahead_of(self, pod: int, node: int) -> list[int]:
        """The other waiting pods that a node is kept for and that are at least as important as a pod."""
        return [
            other
            for other in sorted(self._pods.get(node, ()))
            if other != pod and self._priority[other] >= self._priority[pod] and self._waits(other)
        ]

    def nodes(self) -> list[int]:
        """The nodes that are kept for someone."""
        return sorted(node for node, pods in self._pods.items() if pods)

    def give(self, pod: int, node: int) -> None:
        """Keep a node for a pod that preempts there; less important pods lose their nomination for it."""
        self.drop(pod)
        for other in list(self._pods[node]):
            if self._priority[other] < self._priority[pod]:
                self.drop(other)
        self._add(pod, node)

    def drop(self, pod: int) -> None:
        """Keep no node for a pod any longer."""
        node = self._node.pop(pod, PENDING)
        if node >= 0:
            self._pods[node].discard(pod)

    def _add(self, pod: int, node: int) -> None:
        self._node[pod] = node
        self._pods[node].add(pod)

    def _waits(self, pod: int) -> bool:
        return bool(self._state.exists[pod]) and int(self._state.node[pod]) == PENDING
