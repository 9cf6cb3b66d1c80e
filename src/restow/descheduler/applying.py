"""Apply a saved plan to the cluster as it is now.

First decide the plan's moves again without writing anything: those that still hold are promised to the user. Then decide
them once more and carry them out as ``restow run`` does. If an outcome invalidates the rest, decide the remaining moves
again; never add a move. A promised move that no longer holds is dropped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from restow.client.transport import Permit
from restow.cluster.snapshot import ClusterSnapshot
from restow.daemon.background import LONGEST_DECISION
from restow.descheduler.offering import UNSTEERED, Choice
from restow.descheduler.steering import behind_fence
from restow.descheduling.plan import FENCE_EFFECTS, Fenced, Move, PlanDocument, PodRef
from restow.descheduling.plan_reading import SavedPlan
from restow.errors import InputError
from restow.executing.deciding import tasks_of
from restow.executing.execution import LEADERSHIP_ENDED, Execution
from restow.executing.history import EvictionHistory, Ledger, ProposalKey, UsageChanges, apart
from restow.executing.replacing import Ways
from restow.executing.replanning import ANEW, SEEN, carried_out
from restow.executing.revalidation import gone, stale, vetoed
from restow.executing.steering import NoSteering
from restow.executing.surroundings import Clock, Evicting, ExecutionSettings, closed, elapsed
from restow.executing.task import Dropped, Evicted, Outcome, Task
from restow.in_thread import in_thread
from restow.installed_packages import UnusablePackageError
from restow.kube.duration import SECOND
from restow.live.cluster import LiveCluster
from restow.live.reading import PERMITTING
from restow.live.usage import AskForUsage, no_usage
from restow.policies.codes import OutcomeCode, Placement, SteeringMode, SteeringSetting
from restow.policies.policy import Policy
from restow.proving.planning import fence_notes, fenced, make_plan
from restow.proving.replaying import ChangeFound, RefusedMove, Replay, replay, with_shared_candidates
from restow.scheduling.configuration.profiles import SchedulerProfile

_INTERRUPTED: Final = "restow apply was interrupted"
_NOT_BEGUN: Final = "it was not started"


@dataclass(slots=True, frozen=True)
class Order:
    """A saved plan, with the policy and the scheduler profiles that it was made with."""

    #: Of its file.
    name: str
    plan: SavedPlan
    policy: Policy
    #: Of the cluster's schedulers.
    profiles: tuple[SchedulerProfile, ...]

    @property
    def placement(self) -> Placement:
        """How the plan was made, and how it is decided again."""
        return self.plan.metadata.placement

    @property
    def moves(self) -> tuple[Move, ...]:
        """The plan's moves, with all nodes that they may land on."""
        return self.plan.moves if self.plan.fence is None else with_shared_candidates(self.plan.moves)

    @property
    def steering(self) -> SteeringMode:
        """How replacements are steered where the cluster offers it: behind the plan's fence, if it has one."""
        if self.placement != Placement.PROVE:
            return SteeringMode.NONE
        if (fence := self.plan.fence) is not None:
            return next(kind for kind, effect in FENCE_EFFECTS.items() if effect == fence.effect)
        wanted = self.policy.restow.steering
        may_nominate = wanted in {SteeringSetting.AUTO, SteeringSetting.NOMINATE}
        return SteeringMode.NOMINATE if may_nominate else SteeringMode.NONE


@dataclass(slots=True, frozen=True)
class Promise:
    """What holds of a plan on the cluster as it is now."""

    #: The moves that hold, and the load after them.
    plan: PlanDocument
    refused: tuple[RefusedMove, ...]
    #: What else is to be said of it.
    notes: tuple[str, ...]
    #: Why replacements are not steered although the policy allows it; None where they are, or need not be.
    unsteered: str | None


@dataclass(slots=True, frozen=True)
class _Decision:
    """One decision about moves."""

    found: Replay
    tasks: tuple[Task, ...]
    #: What the moves count on; None where nothing is fenced.
    fence: Fenced | None
    #: When, in nanoseconds since the epoch, and what it took in seconds.
    now: int
    seconds: float


@dataclass(slots=True)
class Application:
    """Applies one plan, once."""

    order: Order
    live: LiveCluster
    #: Makes what evicts, given a permission.
    evictions: Callable[[Permit], Evicting]
    #: Why nothing is steered; None where the cluster offers it.
    not_offered: Callable[[], Awaitable[str | None]]
    #: With a permission, steering while it lasts.
    steering: Callable[[Permit], AbstractAsyncContextManager[Choice]]
    #: What time it is in the cluster.
    clock: Clock
    #: Answers the queries of the policy.
    usage: AskForUsage = no_usage
    #: How replacements can come first, given a permission.
    ways: Callable[[Permit], Ways] = lambda _permit: {}
    ledger: Ledger = field(init=False)
    #: Set when it is to end early.
    interrupted: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    #: How the moves that were promised are steered.
    _promised: SteeringMode = field(init=False, default=SteeringMode.NONE)
    _choice: Choice = field(init=False, default=UNSTEERED)
    _execution: Execution | None = field(init=False, default=None)
    _usage_changes: UsageChanges = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.order.moves)
        self._usage_changes = UsageChanges(self.clock)

    def interrupt(self) -> None:
        """Begin no more evictions, and follow those that were made."""
        self.interrupted.set()
        if self._execution is not None:
            self._execution.conclude(_INTERRUPTED)

    def stop(self) -> None:
        """Begin no more evictions, and do not wait for replacements."""
        self.interrupted.set()
        if self._execution is not None:
            self._execution.stop(_INTERRUPTED)
        if self._choice.fencing is not None:
            self._choice.fencing.stop()

    async def promise(self) -> Promise:
        """Decide what holds, and write it down; InputError for what the cluster shows to be wrong in the policy."""
        unsteered = await self.not_offered() if self.order.steering != SteeringMode.NONE else None
        self._promised = self.order.steering if unsteered is None else SteeringMode.NONE
        decision = await self._decide(self.order.moves, self._promised)
        plan = make_plan(decision.found.cycle, decision.now, self.order.placement)
        self.ledger.refuse(decision.found.refused)
        self.ledger.promise(plan.moves)
        return Promise(plan, decision.found.refused, fence_notes(decision.found.cycle), unsteered)

    async def carry_out(self, permit: Permit, on_outcome: Callable[[Outcome], None]) -> None:
        """Make the promised moves that still hold; the ledger records the outcome of each."""
        memory = EvictionHistory()
        steered = self.steering(permit) if self._promised != SteeringMode.NONE else nullcontext(UNSTEERED)
        try:
            async with steered as self._choice:
                while self.ledger.open and not self.interrupted.is_set() and permit() > 0:
                    decision = await self._decide(self.ledger.open, self._choice.kind)
                    if self.interrupted.is_set():
                        break
                    self.ledger.drop(decision.found.refused)
                    self.ledger.promise(task.move for task in decision.tasks)
                    await self._execute(decision, permit, memory, on_outcome)
        finally:
            why = _INTERRUPTED if self.interrupted.is_set() else LEADERSHIP_ENDED if permit() <= 0 else _NOT_BEGUN
            self.ledger.close(OutcomeCode.STOPPED, why)

    async def _decide(self, moves: Sequence[Move], steering: SteeringMode) -> _Decision:
        began = time.perf_counter()
        broken = self.ledger.broken
        changed = {each.pod.uid: why for each in moves if (why := self._changed(each, broken)) is not None}
        now = int(self.clock() * SECOND)
        cluster = replace(
            self.live.snapshot(),
            usage=await self.usage(self.order.policy),
            usage_changes=self._usage_changes.now(),
        )
        compute = partial(self._replayed, cluster, moves, changed, now, steering)
        found, tasks = await in_thread(compute, LONGEST_DECISION)
        return _Decision(found, tasks, fenced(found.cycle), now, time.perf_counter() - began)

    def _replayed(
        self,
        cluster: ClusterSnapshot,
        moves: Sequence[Move],
        changed: Mapping[str, ChangeFound],
        now: int,
        steering: SteeringMode,
    ) -> tuple[Replay, tuple[Task, ...]]:
        order = self.order
        try:
            found = replay(
                cluster,
                order.policy,
                moves,
                now,
                order.profiles,
                placement=order.placement,
                steering=steering,
                fence=order.plan.fence,
                changed=changed,
            )
        except UnusablePackageError:
            raise
        except InputError as error:
            # What only the cluster can show to be wrong in the policy: a priority class that is not there.
            raise InputError(f"{order.name}: policy: {error}") from error
        return found, tasks_of(found.cycle, order.policy)

    def _changed(self, move: Move, broken: Mapping[ProposalKey, PodRef]) -> ChangeFound | None:
        """Why a move is out of date, as it is asked just before an eviction."""
        asked: tuple[tuple[OutcomeCode, Callable[[], str | None]], ...] = (
            (OutcomeCode.UNKNOWN, lambda: self.live.unknown(PERMITTING)),
            (OutcomeCode.GONE, lambda: gone(move, self.live)),
            (OutcomeCode.WINDOW, lambda: closed(self.order.policy.restow.windows, self.clock())),
            (OutcomeCode.VETOED, lambda: vetoed(move, self.live, self.order.policy.restow.vetoes, self.clock())),
            (OutcomeCode.STALE, lambda: stale(move, self.live)),
            (OutcomeCode.STALE, lambda: apart(move, broken)),
        )
        return next(((code, message) for code, ask in asked if (message := ask()) is not None), None)

    async def _execute(
        self, decision: _Decision, permit: Permit, memory: EvictionHistory, on_outcome: Callable[[Outcome], None]
    ) -> None:
        """Carry out a decision until an outcome invalidates the rest."""
        settings, steers = ExecutionSettings.of(self.order.policy.restow), self._choice.steering or NoSteering()
        evicted: list[Task] = []
        is_unsteered = False

        def note(outcome: Outcome) -> None:
            nonlocal is_unsteered
            self.ledger.note(outcome)
            self._usage_changes.note(outcome)
            on_outcome(outcome)
            match outcome:
                case Evicted(task):
                    evicted.append(task)
                case Dropped(_, _, OutcomeCode.UNSTEERED):
                    is_unsteered = True

        before = len(self.ledger.open)
        async with behind_fence(self._choice.fencing, decision.fence, self._replan) as problem:
            if problem is None and not self.interrupted.is_set():
                evicting = self.evictions(permit)
                self._execution = Execution(
                    self.live, evicting, permit, settings, memory, self.clock, steers, self.ways(permit)
                )
                try:
                    await carried_out(self._execution, decision.tasks, decision.seconds, note)
                finally:
                    self._execution = None
        if problem is not None or is_unsteered or len(self.ledger.open) == before:
            await self._go_unsteered()
        if self.ledger.open:
            await self.live.wait_for(lambda: self._is_seen(evicted), elapsed() + SEEN)

    async def _go_unsteered(self) -> None:
        """Decide the remaining moves without steering."""
        if self._choice.fencing is not None:
            await self._choice.fencing.lift()
        self._choice = UNSTEERED

    def _replan(self) -> None:
        """Conclude the plan in progress, because its fence is gone."""
        if self._execution is not None:
            self._execution.conclude(ANEW)

    def _is_seen(self, evicted: Iterable[Task]) -> bool:
        """Whether the watches show the evictions, and the budgets count the replacements."""
        return all(gone(each.move, self.live) and all(map(self.live.has_room, each.budgets)) for each in evicted)
