"""A descheduler as an actor: it looks at the cluster every so often, decides, and evicts.

It decides with what decides elsewhere (``executing.deciding``), on the state as it is. In ``upstream`` placement it is the
Kubernetes Descheduler, which asks for all moves of a plan at once. In ``prove`` it is restow: the executor of ``restow run``
itself carries the plans out, in virtual time, with all of its rules. So moves wait for landings, budgets and windows, go side
by side where they may, the rest is planned again where a replacement lands elsewhere, and workloads whose moves come to
nothing are left alone for a while. Deciding takes no time here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from restow.client.leadership import always
from restow.descheduling.plan import Move
from restow.descheduling.planning import policy_as_asked
from restow.executing.deciding import Before, CycleDecision, CycleRules, decide
from restow.executing.execution import Execution
from restow.executing.memory import EvictionHistory
from restow.executing.replanning import CycleProgress, carried_out, makes_room
from restow.executing.settings import ExecutionSettings, closed, elapsed
from restow.executing.task import Task
from restow.kube.manifests import Pod
from restow.kube.timestamps import SECOND
from restow.policies.codes import Placement
from restow.policies.policy import Policy
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.simulating.eviction import CREATED, NOT_FOUND, EvictionAnswer, evict
from restow.simulating.execution_view import ExecutionView, SimulatedEvictions
from restow.simulating.simulation import VirtualCluster
from restow.simulating.virtual_time import VirtualTask
from restow.simulating.work_queue import DELIVERY


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
    #: What the eviction API answered.
    code: int

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
            evicting=SimulatedEvictions(self._ask),
            permit=always,
            settings=ExecutionSettings.of(policy.restow),
            memory=EvictionHistory(),
            clock=lambda: self._clock.now / SECOND,
            chance=simulation.chance.stream("descheduler"),
        )
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
        before = Before(progress.prior_evictions, progress.given_up, execution.memory.pausing(elapsed()))
        decision = self._decide(before)
        if not decision.tasks or closed(execution.settings.windows, execution.clock()) is not None:
            return False
        steps, given_up = progress.steps, len(progress.given_up)
        astray = await carried_out(execution, decision.tasks, 0.0, progress.note)
        more = astray or await makes_room(self._view, decision.cycle, progress, given_up)
        return more and progress.steps > steps

    def _decide(self, before: Before) -> CycleDecision:
        return decide(self._simulation.view.state.cluster, self._rules, before, self._clock.now)

    def _ask(self, task: Task) -> EvictionAnswer:
        """Ask for an eviction."""
        wanted = task.move.pod
        pod: Pod | None = self._store.get("Pod", wanted.namespace, wanted.name)
        if pod is None or pod.metadata.uid != wanted.uid or pod.metadata.is_terminating:
            return EvictionAnswer(NOT_FOUND, f'pods "{wanted.name}" not found')
        answer = evict(self._store, wanted.namespace, wanted.name)
        asked = AskedMove(self._clock.now, task.move, answer.code)
        self.moves.append(asked)
        for listener in self.listeners:
            listener(pod, asked)
        return answer
