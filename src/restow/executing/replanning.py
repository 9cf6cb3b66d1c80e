"""The plans of one cycle, each valid until an outcome invalidates the proofs of its later moves.

The cycle then decides again, and also when budgets that kept pods have room again. ``CycleProgress`` is what the next
plan has to know of those before it. A dry run carries out one plan, and has no client, so it cannot write.

Where replacements often land elsewhere, few moves of a plan are made before it ends, and making a new one of the whole
cluster each time would take most of the time. So the rest of a *whole* plan is *repaired*: the plans after it may move
only the next pods of that rest, twice as many as the last plan has moved. Strategies, limits and proofs are the same, on
the cluster as it is; what does not hold any more is dropped. When nothing is left of the rest, a whole plan follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Protocol

from msgspec import Struct

from restow.descheduling.cycle import Cycle
from restow.descheduling.limits import PriorEviction
from restow.executing.execution import Execution
from restow.executing.history import EvictionHistory
from restow.executing.surroundings import Clock, ClusterView, ExecutionSettings, closed, elapsed
from restow.executing.task import (
    UNFULFILLED,
    Blocked,
    Cleared,
    Dropped,
    Evicted,
    Failed,
    Landed,
    Outcome,
    Requested,
    Task,
    WouldEvict,
)
from restow.policies.codes import OutcomeCode, RefusalCode, Stage

#: What a move takes at least (seconds), from the request to the landing.
_A_MOVE: Final = 0.2
#: How many pods a repaired plan may move at least: so many proofs take less time than everything else of a plan.
_FEWEST: Final = 4
ANEW: Final = "the rest is planned again"
#: How long the watches get to show what was just evicted (seconds), before the rest is planned.
SEEN: Final = 10.0


class WaitingView(ClusterView, Protocol):
    """A view that can be waited for."""

    async def wait_for(self, predicate: Callable[[], bool], deadline: float) -> bool:
        """Wait until something holds; False if it still does not at ``deadline``, in the event loop's time."""
        ...


async def carried_out(
    execution: Execution, tasks: Sequence[Task], seconds: float, on_outcome: Callable[[Outcome], None]
) -> bool:
    """Make the moves of a plan that took so long to make (seconds), as far as it goes; whether it led astray.

    The rest is then to be planned again, once the plan was carried out for as long as it took to make.
    """
    began = elapsed()
    timer: asyncio.TimerHandle | None = None
    astray = False
    try:
        async with aclosing(execution.carry_out(tasks)) as outcomes:
            async for outcome in outcomes:
                on_outcome(outcome)
                if not astray and _invalidates_plan(outcome):
                    astray, timer = True, conclude(execution, seconds, began)
    finally:
        if timer is not None:
            timer.cancel()
    return astray


def _invalidates_plan(outcome: Outcome) -> bool:
    """Whether the outcome invalidates later proofs."""
    if isinstance(outcome, (Landed, Cleared)):
        return outcome.invalidates_plan
    return isinstance(outcome, UNFULFILLED) and outcome.task.is_proven


def conclude(execution: Execution, seconds: float, began: float) -> asyncio.TimerHandle | None:
    """Have a plan concluded that took so long to make (seconds), once it was carried out for as long as that.

    So deciding takes half of the time at most; where it takes no longer than a move, the plan ends before the next one.
    ``began`` is when the plan was begun, in the event loop's time.
    """
    left = began + seconds - elapsed()
    if left <= 0 or seconds <= _A_MOVE:
        execution.conclude(ANEW)
        return None
    return asyncio.get_running_loop().call_later(left, execution.conclude, ANEW)


@dataclass(slots=True)
class CycleProgress:
    """What a cycle has done so far, over all its plans."""

    #: Counts in its limits.
    prior_evictions: list[PriorEviction] = field(default_factory=list)
    #: Pods (uids) whose eviction was requested in vain, or could not be.
    given_up: set[str] = field(default_factory=set)
    #: Evicted, and perhaps not known to be.
    evicted: list[Task] = field(default_factory=list)
    #: Whether a replacement could not be steered: the rest of the cycle is unsteered.
    is_unsteered: bool = False
    #: The pods (uids) that the last whole plan moves and that may still be moved, in its order.
    _rest: dict[str, None] = field(default_factory=dict)
    #: How many of them the next plan may move, and how many the last one has.
    _most: int = _FEWEST
    _made: int = 0
    #: Whether the last plan was a whole one.
    _is_whole: bool = True

    @property
    def steps(self) -> int:
        """Grows with every outcome of a plan."""
        return len(self.prior_evictions) + len(self.given_up) + self.is_unsteered

    @property
    def repairs(self) -> bool:
        """Whether the last plan was a repaired one, or the next is: then another plan follows in any case."""
        return bool(self._rest) or not self._is_whole

    def may_move(self) -> frozenset[str] | None:
        """The pods (uids) that the next plan may move; None where it is a whole plan."""
        return frozenset(islice(self._rest, self._most)) or None

    def decided(self, cycle: Cycle, tasks: Iterable[Task], may_move: frozenset[str] | None) -> None:
        """A plan is made, of some pods or as a whole."""
        planned = dict.fromkeys(task.move.pod.uid for task in tasks)
        if may_move is None:
            # What is searched for as a whole, and what counts on a fence, is not planned in parts.
            self._rest = {} if cycle.record.searches or cycle.fence is not None else planned
        for uid in (may_move or frozenset()) - planned.keys():
            self._rest.pop(uid, None)
        self._made, self._is_whole = 0, may_move is None

    def carried_out(self, *, astray: bool) -> None:
        """The last plan has ended, led astray or not."""
        if not self._made or (self._is_whole and not astray):
            self._rest.clear()
        self._most = max(_FEWEST, 2 * self._made)

    def note(self, outcome: Outcome) -> None:
        """Remember what the next plan of the cycle has to know."""
        if isinstance(outcome, Evicted):
            self._made += 1
        if isinstance(outcome, (Evicted, *UNFULFILLED)) and not _is_replanned(outcome):
            self._rest.pop(outcome.task.move.pod.uid, None)
        match outcome:
            case Evicted(task):
                self.evicted.append(task)
                self._spend(task)
            case WouldEvict(task):
                self._spend(task)
            case Requested(task) | Dropped(task, _, OutcomeCode.REQUESTED):
                # What others are going to evict counts, too.
                self.given_up.add(task.move.pod.uid)
                self._spend(task)
            case Blocked(task) | Failed(task):
                self.given_up.add(task.move.pod.uid)
            case Dropped(_, _, OutcomeCode.UNSTEERED):
                self.is_unsteered = True
            case Dropped(task, _, code) if code != OutcomeCode.REPLANNED:
                self.given_up.add(task.move.pod.uid)

    def _spend(self, task: Task) -> None:
        move = task.move
        self.prior_evictions.append(PriorEviction(move.pod.namespace, move.source, move.profile, move.plugin))


def _is_replanned(outcome: Outcome) -> bool:
    return isinstance(outcome, Dropped) and outcome.code is OutcomeCode.REPLANNED


async def makes_room(view: WaitingView, cycle: Cycle, progress: CycleProgress, given_up: int) -> bool:
    """Whether other pods may go now that a plan has ended; ``given_up`` is how many pods had been given up before it.

    They may where pods were asked for in vain and limits kept others, since only evictions count in limits. They also may
    where budgets kept others and have room again, which their controller counts a moment after replacements are ready.
    """
    evicted, progress.evicted = progress.evicted, []
    reasons = [each.reason for each in cycle.record.refusals]
    if len(progress.given_up) > given_up and any(stage == Stage.LIMIT for stage, *_ in reasons):
        return True
    budgets = {budget for task in evicted for budget in task.budgets}
    if not budgets or not any(code == RefusalCode.DISRUPTION_BUDGET for _, code, _ in reasons):
        return False
    return await view.wait_for(lambda: any(map(view.has_room, budgets)), elapsed() + SEEN)


class DryRun(Struct, frozen=True):
    """Reports which moves would be made, and makes none."""

    settings: ExecutionSettings
    memory: EvictionHistory
    clock: Clock

    async def carry_out(self, tasks: Iterable[Task]) -> AsyncGenerator[Outcome, None]:
        """Yield one ending for each task, in the order of the plan."""
        for task in tasks:
            if (shut := closed(self.settings.windows, self.clock())) is not None:
                yield Dropped(task, shut, OutcomeCode.WINDOW)
            elif (why := self.memory.reason_against(task, elapsed())) is not None:
                yield Dropped(task, why, OutcomeCode.BACK_OFF)
            else:
                yield WouldEvict(task)
