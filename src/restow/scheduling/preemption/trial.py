"""A dry run of preemption on one node, with the real filters on the real state, taken back afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from restow.cluster.journal import Change
from restow.cluster.state import ClusterState
from restow.scheduling.framework.extension_points import PASSES, Room


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
        if self._room is not None and not self._room.add_pod(pod):
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
            self._room.remove_pod(pod)
        if is_affecting:
            self._state.remove(pod)
            self._count_staying(pod, -1)

    def _count_staying(self, pod: int, staying: int) -> None:
        """Count a pod that comes or goes among those that stay, even if it is on its way out.

        Spread ignores such pods but subtracts them when they are preempted. Source: PodTopologySpread, RemovePod.
        """
        if self._state.terminating[pod]:
            self._state.changes.append(Change(self._node, pod, 0, staying))
