"""What a node has left beside a pod that wants to come, in numbers: AddPod and RemovePod of NodeResourcesFit."""

from __future__ import annotations

from collections.abc import Sequence

from restow.cluster.interning import IntArray
from restow.cluster.nodes import PODS
from restow.cluster.state import ClusterState


class ResourceRoom:
    """What is free of some resources and of pod slots on one node, which some pods leave and come back to."""

    def __init__(self, state: ClusterState, rows: list[int], pod: int, node: int, usage: tuple[int, IntArray]) -> None:
        """``rows`` are the resources that count; ``usage`` is how many pods are on the node, and what they request."""
        running, requested = usage
        self._state = state
        self._rows = rows
        offered, wanted = state.cluster.nodes.allocatable[:, node], state.requests_of(pod)
        # Python's integers: what is free may lie beyond int64 on the way.
        amounts = (each[self._rows].tolist() for each in (offered, requested, wanted))
        self._free: list[int] = [has - taken - more for has, taken, more in zip(*amounts, strict=True)]
        self._slots = int(state.cluster.nodes.allocatable[PODS, node]) - running - 1

    def reprieve(self, pods: Sequence[int]) -> list[bool]:
        """Which of the potential victims have to go where nothing else is at stake; none if that does not help."""
        for pod in pods:
            self.remove_pod(pod)
        helps = self._slots >= 0 and min(self._free, default=0) >= 0
        return [helps and not self.add_pod(pod) for pod in pods]

    def remove_pod(self, pod: int) -> None:
        """A pod goes."""
        self._free = [free + amount for free, amount in zip(self._free, self._held(pod), strict=True)]
        self._slots += 1

    def add_pod(self, pod: int) -> bool:
        """A pod comes back if there is room for it."""
        left = [free - amount for free, amount in zip(self._free, self._held(pod), strict=True)]
        if self._slots <= 0 or any(amount < 0 for amount in left):
            return False
        self._free = left
        self._slots -= 1
        return True

    def _held(self, pod: int) -> list[int]:
        held: list[int] = self._state.held_by(pod)[self._rows].tolist()
        return held
