"""What the pods that were scheduled since the cluster was observed have reserved: volumes, and where to make new ones.

A pod that is placed takes the volumes that its claims match on that node; the others are to be made there. While it is
on the node they are spoken for; when it leaves they are free again. Source: Reserve of VolumeBinding, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from restow.cluster.snapshot import Key
from restow.cluster.state import ClusterState


@dataclass(slots=True)
class Reservation:
    """What one pod has reserved."""

    #: Claims by the name of the volume that was taken for them.
    taken: dict[str, Key] = field(default_factory=dict)
    #: Nodes by the claim whose volume is to be made there.
    selected: dict[Key, str] = field(default_factory=dict)


class Reservations:
    """The reservations of all pods on one state; ``reserve(pod, node)`` says what a pod takes, None for nothing."""

    def __init__(self, state: ClusterState, reserve: Callable[[int, int], Reservation | None]) -> None:
        self._state = state
        self._reserve = reserve
        self._read = len(state.changes)
        self._by_pod: dict[int, Reservation] = {}
        #: Counts the changes of what is reserved.
        self.version = 0
        self.all = Reservation()

    def refresh(self) -> None:
        """Take note of everything that happened since the last time, in its order."""
        changes = self._state.changes
        for position in range(self._read, len(changes)):
            change = changes[position]
            if change.present == 1:
                found = self._reserve(change.pod, change.node)
                if found is not None:
                    self._by_pod[change.pod] = found
                    self._sum_up()
            elif change.present == -1 and self._by_pod.pop(change.pod, None) is not None:
                self._sum_up()
        self._read = len(changes)

    def _sum_up(self) -> None:
        self.all = Reservation()
        for each in self._by_pod.values():
            self.all.taken |= each.taken
            self.all.selected |= each.selected
        self.version += 1
