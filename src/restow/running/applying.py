"""A plan that was made before, carried out on the cluster as it is now.

First it is decided again, without anything written: that is what is promised. Then it is decided once more and carried
out as ``restow run`` carries out its own plans. Where something goes astray, what is left is decided anew; a plan is never
added to. What was promised and does not hold any more is dropped, move by move.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from restow.client.permitted_body import Permit
from restow.cluster.snapshot import Cluster
from restow.descheduling.plan import Move, Placement, Plan, PodRef
from restow.descheduling.planning import make_plan
from restow.descheduling.replaying import ChangeFound, RefusedMove, Replay, replay
from restow.descheduling.saved_plan import SavedPlan
from restow.descheduling.steering import Steering as SteeringKind
from restow.errors import InputError
from restow.executing.execution import LEADERSHIP_ENDED, Execution
from restow.executing.ledger import Ledger, ProposalKey, apart
from restow.executing.memory import Memory
from restow.executing.outcomes import Dropped, Evicted, Outcome
from restow.executing.revalidation import gone, stale
from restow.executing.settings import Clock, Settings, elapsed
from restow.executing.steering import NoSteering, Steers
from restow.executing.surroundings import Evicting
from restow.executing.task import Task
from restow.executing.tasks import tasks_of
from restow.executing.windows import closed
from restow.kube.duration import SECOND
from restow.live.cluster import LiveCluster
from restow.live.kinds import PERMITTING
from restow.policies.policy import Policy
from restow.running.off_loop import off_loop
from restow.running.replanning import conclude, leads_astray
from restow.scheduling.profiles import SchedulerProfile

#: What a decision may take (seconds): many times what the largest plan takes, so that it will never end.
_ENDLESS: Final = 1800.0
#: How long the watches get to show what was just evicted (seconds).
_SEEN: Final = 10.0
_INTERRUPTED: Final = "restow apply was interrupted"
_NOT_BEGUN: Final = "it was not begun"


@dataclass(slots=True, frozen=True)
class Order:
    """A plan that was read, and what it was made by."""

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
    def steers(self) -> bool:
        """Whether replacements are nominated where the cluster offers it."""
        return self.placement == "prove" and self.policy.restow.steering in {"auto", "nominate"}


@dataclass(slots=True, frozen=True)
class Promise:
    """What of a plan holds on the cluster as it is now."""

    #: Only its moves, with what becomes of the load.
    plan: Plan
    refused: tuple[RefusedMove, ...]
    #: Why replacements are not steered although the policy allows it; None where they are, or need not be.
    unsteered: str | None


@dataclass(slots=True, frozen=True)
class _Decision:
    """One decision about moves."""

    found: Replay
    tasks: tuple[Task, ...]
    #: When, in nanoseconds since the epoch, and what it took in seconds.
    now: int
    seconds: float


@dataclass(slots=True)
class Application:
    """Applies one plan, once."""

    order: Order
    live: LiveCluster
    #: With a permission, whoever evicts.
    evictions: Callable[[Permit], Evicting]
    #: Why nothing is steered; None where the cluster offers it.
    not_offered: Callable[[], Awaitable[str | None]]
    #: With a permission, steering while it lasts; None where there is none after all.
    steering: Callable[[Permit], AbstractAsyncContextManager[Steers | None]]
    #: What time it is in the cluster.
    clock: Clock
    ledger: Ledger = field(init=False)
    #: Set when it is to end early.
    interrupted: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _execution: Execution | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.order.plan.moves)

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

    async def promise(self) -> Promise:
        """Decide what holds, and write it down; InputError for what the cluster shows to be wrong in the policy."""
        unsteered = await self.not_offered() if self.order.steers else None
        steering: SteeringKind = "nominate" if self.order.steers and unsteered is None else "none"
        decision = await self._decide(self.order.plan.moves, steering)
        plan = make_plan(decision.found.cycle, decision.now, self.order.placement)
        self.ledger.refuse(decision.found.refused)
        self.ledger.promise(plan.moves)
        return Promise(plan, decision.found.refused, unsteered)

    async def carry_out(self, permit: Permit, on_outcome: Callable[[Outcome], None]) -> None:
        """Make the moves that were promised and still hold; what became of each is in the ledger."""
        memory = Memory()
        try:
            async with self.steering(permit) as offered:
                steers = offered
                while self.ledger.open and not self.interrupted.is_set() and permit() > 0:
                    decision = await self._decide(self.ledger.open, "none" if steers is None else "nominate")
                    if self.interrupted.is_set():
                        break
                    self.ledger.drop(decision.found.refused)
                    self.ledger.promise(task.move for task in decision.tasks)
                    if not await self._execute(decision, permit, steers or NoSteering(), memory, on_outcome):
                        steers = None
        finally:
            why = _INTERRUPTED if self.interrupted.is_set() else LEADERSHIP_ENDED if permit() <= 0 else _NOT_BEGUN
            self.ledger.close("Stopped", why)

    async def _decide(self, moves: Sequence[Move], steering: SteeringKind) -> _Decision:
        began = time.perf_counter()
        broken = self.ledger.broken
        changed = {each.pod.uid: why for each in moves if (why := self._changed(each, broken)) is not None}
        now = int(self.clock() * SECOND)
        compute = partial(self._replayed, self.live.snapshot(), moves, changed, now, steering)
        found, tasks = await off_loop(compute, _ENDLESS)
        return _Decision(found, tasks, now, time.perf_counter() - began)

    def _replayed(
        self,
        cluster: Cluster,
        moves: Sequence[Move],
        changed: Mapping[str, ChangeFound],
        now: int,
        steering: SteeringKind,
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
                changed=changed,
            )
        except InputError as error:
            # What only the cluster can show to be wrong in the policy: a priority class that is not there.
            raise InputError(f"{order.name}: policy: {error}") from error
        return found, tasks_of(found.cycle, order.policy.restow)

    def _changed(self, move: Move, broken: Mapping[ProposalKey, PodRef]) -> ChangeFound | None:
        """Why a move is out of date, as it is asked just before an eviction."""
        asked: tuple[tuple[str, Callable[[], str | None]], ...] = (
            ("Unknown", lambda: self.live.unknown(PERMITTING)),
            ("Gone", lambda: gone(move, self.live)),
            ("Window", lambda: closed(self.order.policy.restow.windows, self.clock())),
            ("Stale", lambda: stale(move, self.live)),
            ("Stale", lambda: apart(move, broken)),
        )
        return next(((code, message) for code, ask in asked if (message := ask()) is not None), None)

    async def _execute(
        self,
        decision: _Decision,
        permit: Permit,
        steers: Steers,
        memory: Memory,
        on_outcome: Callable[[Outcome], None],
    ) -> bool:
        """Carry out a decision up to where it leads astray; whether replacements can still be steered."""
        settings = Settings.of(self.order.policy.restow)
        execution = Execution(self.live, self.evictions(permit), permit, settings, memory, self.clock, steers)
        self._execution = execution
        timer: asyncio.TimerHandle | None = None
        astray = is_unsteered = False
        evicted: list[Task] = []
        try:
            async with aclosing(execution.carry_out(decision.tasks)) as outcomes:
                async for outcome in outcomes:
                    self.ledger.note(outcome)
                    on_outcome(outcome)
                    match outcome:
                        case Evicted(task):
                            evicted.append(task)
                        case Dropped(_, _, "Unsteered"):
                            is_unsteered = True
                    if not astray and leads_astray(outcome):
                        astray, timer = True, conclude(execution, decision.seconds)
        finally:
            self._execution = None
            if timer is not None:
                timer.cancel()
        if self.ledger.open:
            await self.live.wait_for(lambda: self._is_seen(evicted), elapsed() + _SEEN)
        return not is_unsteered

    def _is_seen(self, evicted: Iterable[Task]) -> bool:
        """Whether the watches tell of what was evicted, and its budgets have counted the replacements."""
        return all(gone(each.move, self.live) and all(map(self.live.has_room, each.budgets)) for each in evicted)
