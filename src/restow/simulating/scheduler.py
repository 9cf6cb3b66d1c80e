"""kube-scheduler as an actor: one pod after the other, from its queue, with chance where the real one leaves it to chance.

What happens reaches the queue a moment later, as a watch brings it; then it wakes the pods that it may help. What a pod
preempts is deleted, and the pod is nominated for the node. Source: scheduleOne, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil
from typing import Any, Final, NamedTuple

from msgspec import structs

from restow.cluster.node_store import read_node
from restow.cluster.pods import NO_POD
from restow.cluster.state import ClusterState
from restow.kube.manifests import Manifest, Pod
from restow.kube.timestamps import SECOND
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.cycle.actions import Bind, Hold, MarkUnschedulable
from restow.scheduling.cycle.cycle import ClusterChanges, ObjectChange, PodChange, PodSnapshot, SchedulingCycle
from restow.scheduling.cycle.waiting_on_nodes import PREEMPTED, LostNode, WaitingOnNodes, WaitingPod
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.requeueing import PodFacts, pod_facts
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.queueing.events import RESOURCES
from restow.scheduling.queueing.queued_pods import QueuedPod
from restow.simulating.api_server.changes import DISRUPTION_TARGET, with_condition
from restow.simulating.api_server.indexes import Key, key_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.simulated_cluster import SimulatedCluster, as_read
from restow.simulating.virtual_cluster import DELIVERY, VirtualCluster

#: What it takes from one decision to the next, and from a decision until its pod is bound, in nanoseconds. Another
#: scheduler that decides in between does not see it.
CYCLE: Final = SECOND // 1000
_BINDING: Final = CYCLE // 2


class UnknownPlacement(NamedTuple):
    """A pod that waits because it is not known where it goes: since when (nanoseconds since the epoch), and why."""

    time: int
    pod: Key
    why: str


class StoreCache:
    """A ``SchedulerCache`` on the objects as they are: a pod is bound before the next attempt, so none is assumed.

    Nominations are kept in memory and in the status of who preempts; no other status is corrected.
    """

    def __init__(self, view: SimulatedCluster, profiles: Iterable[SchedulerProfile]) -> None:
        self._view = view
        self._profiles = tuple(profiles)
        #: The schedulers, and the epoch of the state that they were made in.
        self._made: tuple[int, Schedulers] | None = None

    @property
    def state(self) -> ClusterState:
        """The state of all objects."""
        return self._view.state

    @property
    def schedulers(self) -> Schedulers:
        """The schedulers on the state as it is."""
        view = self._view
        if self._made is None or self._made[0] != view.epoch:
            self._made = view.epoch, Schedulers(Context.of(view.state), self._profiles)
        return self._made[1]

    def is_assumed(self, _uid: str) -> bool:
        """No pod is."""
        return False

    def assume(self, pod: int, node: int) -> None:
        """Nothing changes until the pod is bound."""

    @contextmanager
    def showing(self, places: Iterable[tuple[int, str]]) -> Iterator[None]:
        """Show pods on the nodes that they wait on, for as long as an attempt takes: others see only what is bound."""
        state = self.state
        mark = state.checkpoint()
        for pod, name in places:
            node = state.node_called(name)
            if node >= 0:
                state.place(pod, node)
        yield
        state.undo(mark)

    def nominate(self, pod: int, node: int) -> Iterable[int]:
        """Keep a node for a pod; less important pods lose their nomination in memory only."""
        self.schedulers.nominations.give(pod, node)
        return ()

    def keep(self, pod: int, node: int) -> None:
        """Keep a node for a pod."""
        self.schedulers.nominations.note(pod, node)

    def drop_nomination(self, pod: int) -> bool:
        """Keep no node for a pod any longer, in memory only."""
        self.schedulers.nominations.drop(pod)
        return False


class SchedulerActor:
    """One scheduler, which has a name of its own for each of its profiles."""

    def __init__(
        self,
        simulation: VirtualCluster,
        profiles: Iterable[SchedulerProfile] = (DEFAULT_PROFILE,),
        name: str = "scheduler",
    ) -> None:
        self._simulation = simulation
        self._store, self._clock = simulation.store, simulation.clock
        self._started = self._clock.now
        profiles = tuple(profiles)
        self._cache = StoreCache(simulation.view, profiles)
        self._cycle = SchedulingCycle(self._cache, profiles, simulation.chance.stream(name), 0)
        self.queue = self._cycle.queue
        #: The pods that it did not know a node for, each once.
        self.unknown: dict[str, UnknownPlacement] = {}
        #: By pod, what the last attempt said that found no node.
        self.messages: dict[Key, str] = {}
        #: Each pod as it was last.
        self._pods: dict[Key, PodSnapshot] = {}
        self._is_working = False
        #: When the queue is looked at next although nothing happens; None where never.
        self._looks_at: int | None = None
        self._store.subscribe("Pod", self._on_pod_event)
        for kind in ("Node", *RESOURCES):
            self._store.subscribe(kind, self._on_change)

    def _now(self) -> float:
        """The time of the queue, in seconds."""
        return (self._clock.now - self._started) / SECOND

    def _on_pod_event(self, event: ObjectEvent) -> None:
        key = key_of(event.new or event.old)
        before, after = self._pods.pop(key, None), None
        if event.new is not None and not event.new.is_over:
            after = self._pods[key] = self._snapshot(event.new)
        if before != after:
            self._follow_later(ClusterChanges(pods=[PodChange(before, after)]))

    def _snapshot(self, pod: Pod) -> PodSnapshot:
        """A pod as it is now; one that terminates leaves the queue at once."""
        view = self._simulation.view
        facts = pod_facts(view.state.cluster.pods, view.state.cluster.nodes, view.row(*key_of(pod)))
        return PodSnapshot(facts, waits=pod.is_active and not facts.node and facts.scheduler in self._cycle.names)

    def _on_change(self, event: ObjectEvent) -> None:
        """A node, or an object of another kind than Pod, has changed."""
        # A pod that comes meanwhile is tried on what there is by then.
        if len(self.queue):
            before, after = (None if each is None else _as_read(event.kind, each) for each in (event.old, event.new))
            key = key_of(event.new or event.old)
            self._follow_later(ClusterChanges(objects=[ObjectChange(event.kind, key, before, after)]))

    def _follow_later(self, changes: ClusterChanges) -> None:
        """Apply changes when a watch would bring them."""
        self._clock.after(DELIVERY, lambda: self._follow(changes))

    def _follow(self, changes: ClusterChanges) -> None:
        self._cycle.follow(changes, self._now())
        self._go_on()

    def _go_on(self) -> None:
        """Try the next pod after a moment, or when it is due."""
        due = None if self._is_working else self.queue.next_wakeup(self._now())
        if due is None:
            return
        if due <= self._now():
            self._is_working = True
            self._clock.after(CYCLE, self._work)
            return
        at = self._started + ceil(due * SECOND)
        if self._looks_at is None or at < self._looks_at:
            self._looks_at = at
            self._clock.at(at, self._look, recurring=True)

    def _look(self) -> None:
        self._looks_at = None
        self._go_on()

    def _work(self) -> None:
        """Try the first waiting pod, and continue while there are others."""
        self._is_working = False
        queued = self.queue.pop(self._now())
        if queued is not None:
            self._try(queued)
        self._go_on()

    def _try(self, queued: QueuedPod) -> None:
        tried = self._cycle.tried_with(queued, self._now())
        with self._cache.showing(self._places()):
            actions = self._cycle.attempt(tried)
        for action in actions:
            match action:
                case Bind():
                    self._clock.after(_BINDING, partial(self._bind, action))
                case MarkUnschedulable():
                    self._put_back(action)
                case Hold():
                    self._hold(action)

    def _places(self) -> list[tuple[int, str]]:
        """The pods that wait on their nodes, and these."""
        rows = [(self._cycle.row(each.pod), each.hold.node) for each in self._waiting.pods.values()]
        return [(row, node) for row, node in rows if row != NO_POD]

    @property
    def _waiting(self) -> WaitingOnNodes:
        return self._cycle.waiting

    def _hold(self, action: Hold) -> None:
        """Let a pod wait on its node for others of its gang, until its time is over."""
        pod, waiting = self._get(action.queued.pod), self._waiting.hold(action, self._now())
        self._cache.drop_nomination(self._cycle.row(action.queued.pod))
        self._store.update(structs.replace(pod, status=structs.replace(pod.status, nominated_node_name=action.node)))
        self._clock.at(self._started + ceil(waiting.until * SECOND), self._end_overdue)

    def _end_overdue(self) -> None:
        for waiting in self._waiting.overdue(self._now()):
            self._end_waiting(waiting, waiting.timed_out)
        self._go_on()

    def _end_waiting(self, waiting: WaitingPod, why: LostNode) -> None:
        """Take the node back from a pod that waits on it."""
        self._put_back(self._waiting.end(waiting, why))
        self._waiting.notify_of(waiting, self._now())

    def _put_back(self, action: MarkUnschedulable) -> None:
        """Queue a pod again, say why it has no node, and preempt its victims."""
        pod = action.queued.pod
        self.messages[pod.namespace, pod.name] = action.message
        if action.is_unknown:
            why = UnknownPlacement(self._clock.now, (pod.namespace, pod.name), action.message)
            self.unknown.setdefault(pod.uid, why)
        if action.is_error:
            # Nothing is kept for a pod whose attempt broke off.
            self._cache.drop_nomination(self._cycle.row(pod))
        victims = [self._get(victim) for victim in action.victims]
        self._cycle.requeue(action.queued, action.rejected_by, self._now())
        said = with_condition(self._get(pod), "PodScheduled", "False", self._clock.text, "Unschedulable")
        if action.nominated_node is not None:
            kept = action.nominated_node or None
            said = structs.replace(said, status=structs.replace(said.status, nominated_node_name=kept))
        self._store.update(said)
        for victim in victims:
            self._preempt(victim)

    def _bind(self, action: Bind) -> None:
        """Bind a pod that was neither deleted nor bound meanwhile."""
        if self._cycle.row(action.queued.pod) != NO_POD:
            pod = self._get(action.queued.pod)
            bound = structs.replace(pod, spec={**pod.spec, "nodeName": action.node})
            self._store.update(with_condition(bound, "PodScheduled", "True", self._clock.text))

    def _get(self, pod: PodFacts) -> Pod:
        """A pod that is there."""
        found: Pod = self._store.get("Pod", pod.namespace, pod.name)
        return found

    def _preempt(self, victim: Pod) -> None:
        """Delete a pod; one that waits on its node only loses that."""
        waiting = self._waiting.pods.get(victim.metadata.uid)
        if waiting is not None:
            self._end_waiting(waiting, PREEMPTED)
            return
        self._store.update(with_condition(victim, DISRUPTION_TARGET, "True", self._clock.text, "PreemptionByScheduler"))
        self._store.delete("Pod", *key_of(victim))


def _as_read(kind: str, manifest: Manifest) -> Any:
    """An object as the cycle takes it."""
    return read_node(as_read(kind, manifest)) if kind == "Node" else as_read(kind, manifest)
