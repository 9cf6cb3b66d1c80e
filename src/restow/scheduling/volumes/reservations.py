"""What the pods that were scheduled since the cluster was observed have reserved: volumes, and where to make new ones.

A pod that is placed takes the volumes that its claims match on that node; the others are to be made there. While it is
on the node they are spoken for; when it leaves they are free again. Where the state takes a change back, the pod has
again what it had. Source: Reserve of VolumeBinding, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from restow.cluster.journal import NodeChange
from restow.cluster.snapshot import Key
from restow.cluster.state import ClusterState
from restow.scheduling.framework.following import Follower


@dataclass(slots=True)
class Reservation:
    """What one pod has reserved."""

    #: Claims by the name of the volume that was taken for them.
    taken: dict[str, Key] = field(default_factory=dict)
    #: Nodes by the claim whose volume is to be made there.
    selected: dict[Key, str] = field(default_factory=dict)
    #: The later it was made the higher; where two contradict each other the later one counts.
    number: int = 0


@runtime_checkable
class ReservingPlugin(Protocol):
    """A plugin that knows what a pod takes of the storage of the cluster."""

    def reservation(self, pod: int, node: int) -> Reservation | None:
        """What a pod that is feasible there would take if it were placed on a node now; None where it needs nothing."""
        ...


class Reservations:
    """The reservations of all pods on one state; ``reserve(pod, node)`` says what a pod takes, None for nothing."""

    def __init__(self, state: ClusterState, reserve: Callable[[int, int], Reservation | None]) -> None:
        self._reserve = reserve
        self._by_pod: dict[int, Reservation] = {}
        #: What each pod had each time it left, latest last.
        self._given_up: dict[int, list[Reservation | None]] = defaultdict(list)
        self._count = 0
        #: Counts the changes of what is reserved.
        self.version = 0
        self.all = Reservation()
        #: Takes note of everything that happened since the last time, in its order.
        self.refresh = Follower(state, self._note).catch_up

    def _note(self, change: NodeChange) -> None:
        pod, before = change.pod, self._by_pod.pop(change.pod, None)
        if change.present > 0:
            after = self._returned(pod) if change.undone else self._made(pod, change.node)
            if after is not None:
                self._by_pod[pod] = after
        elif not change.undone:
            self._given_up[pod].append(before)
        if before is not self._by_pod.get(pod):
            self._sum_up()

    def _made(self, pod: int, node: int) -> Reservation | None:
        made = self._reserve(pod, node)
        if made is not None:
            self._count += 1
            made.number = self._count
        return made

    def _returned(self, pod: int) -> Reservation | None:
        """What a pod had before it left; nothing where it was there from the beginning."""
        given_up = self._given_up[pod]
        return given_up.pop() if given_up else None

    def _sum_up(self) -> None:
        self.all = Reservation()
        for each in sorted(self._by_pod.values(), key=lambda reservation: reservation.number):
            self.all.taken |= each.taken
            self.all.selected |= each.selected
        self.version += 1
