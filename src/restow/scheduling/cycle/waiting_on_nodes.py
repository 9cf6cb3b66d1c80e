"""The pods that wait on a node for others of their gang, between attempts, as of Kubernetes 1.35.

A pod that found a node while too few of its gang have one is neither bound nor queued: it holds the node, in flight, until
the gang has enough pods, until its time is over, or until somebody preempts or deletes it. The first pod of a gang that
waits sets the time for all, five minutes from then; a pod that comes later has what is left of it.
Source: the waiting pods of the framework, and SchedulingTimeout of the workload manager, Kubernetes 1.35.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from msgspec import Struct

from restow.kube.duration import format_duration
from restow.kube.timestamps import SECOND
from restow.scheduling.cycle.actions import Bind, Hold, MarkUnschedulable
from restow.scheduling.cycle.cache import SchedulerCache
from restow.scheduling.framework.requeueing import Action, ClusterEvent, PodFacts, Resource
from restow.scheduling.framework.workload_gangs import GangKey
from restow.scheduling.plugins.default_preemption import NAME as PREEMPTION
from restow.scheduling.plugins.gang_scheduling import NAME as GANG_SCHEDULING
from restow.scheduling.queueing.scheduling_queue import SchedulingQueue

#: Seconds.
_PATIENCE: Final = 300.0


class LostNode(Struct, frozen=True):
    """Why a pod may wait on its node no longer."""

    message: str
    rejected_by: str


#: A more important pod takes its room.
PREEMPTED: Final = LostNode("0/1 nodes are available: 1 preempted.", PREEMPTION)


class WaitingPod(Struct, frozen=True):
    """One that waits."""

    hold: Hold
    #: When its time is over, and how long it has then waited.
    until: float
    patience: float

    @property
    def pod(self) -> PodFacts:
        """The pod as it was when it was tried."""
        return self.hold.queued.pod

    @property
    def timed_out(self) -> LostNode:
        """That its time is over."""
        waited = format_duration(round(self.patience * SECOND))
        told = f"0/1 nodes are available: 1 rejected due to timeout after waiting {waited} at plugin {GANG_SCHEDULING}."
        return LostNode(told, GANG_SCHEDULING)


class WaitingOnNodes:
    """All that wait, in the order in which they came; of one scheduler's queue."""

    def __init__(self, cache: SchedulerCache, queue: SchedulingQueue) -> None:
        self._cache, self._queue = cache, queue
        #: By uid.
        self.pods: dict[str, WaitingPod] = {}
        self._deadlines: dict[GangKey, float] = {}

    def hold(self, hold: Hold, now: float) -> WaitingPod:
        """A pod begins to wait; the others of its gang are tried again, whatever they wait for."""
        if self._deadlines.get(hold.gang, now) <= now:
            self._deadlines[hold.gang] = now + _PATIENCE
        until = self._deadlines[hold.gang]
        held = self.pods[hold.queued.key] = WaitingPod(hold, until, until - now)
        uids = self._cache.state.cluster.pods.uids
        for pod in self._cache.schedulers.waiting_in(hold.gang):
            self._queue.activate(uids[pod], now)
        return held

    def bound(self, gang: GangKey) -> list[Bind]:
        """The pods of a gang that wait, which are bound now."""
        there = self._cache.state.cluster.nodes.index
        found = [each for each in self.pods.values() if each.hold.gang == gang and each.hold.node in there]
        for each in found:
            del self.pods[each.pod.uid]
            self._queue.done(each.pod.uid)
        return [Bind(queued=each.hold.queued, node=each.hold.node, volumes=None) for each in found]

    def overdue(self, now: float) -> list[WaitingPod]:
        """The pods whose time is over."""
        return [each for each in self.pods.values() if each.until <= now]

    def end(self, waiting: WaitingPod, why: LostNode) -> MarkUnschedulable:
        """Take the node back from a pod; ``notify_of`` tells others once that is carried out."""
        del self.pods[waiting.pod.uid]
        by = frozenset((why.rejected_by,))
        return MarkUnschedulable(queued=waiting.hold.queued, message=why.message, rejected_by=by, nominated_node="")

    def give_up(self, uid: str, now: float) -> None:
        """A pod is gone, or has a node; if it waited, others may take its room."""
        waiting = self.pods.pop(uid, None)
        if waiting is not None:
            self.notify_of(waiting, now)

    def notify_of(self, waiting: WaitingPod, now: float) -> None:
        """Wake pods that may take the room of one that waited on its node."""
        on_node = replace(waiting.pod, node=waiting.hold.node)
        self._queue.on_event(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE, on_node), now)
