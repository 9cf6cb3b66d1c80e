"""A dry run of preemption on one node, with the real filters on the real state, taken back afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from restow.cluster.interning import IntArray
from restow.cluster.journal import Change
from restow.cluster.nodes import PODS
from restow.cluster.state import ClusterState
from restow.scheduling.framework import PASSES
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit


class Room:
    """What a node without its potential victims has left beside the pod that wants to come."""

    def __init__(
        self, state: ClusterState, fit: NodeResourcesFit, pod: int, node: int, usage: tuple[int, IntArray]
    ) -> None:
        """``usage`` is how many pods are on the node, and what they request, int64[resource]."""
        running, requested = usage
        self._state = state
        self._rows = fit.filtered_rows(pod)
        offered, wanted = state.cluster.nodes.allocatable[:, node], state.requests_of(pod)
        # Python's integers: what is free may lie beyond int64 on the way.
        amounts = (each[self._rows].tolist() for each in (offered, requested, wanted))
        self._free: list[int] = [has - taken - more for has, taken, more in zip(*amounts, strict=True)]
        self._slots = int(state.cluster.nodes.allocatable[PODS, node]) - running - 1

    def reprieve(self, pods: Sequence[int]) -> list[bool]:
        """Which of the potential victims have to go where nothing else is at stake; none if that does not help."""
        for pod in pods:
            self.leave(pod)
        helps = self._slots >= 0 and min(self._free, default=0) >= 0
        return [helps and not self.enter(pod) for pod in pods]

    def leave(self, pod: int) -> None:
        """A pod goes."""
        self._free = [free + amount for free, amount in zip(self._free, self._held(pod), strict=True)]
        self._slots += 1

    def enter(self, pod: int) -> bool:
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


class Trial:
    """One node under trial: rivals leave the state and come back, other pods only take room."""

    def __init__(self, state: ClusterState, node: int, room: Room | None, passes: Callable[[], bool]) -> None:
        self._state = state
        self._node = node
        #: None where the state alone tells whether there is room.
        self._room = room
        #: Whether the pod passes with the rivals that are there.
        self._passes = passes

    def run(
        self, pods: Sequence[int], affecting_pods: Sequence[bool], filter: Callable[[], int]
    ) -> tuple[list[bool], int]:
        """Which pods have to go, asked in this order, and what is wrong even without all of them (``filter``)."""
        mark = self._state.checkpoint()
        for pod, is_affecting in zip(pods, affecting_pods, strict=True):
            self._leave(pod, is_affecting=is_affecting)
        category = filter()
        fits = category == PASSES
        victims = [
            fits and not self._returns(each, is_affecting=rival)
            for each, rival in zip(pods, affecting_pods, strict=True)
        ]
        for pod in pods:
            if not self._state.exists[pod]:
                self._count_staying(pod, 1)
        self._state.undo(mark)
        return victims, category

    def _returns(self, pod: int, *, is_affecting: bool) -> bool:
        """Whether a pod can come back; it is back then."""
        if self._room is not None and not self._room.enter(pod):
            return False
        if not is_affecting:
            return True
        self._state.place(pod, self._node)
        self._count_staying(pod, 1)
        if self._passes():
            return True
        self._leave(pod, is_affecting=True)
        return False

    def _leave(self, pod: int, *, is_affecting: bool) -> None:
        if self._room is not None:
            self._room.leave(pod)
        if is_affecting:
            self._state.remove(pod)
            self._count_staying(pod, -1)

    def _count_staying(self, pod: int, staying: int) -> None:
        """Count a pod that comes or goes among those that stay, even if it is on its way out.

        Spread ignores such pods but subtracts them when they are preempted. Source: PodTopologySpread, RemovePod.
        """
        if self._state.terminating[pod]:
            self._state.changes.append(Change(self._node, pod, 0, staying))
