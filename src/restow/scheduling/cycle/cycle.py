"""The scheduling cycle: changes of the cluster go in, decisions come out as values, and whoever asks carries them out.

It has no I/O and no clock (``now`` is an argument, seconds of any clock that does not go back). It owns the queue, and
what an attempt means to it: a pod that ``queue.pop`` returned is decided by ``attempt``, on the cluster as it is then, and
stays in flight until ``requeue`` puts it back or it has a node; so every pod ends bound, queued or deleted, whatever
changes in between. The daemon carries decisions out concurrently, at an API server; the simulator one after the other, in
virtual time. They differ in how they see the cluster, which is the ``SchedulerCache``.
Source: the scheduling cycle, handleSchedulingFailure and the event handlers of kube-scheduler, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import numpy as np
from msgspec import Struct

from restow.cluster.pods import NO_POD, PENDING
from restow.scheduling.configuration.profiles import SchedulerProfile, queueing_rules
from restow.scheduling.cycle.actions import Action, Bind, Hold, MarkGroup, MarkUnschedulable
from restow.scheduling.cycle.cache import SchedulerCache
from restow.scheduling.cycle.waiting_on_nodes import WaitingOnNodes
from restow.scheduling.framework.coscheduled_groups import CoscheduledKey
from restow.scheduling.framework.extension_points import PhaseTimer, untimed
from restow.scheduling.framework.minors import minds_workloads
from restow.scheduling.framework.requeueing import ClusterEvent, PodFacts, QueueSurroundings, node_facts, pod_facts
from restow.scheduling.framework.scheduling_groups import GroupKey
from restow.scheduling.framework.verdicts import rejecting_plugins
from restow.scheduling.framework.workload_gangs import GangKey
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.group_cycle import decide_group
from restow.scheduling.loop.group_rules import scheduled_condition
from restow.scheduling.loop.schedulers import NodeChooser
from restow.scheduling.plugins.default_preemption import NAME as PREEMPTION
from restow.scheduling.queueing import events as queueing
from restow.scheduling.queueing.queued_pods import QueuedPod, QueuePlace
from restow.scheduling.queueing.scheduling_queue import QueueSettings, SchedulingQueue


class PodSnapshot(Struct, frozen=True):
    """A pod at one moment."""

    facts: PodFacts
    #: Whether it belongs in the scheduler's queue.
    waits: bool
    #: Whether it is Succeeded or Failed; it counts as deleted for other pods.
    is_over: bool = False

    @staticmethod
    def of(facts: PodFacts, schedulers: Collection[str], *, is_over: bool = False) -> PodSnapshot:
        """A pod that waits if it has no node, is not over and names one of some schedulers."""
        return PodSnapshot(facts, not facts.node and not is_over and facts.scheduler in schedulers, is_over)


class PodChange(Struct, frozen=True):
    """A pod was added, changed or deleted, or its binding was seen."""

    before: PodSnapshot | None
    after: PodSnapshot | None

    def events(self) -> list[ClusterEvent]:
        """What the change means to other pods."""
        return queueing.pod_events(_counting(self.before), _counting(self.after))


class ObjectChange(Struct, frozen=True):
    """A node (``ReadNode``) or an object of another kind than Pod was added, changed or deleted."""

    kind: str
    #: Namespace and name.
    key: tuple[str, str]
    before: Any
    after: Any

    def events(self) -> list[ClusterEvent]:
        """What the change means to pods that wait; nothing, for kinds that no plugin waits for."""
        if self.kind == "Node":
            old, new = (None if each is None else node_facts(each) for each in (self.before, self.after))
            return queueing.node_events(old, new)
        if self.kind in queueing.RESOURCES:
            return queueing.object_events(queueing.RESOURCES[self.kind], self.before, self.after)
        return []


@dataclass(slots=True)
class ClusterChanges:
    """What has changed since the last time, in the order in which it happened."""

    pods: list[PodChange] = field(default_factory=list)
    objects: list[ObjectChange] = field(default_factory=list)

    def events(self) -> Iterator[ClusterEvent]:
        """All events, those of pods first."""
        changes: Iterable[PodChange | ObjectChange] = (*self.pods, *self.objects)
        for each in changes:
            yield from each.events()


class SchedulingCycle:
    """One scheduler, with a name for each of its profiles."""

    def __init__(
        self,
        cache: SchedulerCache,
        profiles: Sequence[SchedulerProfile],
        chance: Random,
        now: float,
        settings: QueueSettings | None = None,
    ) -> None:
        self._cache = cache
        self.names = frozenset(profile.name for profile in profiles)
        surroundings = QueueSurroundings(group=self._why_group_waits)
        self.queue = SchedulingQueue(queueing_rules(profiles, surroundings), now, settings)
        self._choice = NodeChooser(chance)
        #: The pods that are in flight until their gang has enough nodes.
        self.waiting = WaitingOnNodes(cache, self.queue)
        #: The profiles that preempt.
        self._preempting = frozenset(each.name for each in profiles if each.runs(PREEMPTION, "postFilter"))

    def begin(self, now: float) -> None:
        """Add the pods that wait in the cache, the oldest first."""
        state, pods = self._cache.state, self._cache.state.cluster.pods
        found = [
            (int(pods.created[pod]), pod_facts(pods, state.cluster.nodes, pod))
            for pod in np.flatnonzero(state.exists & (state.node == PENDING)).tolist()
            if not pods.is_over(pod)
        ]
        for _, pod in sorted(found, key=lambda each: (each[0], each[1].namespace, each[1].name)):
            if pod.scheduler in self.names:
                self.queue.add(pod, now)

    def follow(self, changes: ClusterChanges, now: float) -> list[str]:
        """Apply changes that the cache shows: pods come and go, and wake others; returns the uids of pods that do not wait."""
        left = [uid for each in changes.pods if (uid := self._follow_pod(each, now))]
        self.notify(changes, now)
        return left

    def notify(self, changes: ClusterChanges, now: float) -> None:
        """Wake the pods that changes may help."""
        for event in changes.events():
            self.queue.on_event(event, now)

    def _follow_pod(self, change: PodChange, now: float) -> str:
        """Keep exactly the pods in the queue that wait; returns the uid of one that does not, or ''."""
        before, after = change.before, change.after
        if after is not None and after.waits:
            self.queue.update(after.facts, now)
        elif before is not None and (after is None or not self._cache.is_assumed(after.facts.uid)):
            self.queue.delete(before.facts.uid)
            self.waiting.give_up(before.facts.uid, now)
            return before.facts.uid
        return ""

    def row(self, pod: PodFacts) -> int:
        """The row of a pod that still needs a node; NO_POD if it is gone, over or terminating, or has one."""
        found = self._waiting(pod)
        return NO_POD if found != NO_POD and self._cache.state.terminating[found] else found

    def tried_with(self, queued: QueuedPod, now: float) -> list[QueuedPod]:
        """A pod that ``queue.pop`` returned, with all of its group that may be tried, in the order in which they are.

        Those that need no node any more have left the queue.
        """
        found = [queued, *self._others_of_group(queued, now)]
        gone = [each for each in found if self.row(each.pod) == NO_POD]
        for each in gone:
            self.queue.delete(each.key)
        left = [each for each in found if each not in gone]
        return sorted(left, key=lambda each: (-each.pod.priority, each.first_active or now, each.number))

    def _others_of_group(self, queued: QueuedPod, now: float) -> list[QueuedPod]:
        row, schedulers = self.row(queued.pod), self._cache.schedulers
        group = None if row == NO_POD else schedulers.group_of(row)
        if group is None or isinstance(group, GangKey):
            return []
        uids = self._cache.state.cluster.pods.uids
        taken = (self.queue.take(uids[each], now) for each in schedulers.waiting_in(group) if each != row)
        return [each for each in taken if each is not None]

    def attempt(
        self, tried: Sequence[QueuedPod], timer: PhaseTimer = untimed, *, knows_budgets: bool = True
    ) -> Sequence[Action]:
        """Decide about a pod, or all of a group, as ``tried_with`` has them.

        No pod is preempted while the PodDisruptionBudgets are not known.
        Raises whatever a plugin raises; then the state may be in the middle of a dry run, and the pods are in flight.
        """
        group = self._cache.schedulers.group_of(self.row(tried[0].pod)) if tried else None
        if isinstance(group, GangKey):
            return self._attempt_for_gang(group, tried[0], timer, knows_budgets=knows_budgets)
        if group is not None:
            return self._attempt_group(group, tried, timer, knows_budgets=knows_budgets)
        return [self._attempt_pod(each, timer, knows_budgets=knows_budgets) for each in tried]

    def _attempt_pod(self, queued: QueuedPod, timer: PhaseTimer, *, knows_budgets: bool) -> Action:
        pod = self.row(queued.pod)
        found = self._choice.attempt(self._cache.schedulers, pod, timer)
        if isinstance(found, SchedulingDecision):
            return self._unschedulable(queued, found, knows_budgets=knows_budgets)
        return self._bind(queued, pod, found)

    def _attempt_group(
        self, group: GroupKey | CoscheduledKey, tried: Sequence[QueuedPod], timer: PhaseTimer, *, knows_budgets: bool
    ) -> Sequence[Action]:
        schedulers = self._cache.schedulers
        pods = [self.row(each.pod) for each in tried]
        found = decide_group(schedulers, group, pods, partial(self._choice.node, schedulers), timer)
        if self._is_missing(group, tried):
            found = found.to_be_repeated()
        actions: list[Action] = [
            self._bind(queued, decision.pod, node)
            if found.is_placed and node >= 0
            else self._unschedulable(queued, decision, knows_budgets=knows_budgets)
            for queued, decision, node in zip(tried, found.decisions, found.nodes, strict=True)
        ]
        if isinstance(group, CoscheduledKey):
            return actions
        told = MarkGroup(
            group=group,
            condition=scheduled_condition(schedulers.cluster),
            is_placed=found.is_placed,
            message=found.message,
            is_error=found.is_error,
        )
        return [*actions, told]

    def _attempt_for_gang(
        self, gang: GangKey, queued: QueuedPod, timer: PhaseTimer, *, knows_budgets: bool
    ) -> Sequence[Action]:
        """Decide about one pod, and bind all of its gang that wait for it."""
        pod, gangs = self.row(queued.pod), self._cache.schedulers.gangs
        found = self._choice.attempt(self._cache.schedulers, pod, timer)
        if isinstance(found, SchedulingDecision):
            return [self._unschedulable(queued, found, knows_budgets=knows_budgets)]
        if problem := gangs.why_not_permitted(gang):
            return [MarkUnschedulable(queued=queued, message=problem, is_error=True)]
        if len(gangs.placed(gang)) + 1 < gangs.least(gang):
            return [Hold(queued=queued, node=self._cache.state.cluster.nodes.names[found], gang=gang)]
        return [self._bind(queued, pod, found), *self.waiting.bound(gang)]

    def _is_missing(self, group: GroupKey | CoscheduledKey, tried: Sequence[QueuedPod]) -> bool:
        """Whether another pod of a group would have been tried as well, if it were not in flight."""
        uids, known = self._cache.state.cluster.pods.uids, {each.key for each in tried}
        others = (uids[pod] for pod in self._cache.schedulers.waiting_in(group) if uids[pod] not in known)
        queued = (uid for uid in others if self.queue.get(uid) is not None)
        return any(self.queue.place(uid) is QueuePlace.IN_FLIGHT for uid in queued)

    def _bind(self, queued: QueuedPod, pod: int, node: int) -> Bind:
        """A pod gets a node: it is assumed to be there from now on."""
        cache = self._cache
        volumes = cache.schedulers.reservation(pod, node)
        cache.assume(pod, node)
        self.queue.done(queued.key)
        return Bind(queued=queued, node=cache.state.cluster.nodes.names[node], volumes=volumes)

    def _why_group_waits(self, pod: PodFacts) -> str | None:
        schedulers = self._cache.schedulers
        if pod.workload and minds_workloads(schedulers.cluster):
            return schedulers.gangs.why_not_tried(GangKey(pod.namespace, pod.workload))
        return schedulers.groups.why_not_tried((pod.namespace, pod.group)) if pod.group else None

    def requeue(self, queued: QueuedPod, rejected_by: frozenset[str], now: float) -> None:
        """Queue a pod again after an attempt that failed, unless it is gone or has a node by now."""
        if self._waiting(queued.pod) == NO_POD:
            self.queue.delete(queued.key)
        else:
            self.queue.requeue(queued.key, rejected_by, now)

    def _waiting(self, pod: PodFacts) -> int:
        """The row of a pod without a node; NO_POD if it is gone or over, or has one."""
        state = self._cache.state
        found = state.order.find(pod.namespace, pod.name)
        if found == NO_POD or state.cluster.pods.uids[found] != pod.uid:
            return NO_POD
        return NO_POD if int(state.node[found]) != PENDING or state.cluster.pods.is_over(found) else found

    def _unschedulable(
        self, queued: QueuedPod, decision: SchedulingDecision, *, knows_budgets: bool
    ) -> MarkUnschedulable:
        """Why no node takes a pod; if it preempts pods of a node, that node is nominated for it from now on."""
        if decision.error:
            return MarkUnschedulable(queued=queued, message=decision.error, is_error=True)
        tried = queued.pod.scheduler in self._preempting and _tried_preemption(decision)
        nominated: str | None = None
        victims, outranked = list[PodFacts](), list[PodFacts]()
        # While no node was looked for, or none may be made room on, an earlier nomination stays.
        if not decision.unknown and (knows_budgets or not decision.victims):
            victims = list(map(self._facts, decision.victims))
            outranked = list(map(self._facts, self._outranked(decision)))
            nominated = self._nominated(decision)
        return MarkUnschedulable(
            queued=queued,
            message=decision.message,
            rejected_by=_rejected_by(decision),
            is_unknown=bool(decision.unknown),
            tried_preemption=tried and not decision.unknown,
            nominated_node=nominated,
            victims=victims,
            outranked=outranked,
        )

    def _outranked(self, decision: SchedulingDecision) -> Iterable[int]:
        """The less important pods that lose their nomination for the node where a pod preempts others."""
        return self._cache.nominate(decision.pod, decision.preempts_on) if decision.preempts_on >= 0 else ()

    def _nominated(self, decision: SchedulingDecision) -> str | None:
        """The node that is kept for a pod from now on, or none; None where that stays as it is."""
        if decision.nominated_node >= 0:
            if decision.nominated_node != decision.preempts_on:
                self._cache.keep(decision.pod, decision.nominated_node)
            return self._cache.state.cluster.nodes.names[decision.nominated_node]
        return "" if not decision.keeps_nomination and self._cache.drop_nomination(decision.pod) else None

    def _facts(self, pod: int) -> PodFacts:
        return pod_facts(self._cache.state.cluster.pods, self._cache.state.cluster.nodes, pod)


def _rejected_by(decision: SchedulingDecision) -> frozenset[str]:
    """The plugins whose events can help; of a pod that had a node and waits for its group, those that say so."""
    wait = decision.group_wait
    return wait.rejected_by if wait is not None and wait.message else rejecting_plugins(decision.verdicts)


def _tried_preemption(decision: SchedulingDecision) -> bool:
    """Whether preemption was tried; like kube-scheduler 1.36, not after an earlier error."""
    return decision.preemption is not None and not decision.preemption.is_final


def _counting(pod: PodSnapshot | None) -> PodFacts | None:
    return None if pod is None or pod.is_over else pod.facts
