"""kube-scheduler as an actor: one pod after the other, from its queue, with chance where the real one leaves it to chance.

What happens reaches the queue a moment later, as a watch brings it; then it wakes the pods that it may help. What a pod
preempts is deleted, and the pod is nominated for the node. Source: scheduleOne, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any, Final, NamedTuple

from msgspec import structs

from restow.cluster.node_store import read_node
from restow.kube.manifests import Pod
from restow.kube.timestamps import SECOND
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.configuration.queueing_rules import queueing_rules
from restow.scheduling.framework.cluster_events import ClusterEvent
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.facts import NodeFacts, PodFacts, node_facts, pod_facts
from restow.scheduling.framework.verdicts import rejecting_plugins
from restow.scheduling.loop.choosing import NodeChooser
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.queueing.changes import RESOURCES, node_events, object_events, pod_events
from restow.scheduling.queueing.queued_pod import QueuedPod
from restow.scheduling.queueing.scheduling_queue import SchedulingQueue
from restow.simulating.conditions import DISRUPTION_TARGET, with_condition
from restow.simulating.indexes import Key, key_of
from restow.simulating.simulated_cluster import as_read
from restow.simulating.simulation import VirtualCluster
from restow.simulating.store import ObjectEvent
from restow.simulating.work_queue import DELIVERY

#: What it takes from one decision to the next, and from a decision until its pod is bound, in nanoseconds. Another
#: scheduler that decides in between does not see it.
CYCLE: Final = SECOND // 1000
_BINDING: Final = CYCLE // 2


class UnknownPlacement(NamedTuple):
    """A pod that waits because it is not known where it goes: since when (nanoseconds since the epoch), and why."""

    time: int
    pod: Key
    why: str


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
        self._profiles = tuple(profiles)
        self._names = {profile.name for profile in self._profiles}
        self._choice = NodeChooser(simulation.chance.stream(name))
        #: The schedulers, and the epoch of the state that they were made in.
        self._made: tuple[int, Schedulers] | None = None
        self._started = self._clock.now
        self.queue = SchedulingQueue(queueing_rules(self._profiles), 0)
        #: The pods that it did not know a node for, each once.
        self.unknown: dict[str, UnknownPlacement] = {}
        #: Each pod as it was last, and whether it waits for this scheduler.
        self._pods: dict[Key, tuple[PodFacts, bool]] = {}
        self._is_working = False
        #: When the queue is looked at next although nothing happens; None where never.
        self._looks_at: int | None = None
        self._store.subscribe("Pod", self._on_pod_event)
        self._store.subscribe("Node", self._on_node_event)
        for kind in RESOURCES:
            self._store.subscribe(kind, self._on_other_event)

    def _now(self) -> float:
        """The time of the queue, in seconds."""
        return (self._clock.now - self._started) / SECOND

    def _on_pod_event(self, event: ObjectEvent) -> None:
        key = key_of(event.new or event.old)
        before, after = self._pods.pop(key, None), None
        if event.new is not None and not event.new.is_over:
            after = self._pods[key] = self._facts(key), self._is_mine(event.new)
        if before != after:
            self._clock.after(DELIVERY, lambda: self._follow(before, after))

    def _facts(self, key: Key) -> PodFacts:
        view = self._simulation.view
        return pod_facts(view.state.cluster.pods, view.state.cluster.nodes, view.row(*key))

    def _is_mine(self, pod: Pod) -> bool:
        """Whether a pod waits for this scheduler."""
        asked = pod.spec.get("schedulerName") or "default-scheduler"
        return not pod.node and pod.is_active and asked in self._names

    def _follow(self, before: tuple[PodFacts, bool] | None, after: tuple[PodFacts, bool] | None) -> None:
        """Update the queue after a pod came, changed or went."""
        old, new = (None if each is None else each[0] for each in (before, after))
        if new is not None and after is not None and after[1]:
            self.queue.update(new, self._now())
        elif old is not None:
            self.queue.delete(old.uid)
        self._notify(pod_events(old, new))

    def _on_node_event(self, event: ObjectEvent) -> None:
        # A pod that comes meanwhile is tried on what there is by then.
        if len(self.queue):
            events = node_events(_node(event.old), _node(event.new))
            self._clock.after(DELIVERY, lambda: self._notify(events))

    def _on_other_event(self, event: ObjectEvent) -> None:
        if len(self.queue):
            old, new = (None if each is None else as_read(event.kind, each) for each in (event.old, event.new))
            events = object_events(RESOURCES[event.kind], old, new)
            self._clock.after(DELIVERY, lambda: self._notify(events))

    def _notify(self, events: Iterable[ClusterEvent]) -> None:
        for event in events:
            self.queue.on_event(event, self._now())
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
        key = queued.pod.namespace, queued.pod.name
        pod = self._store.get("Pod", *key)
        if pod is None or pod.metadata.uid != queued.key or not self._is_mine(pod):
            self.queue.delete(queued.key)
            return
        schedulers = self._current()
        decision = schedulers.decide(self._simulation.view.row(*key))
        if decision.ranking is not None:
            self.queue.done(queued.key)
            node = self._simulation.view.state.cluster.nodes.names[self._choice.node(schedulers, decision)]
            self._clock.after(_BINDING, lambda: self._bind(key, queued.key, node))
            return
        if decision.unknown:
            self.unknown.setdefault(queued.key, UnknownPlacement(self._clock.now, key, decision.message))
        schedulers.settle(decision)
        victims = [self._simulation.view.pod(victim) for victim in decision.victims]
        rejected_by = frozenset[str]() if decision.error else rejecting_plugins(decision.verdicts)
        self.queue.requeue(queued.key, rejected_by, self._now())
        self._say_unschedulable(pod, decision)
        for victim in victims:
            self._preempt(victim)

    def _current(self) -> Schedulers:
        """The schedulers on the state as it is."""
        view = self._simulation.view
        if self._made is None or self._made[0] != view.epoch:
            self._made = view.epoch, Schedulers(Context.of(view.state), self._profiles)
        return self._made[1]

    def _bind(self, key: Key, uid: str, node: str) -> None:
        """Bind a pod that was neither deleted nor bound meanwhile."""
        pod: Pod | None = self._store.get("Pod", *key)
        if pod is not None and pod.metadata.uid == uid and self._is_mine(pod):
            bound = structs.replace(pod, spec={**pod.spec, "nodeName": node})
            self._store.update(with_condition(bound, "PodScheduled", "True", self._clock.text))

    def _say_unschedulable(self, pod: Pod, decision: SchedulingDecision) -> None:
        said = with_condition(pod, "PodScheduled", "False", self._clock.text, "Unschedulable")
        if decision.nominated_node >= 0:
            nominated = self._simulation.view.state.cluster.nodes.names[decision.nominated_node]
            said = structs.replace(said, status=structs.replace(said.status, nominated_node_name=nominated))
        self._store.update(said)

    def _preempt(self, victim: Pod) -> None:
        self._store.update(with_condition(victim, DISRUPTION_TARGET, "True", self._clock.text, "PreemptionByScheduler"))
        self._store.delete("Pod", *key_of(victim))


def _node(node: Any) -> NodeFacts | None:
    return None if node is None else node_facts(read_node(as_read("Node", node)))
