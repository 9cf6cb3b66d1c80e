"""A descheduler as an actor: it looks at the cluster every so often, decides, and evicts.

It decides with what decides elsewhere (``executing.deciding``), on the state as it is. In ``upstream`` placement it is the
Kubernetes Descheduler, which asks for all moves of a plan at once. In ``prove`` it is restow: the executor of ``restow run``
itself carries the plans out, in virtual time, with all of its rules. So moves wait for landings, budgets and windows, go side
by side where they may, the rest is planned again where a replacement lands elsewhere, and workloads whose moves come to
nothing are left alone for a while. Deciding takes no time here.

The executor's waits are entries of the clock (``simulating.virtual_tasks``).

What a proven plan is made on is kept for the next one, and trails behind the cluster in between. Where nothing has changed since
a decision to move nothing, and no rule that was asked depends on the time, that decision stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from restow.client import eviction
from restow.client.transport import always
from restow.cluster.nodes import NodeRow
from restow.cluster.pod_values import NO_VETOES, PHASES, Flag, Phase, PodNow, PodVetoes, vetoes_of
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.arbiter import Searches
from restow.descheduling.plan import Move
from restow.executing.deciding import Before, CycleDecision, CycleRules, decide
from restow.executing.execution import Execution
from restow.executing.history import EvictionHistory
from restow.executing.replanning import CycleProgress, carried_out, makes_room
from restow.executing.surroundings import ExecutionSettings, closed, elapsed
from restow.executing.task import Task
from restow.kube.manifests import Node, Pod
from restow.kube.objects import OwnerReference, PodAnnotations, Volume
from restow.kube.timestamps import SECOND
from restow.policies.codes import Placement, ReplacementMode
from restow.policies.policy import Policy
from restow.proving.planning import policy_as_asked
from restow.proving.planning_cache import PlanningCache
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.simulating.api_server.eviction import (
    CREATED,
    INTERNAL_ERROR,
    NOT_FOUND,
    TOO_MANY_REQUESTS,
    EvictionAnswer,
    evict,
)
from restow.simulating.api_server.indexes import key_of
from restow.simulating.rolling import SimulatedRollouts
from restow.simulating.simulated_cluster import TrailingCluster, time_of
from restow.simulating.surging import SimulatedSurges
from restow.simulating.virtual_cluster import DELIVERY, VirtualCluster
from restow.simulating.virtual_tasks import VirtualTask
from restow.workloads.controllers import wanted_replicas

#: Seconds between two looks at what is waited for.
_LOOK: Final = 0.1


@dataclass(slots=True, frozen=True)
class DeschedulerSettings:
    """How a descheduler runs."""

    policy: Policy
    placement: Placement
    #: Nanoseconds from one look to the next.
    interval: int
    profiles: tuple[SchedulerProfile, ...] = (DEFAULT_PROFILE,)


@dataclass(slots=True, frozen=True)
class AskedMove:
    """A move of a plan that was asked for."""

    #: Nanoseconds since the epoch.
    time: int
    move: Move
    #: What the eviction API answered; ``CREATED`` also for pods that go without an eviction.
    code: int
    #: The replacement that came before the pod goes; empty where it comes afterwards.
    replacement: str = ""

    @property
    def is_made(self) -> bool:
        """Whether the pod was evicted."""
        return self.code == CREATED


class DeschedulerActor:
    """One descheduler."""

    def __init__(self, simulation: VirtualCluster, settings: DeschedulerSettings) -> None:
        self._simulation = simulation
        self._store, self._clock = simulation.store, simulation.clock
        self._settings = settings
        policy = policy_as_asked(settings.policy, settings.placement)
        self._rules = CycleRules(policy, settings.placement, settings.profiles)
        #: All moves so far, in the order in which they were asked for.
        self.moves: list[AskedMove] = []
        #: Called with each pod whose eviction was requested, and with the answer.
        self.listeners: list[Callable[[Pod, AskedMove], None]] = []
        #: How often it has looked.
        self.cycles = 0
        self._epoch = simulation.clock.now
        self._view = ExecutionView(simulation)
        self._execution = Execution(
            view=self._view,
            evicting=self,
            permit=always,
            settings=ExecutionSettings.of(policy.restow),
            memory=EvictionHistory(),
            clock=lambda: self._clock.now / SECOND,
            ways={
                ReplacementMode.SURGE: SimulatedSurges(simulation.store, self._replaced),
                ReplacementMode.ROLLOUT: SimulatedRollouts(simulation.store, self._replaced),
            },
            chance=simulation.chance.stream("descheduler"),
        )
        #: The cluster that it plans on, and what plans leave of it in an epoch; None before the first proven plan.
        self._planned_on: tuple[TrailingCluster, int, PlanningCache | None] | None = None
        #: What strategies searched for in the last plan.
        self._searches: Searches = {}
        #: The last decision that nothing is to be moved, where time alone changes nothing about it.
        self._settled: tuple[tuple[int, Mapping[str, str], Searches], CycleDecision] | None = None
        #: The cycle under way.
        self._cycle: VirtualTask | None = None

    def start(self) -> None:
        """Look now, and again and again."""
        self._clock.after(DELIVERY, self._look)
        self._clock.every(self._settings.interval, self._look)

    def stop(self) -> None:
        """Leave a cycle that is under way."""
        if self._cycle is not None and not self._cycle.is_over:
            self._cycle.stop()

    async def evict(self, task: Task) -> eviction.Outcome:
        """Carry out a move of its plan, as the executor asks for it; the API answers at once."""
        return _as_outcome(self._ask(task))

    def _look(self) -> None:
        """Decide, unless the last plan is not carried out yet."""
        if self._cycle is not None and not self._cycle.is_over:
            return
        self.cycles += 1
        if self._settings.placement == Placement.PROVE:
            self._cycle = VirtualTask(self._clock, self._epoch, self._perform())
        else:
            self._evict_all()

    def _evict_all(self) -> None:
        """Make a plan and ask for all of its moves."""
        for task in self._decide(Before()).tasks:
            self._ask(task)

    async def _perform(self) -> None:
        """One cycle of restow, which makes plans until one has told it all."""
        progress = CycleProgress()
        while await self._carry_out_plan(progress):
            pass

    async def _carry_out_plan(self, progress: CycleProgress) -> bool:
        """Make a plan and carry it out; whether to make another one afterwards."""
        execution = self._execution
        resting, may_move = execution.memory.pausing(elapsed()), progress.may_move()
        decision = self._decide(
            Before(progress.prior_evictions, progress.given_up, resting, may_move, searches=self._searches)
        )
        self._searches = decision.cycle.record.searches
        progress.decided(decision.cycle, decision.tasks, may_move)
        if closed(execution.settings.windows, execution.clock()) is not None:
            return False
        steps, given_up = progress.steps, len(progress.given_up)
        astray = await carried_out(execution, decision.tasks, 0.0, progress.note)
        progress.carried_out(astray=astray)
        if progress.repairs:
            return True
        more = astray or await makes_room(self._view, decision.cycle, progress, given_up)
        return more and progress.steps > steps

    def _decide(self, before: Before) -> CycleDecision:
        """The decision on the cluster as it is; where nothing has changed since one to move nothing, that one."""
        view = self._simulation.view
        begins = not before.prior_evictions and not before.given_up and before.may_move is None
        on = view.revision, before.resting, before.searches
        if begins and self._settled is not None and self._settled[0] == on:
            return self._settled[1]
        cache = self._cache() if self._settings.placement == Placement.PROVE else None
        cluster = view.state.cluster if cache is None else cache.state.cluster
        decision = decide(cluster, self._rules, before, self._clock.now, cache=cache)
        holds = begins and not decision.tasks and not decision.cycle.depends_on_time
        self._settled = (on, decision) if holds else None
        return decision

    def _cache(self) -> PlanningCache:
        """What proven plans are made on, with what earlier ones have left as long as it is of use."""
        trailing, epoch, cache = self._planned_on or (TrailingCluster(self._store, self._simulation.view), 0, None)
        seen = trailing.caught_up()
        if cache is None or epoch != seen.epoch:
            cache = PlanningCache.of(seen.state, self._settings.profiles)
        self._planned_on = trailing, seen.epoch, cache
        return cache

    def _ask(self, task: Task) -> EvictionAnswer:
        """Ask for an eviction."""
        wanted = task.move.pod
        pod: Pod | None = self._store.get("Pod", wanted.namespace, wanted.name)
        if pod is None or pod.metadata.uid != wanted.uid or pod.metadata.is_terminating:
            return EvictionAnswer(NOT_FOUND, f'pods "{wanted.name}" not found')
        answer = evict(self._store, wanted.namespace, wanted.name)
        self._tell(pod, AskedMove(self._clock.now, task.move, answer.code))
        return answer

    def _replaced(self, task: Task, replacement: str) -> None:
        """A pod goes whose replacement is there."""
        pod: Pod | None = self._store.get("Pod", task.move.pod.namespace, task.move.pod.name)
        if pod is not None:
            self._tell(pod, AskedMove(self._clock.now, task.move, CREATED, replacement))

    def _tell(self, pod: Pod, asked: AskedMove) -> None:
        self.moves.append(asked)
        for listener in self.listeners:
            listener(pod, asked)


class ExecutionView:
    """A ``ClusterView`` of a simulated cluster."""

    #: Nothing ever breaks off.
    interruptions = 0

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store, self._view = simulation.store, simulation.view

    @property
    def _cluster(self) -> ClusterSnapshot:
        return self._view.state.cluster

    def unknown(self, _kinds: Iterable[str]) -> str | None:
        """No kind is unknown."""
        return None

    def age(self, _kind: str) -> float:
        """Everything is as it is now."""
        return 0.0

    def pod(self, namespace: str, name: str) -> PodNow | None:
        """A pod; None if it is gone."""
        found: Pod | None = self._store.get("Pod", namespace, name)
        return None if found is None else _as_seen(found)

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        """The pods of a namespace that name an owner (a uid), by name, terminating ones too."""
        found = (pod for pod in self._store.owned(owner, "Pod") if pod.metadata.namespace == namespace)
        return [_as_seen(pod) for pod in sorted(found, key=key_of)]

    def takes_pods(self, node: str) -> bool:
        """Whether a node is there and not cordoned."""
        found: Node | None = self._store.get("Node", "", node)
        return found is not None and not found.spec.unschedulable

    def node_row(self, node: str) -> NodeRow | None:
        """Everything that is known of a node; None if there is no such node."""
        nodes = self._cluster.nodes
        return nodes.row(nodes.index[node]) if node in nodes.index else None

    def opt_out(self, namespace: str) -> str | None:
        """The value of a namespace's annotation ``restow.dev/eviction``; None if it has none."""
        found = self._cluster.kind("Namespace").get(("", namespace))
        annotations = None if found is None else found.metadata.annotations
        return None if annotations is None else annotations.eviction

    def replicas(self, namespace: str, owner: OwnerReference) -> int | None:
        """How many pods a ReplicaSet or ReplicationController wants; None of other kinds, or if it is gone."""
        return wanted_replicas(self._cluster.kind(owner.kind).get((namespace, owner.name)), owner)

    def has_room(self, budget: str) -> bool:
        """Whether a disruption budget (namespace/name) allows an eviction; one that is gone does."""
        namespace, _, name = budget.partition("/")
        found = self._store.get("PodDisruptionBudget", namespace, name)
        return found is None or found.status.disruptions_allowed > 0

    async def wait_for(self, predicate: Callable[[], bool], deadline: float) -> bool:
        """Wait until something holds; False if it still does not at ``deadline``, in the event loop's time."""
        while not predicate():
            if elapsed() >= deadline:
                return False
            await asyncio.sleep(_LOOK)
        return True


def _as_outcome(answer: EvictionAnswer) -> eviction.Outcome:
    """An answer of the simulated API, as a client takes it."""
    if answer.is_evicted:
        return eviction.EvictionAccepted()
    if answer.code == NOT_FOUND:
        return eviction.AlreadyGone(answer.message)
    if answer.code == TOO_MANY_REQUESTS:
        return eviction.BudgetExhausted(answer.message, answer.message, None)
    if answer.code == INTERNAL_ERROR:
        return eviction.Misconfigured(answer.message)
    return eviction.EvictionFailed(answer.message, answer.code)


def _as_seen(pod: Pod) -> PodNow:
    metadata = pod.metadata
    return PodNow(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        node=pod.node or None,
        phase=PHASES.get(pod.status.phase, Phase.UNKNOWN),
        flags=Flag.TERMINATING if metadata.is_terminating else Flag(0),
        owners=metadata.owner_references or (),
        conditions=pod.status.conditions or (),
        created=time_of(metadata.creation_timestamp),
        labels=metadata.labels or {},
        started=time_of(pod.status.start_time),
        vetoes=_vetoes(pod),
    )


def _vetoes(pod: Pod) -> PodVetoes:
    if not pod.metadata.annotations:
        return NO_VETOES
    volumes = msgspec.convert(pod.spec.get("volumes") or (), tuple[Volume, ...])
    return vetoes_of(msgspec.convert(pod.metadata.annotations, PodAnnotations), volumes)
