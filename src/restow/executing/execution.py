"""Carries out a plan: asks for evictions, waits for replacements, and reports what happens.

``EvictionQueue`` says which task may start. The task's coroutine checks the newest state once more, asks for the eviction and
follows the replacement until it is ready. Outcomes go through one queue to the caller, so they come in the order in which
they happened. ``stop`` waits only for requests that were already sent; ``conclude`` also waits for the replacements of pods
that were already evicted. Neither begins another eviction.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from msgspec import structs

from restow.client import eviction
from restow.client.errors import NotPermitted
from restow.client.flow_control import BackOff
from restow.client.transport import Permit
from restow.executing.eviction_queue import EvictionQueue, Pace
from restow.executing.following import Following, FreePlaces
from restow.executing.history import EvictionHistory
from restow.executing.replacing import Ways, replaced_first
from restow.executing.revalidation import Rejection, gone, rejection
from restow.executing.steering import NoSteering, Steers
from restow.executing.surroundings import Clock, ClusterView, Evicting, ExecutionSettings, elapsed
from restow.executing.task import (
    ENDINGS,
    UNFULFILLED,
    Blocked,
    Cleared,
    Dropped,
    Evicted,
    Failed,
    Outcome,
    Postponed,
    Requested,
    Settled,
    Task,
)
from restow.policies.codes import OutcomeCode, ReplacementMode

#: Between two requests for the same pod (seconds).
ASK_AGAIN = BackOff(first=0.25, cap=8.0, jitter=0.25)
#: After these, the cluster is not as the plan assumes for later moves.
_ASTRAY = (Postponed, *UNFULFILLED)
#: The answer of a webhook that does not allow the eviction but moves the pod itself. Source: Descheduler 0.36, evictions.
_IN_BACKGROUND = "Eviction triggered evacuation"
#: Between two looks whether a budget has room (seconds), and after how many looks a waiting pod is reported.
_LOOK_AGAIN = BackOff(first=0.05, cap=0.5, factor=1.5, jitter=0.1)
_LOOKS_BEFORE_REPORT = 10
LEADERSHIP_ENDED = "leadership has ended"
_NO_WAY: Final = "no replacement comes first here"
#: Timers may end slightly early (seconds): what is due within this time counts as due, or the loop would spin.
_TICK = 0.001
#: Seconds within which a request that was sent takes effect, if at all; a webhook may take 30. This long, an answer is
#: waited for after a stop, and the end of a pod after its answer was lost.
LAST_ANSWERS: Final = 30.0


@dataclass(slots=True)
class Execution:
    """Carries out plans on a cluster."""

    view: ClusterView
    evicting: Evicting
    permit: Permit
    settings: ExecutionSettings
    memory: EvictionHistory
    clock: Clock
    steering: Steers = field(default_factory=NoSteering)
    ways: Ways = field(default_factory=dict)
    #: Spreads repeated requests.
    chance: Random = field(default_factory=Random)
    _run: _Run | None = field(default=None, init=False)

    def carry_out(self, tasks: Iterable[Task]) -> AsyncGenerator[Outcome, None]:
        """Yield the outcomes of the tasks as they happen; each task has one ending. Only one plan at a time."""
        self._run = _Run(self, tasks)
        return self._run.outcomes()

    def stop(self, why: str) -> None:
        """Begin no more evictions, and do not wait for replacements any longer."""
        if self._run is not None:
            self._run.stop(why)

    def conclude(self, why: str) -> None:
        """Begin no more evictions, and wait for the replacements of pods already evicted. The rest is planned again."""
        if self._run is not None:
            self._run.conclude(why)


class _Run:
    """One plan that is being carried out."""

    def __init__(self, execution: Execution, tasks: Iterable[Task]) -> None:
        self._with = execution
        self._pace = Pace()
        tasks = tuple(tasks)
        self._queue = EvictionQueue(tasks, self._pace)
        self._following = Following(
            execution.view, execution.memory, execution.settings, execution.steering, FreePlaces(tasks)
        )
        self._outcomes: asyncio.Queue[Outcome | BaseException] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._coroutines: set[asyncio.Task[None]] = set()
        #: How often each eviction was requested, and since when an answer is missing.
        self._asked: Counter[int] = Counter()
        self._unsure: dict[int, float] = {}
        #: The groups that restart because a pod of theirs was evicted.
        self._restarting: set[str] = set()
        #: Tasks that were reported as waiting.
        self._waiting: set[int] = set()
        #: Budgets that had no room until a task was given up: other tasks under them do not wait for room.
        self._full: set[str] = set()
        #: Budgets under which something was evicted.
        self._used: set[str] = set()
        #: Tasks that have begun, and those of which it is unknown whether their pods will go.
        self._open: dict[int, Task] = {}
        #: How often the budgets of each task were checked for room.
        self._looks: Counter[int] = Counter()
        self._stopped: Rejection | None = None
        #: The timeouts of requests that were sent; they have no deadline until a stop.
        self._patience: set[asyncio.Timeout] = set()

    async def outcomes(self) -> AsyncGenerator[Outcome, None]:
        try:
            while True:
                self._changed.clear()
                while (task := self._queue.start(elapsed() + _TICK)) is not None:
                    self._begin(task)
                while not self._outcomes.empty():
                    outcome = self._outcomes.get_nowait()
                    if isinstance(outcome, BaseException):
                        raise outcome
                    yield outcome
                if self._queue.is_finished:
                    return
                await self._wait_for_change()
        finally:
            for each in self._coroutines:
                each.cancel()
            await asyncio.gather(*self._coroutines, return_exceptions=True)
            await asyncio.gather(*map(self._await_no_more, self._open.values()), return_exceptions=True)

    def stop(self, why: str) -> None:
        self._following.stop(why)
        self._begin_no_more(Rejection(why, OutcomeCode.STOPPED))
        deadline = elapsed() + LAST_ANSWERS
        for patience in self._patience:
            if patience.when() is None:
                patience.reschedule(deadline)

    def conclude(self, why: str) -> None:
        self._begin_no_more(Rejection(why, OutcomeCode.REPLANNED))

    def _begin_no_more(self, reason_against: Rejection) -> None:
        if self._stopped is None or reason_against.code == OutcomeCode.STOPPED:
            self._stopped = reason_against
        self._queue.hurry()
        self._changed.set()

    async def _wait_for_change(self) -> None:
        """Wait until something has changed, or until a task is due again."""
        try:
            async with asyncio.timeout_at(self._queue.wakes_at()):
                await self._changed.wait()
        except TimeoutError:
            return

    def _begin(self, task: Task) -> None:
        coroutine = asyncio.create_task(self._attempt(task), name=f"evict {task.move.pod}")
        self._coroutines.add(coroutine)
        coroutine.add_done_callback(self._ended)

    def _ended(self, coroutine: asyncio.Task[None]) -> None:
        self._coroutines.discard(coroutine)
        if not coroutine.cancelled() and (error := coroutine.exception()) is not None:
            self._outcomes.put_nowait(error)
        self._changed.set()

    def _report(self, outcome: Outcome) -> None:
        self._outcomes.put_nowait(outcome)
        if isinstance(outcome, _ASTRAY):
            self._following.stray(outcome.task)
        if isinstance(outcome, ENDINGS):
            self._queue.finish(outcome.task)
            self._following.forget(outcome.task)
            self._unsure.pop(outcome.task.number, None)
        self._changed.set()

    async def _attempt(self, task: Task) -> None:
        """Take a task one step further. If its request may still be fulfilled later, its replacement stays awaited."""
        self._open[task.number] = task
        try:
            await self._carry(task)
        finally:
            if task.number not in self._unsure:
                await self._await_no_more(self._open.get(task.number, task))

    async def _await_no_more(self, task: Task) -> None:
        """Take the task out of what is open; what is cancelled on the way stays open, and is done at the end."""
        if task.is_steered:
            await self._with.steering.withdraw(task)
        self._open.pop(task.number, None)

    async def _carry(self, task: Task) -> None:
        unsure = task.number in self._unsure
        if (unsure or self._restarts(task)) and gone(task.move, self._with.view):
            self._following.expect(task)
            await self._follow(task)
        elif (reason_against := self._rejection(task)) is None:
            # What had to be evicted instead is evicted.
            if task.move.is_replaced_first and not self._asked[task.number]:
                await self._replace_first(task)
            elif not self._waits_for_room(task):
                await self._ask(task)
        elif unsure:
            self._leave(task, reason_against)
        else:
            self._report(Dropped(task, *reason_against))

    def _restarts(self, task: Task) -> bool:
        """Whether the controller deletes the pod, since another one of its group was evicted."""
        return task.restarts and task.group in self._restarting

    def _leave(self, task: Task, reason_against: Rejection) -> None:
        """Do not repeat a request that may have succeeded: wait and see whether the pod goes."""
        ending = Failed(task, f"the API server did not answer; no retry: {reason_against.message}")
        is_over = self._stopped is not None and self._stopped.code != OutcomeCode.REPLANNED
        if is_over or self._has_stayed(task):
            self._report(ending)
        else:
            self._put_off(task, ending, reason_against.message, None)

    def _has_stayed(self, task: Task) -> bool:
        """Whether the pod is still there after the time in which a request without an answer could still take effect."""
        seen = elapsed() - self._with.view.age("Pod")
        return seen > self._unsure[task.number] + LAST_ANSWERS

    def _rejection(self, task: Task) -> Rejection | None:
        """Why a task is not begun, or its eviction not requested again; None if it may be."""
        run, now = self._with, self._with.clock()
        if self._stopped is None and run.permit() <= 0:
            self.stop(LEADERSHIP_ENDED)
        if self._stopped is not None:
            return self._stopped
        return rejection(task, run.view, run.memory, run.settings, now)

    async def _ask(self, task: Task) -> None:
        self._following.expect(task)
        self._asked[task.number] += 1
        if (problem := await self._announce(task)) is not None:
            self._report(Dropped(task, problem, OutcomeCode.UNSTEERED))
            return
        try:
            if (problem := await self._reserve(task)) is not None:
                self._report(Dropped(task, problem, OutcomeCode.NOT_RESERVED))
                return
            began = elapsed()
            answer = await self._answer(task)
        except NotPermitted:
            self.stop(LEADERSHIP_ENDED)
            await self._carry(task)
            return
        self._pace.answered(elapsed() - began)
        await self._answered(task, answer)

    async def _replace_first(self, task: Task) -> None:
        """Have the replacement come first, and the pod go when that is ready."""
        self._following.expect(task)
        if (problem := await self._announce(task)) is not None:
            self._report(Dropped(task, problem, OutcomeCode.UNSTEERED))
            return
        try:
            way = self._with.ways.get(task.move.mode)
            begun = _NO_WAY if way is None else await way.begin(task)
            if way is None or isinstance(begun, str):
                await self._not_begun(task, str(begun))
                return
            came = await replaced_first(begun, way, self._following, self._with.steering, self._with.view)
        except NotPermitted:
            self.stop(LEADERSHIP_ENDED)
            self._report(Dropped(task, LEADERSHIP_ENDED, OutcomeCode.STOPPED))
            return
        if isinstance(came, str):
            self._report(Dropped(task, came, OutcomeCode.NOT_REPLACED_FIRST))
            return
        self._report(Evicted(task))
        self._queue.answered(task)
        self._queue.landed(task)
        self._report(came)
        self._report(Settled(task))

    async def _not_begun(self, task: Task, problem: str) -> None:
        """Evict the pod if the plan leaves that open, or let it stay."""
        if not task.evicts_instead:
            self._report(Dropped(task, problem, OutcomeCode.NOT_REPLACED_FIRST))
        elif not self._waits_for_room(task):
            # What is evicted has its replacement from the controller of the pod.
            await self._await_no_more(task)
            self._open[task.number] = evicted = structs.replace(task, gate="")
            await self._ask(evicted)

    async def _answered(self, task: Task, answer: eviction.Outcome) -> None:
        """Do what the API server's answer requires."""
        match answer:
            case eviction.EvictionAccepted():
                await self._follow(task)
            case eviction.AlreadyGone(message) if task.number not in self._unsure:
                self._report(Dropped(task, message, OutcomeCode.GONE))
            case eviction.AlreadyGone():
                await self._follow(task)
            case eviction.BudgetExhausted(message, budget, pause):
                self._wait_for_room(task, budget or message, pause)
            case eviction.Busy(message, _) if self._is_request(task, message):
                self._with.memory.request(task, elapsed())
                self._report(Requested(task))
            case eviction.Busy(message, pause):
                self._put_off(task, Failed(task, message), message, pause)
            case eviction.EvictionUnanswered(message):
                self._unsure.setdefault(task.number, elapsed())
                self._put_off(task, Failed(task, message), message, None)
            case eviction.Unconfirmed(message):
                self._report(Dropped(task, message, OutcomeCode.UNCONFIRMED))
            case eviction.Misconfigured(message) | eviction.Denied(message) | eviction.EvictionFailed(message):
                self._report(Failed(task, message))

    async def _announce(self, task: Task) -> str | None:
        """Have the replacement gated if it is to be steered; return why if that fails."""
        return await self._with.steering.announce(task) if task.is_steered else None

    async def _reserve(self, task: Task) -> str | None:
        """Have the replacement's place held if the plan says so; return why the pod stays if that fails."""
        if task.move.mode is not ReplacementMode.RESERVE:
            return None
        problem = await self._with.steering.reserve(task)
        return None if task.evicts_instead else problem

    async def _answer(self, task: Task) -> eviction.Outcome:
        """The API server's answer; after a stop, wait for it only a little longer."""
        patience = asyncio.timeout(None)
        try:
            async with patience:
                self._patience.add(patience)
                return await self._with.evicting.evict(task)
        except TimeoutError:
            return eviction.EvictionUnanswered(f"the API server did not answer within {LAST_ANSWERS:.0f} s of the stop")
        finally:
            self._patience.discard(patience)

    def _waits_for_room(self, task: Task) -> bool:
        """Postpone the task until the disruption controller has counted the previous replacement; False: ask now.

        For a budget that this plan has not used, ask first: the API server may know more than the status that we see.
        """
        watched = task.budgets if self._asked[task.number] else task.budgets & self._used
        full = [budget for budget in sorted(watched) if not self._with.view.has_room(budget)]
        if not full:
            return False
        self._looks[task.number] += 1
        pause = _LOOK_AGAIN.wait(self._looks[task.number], chance=self._with.chance)
        if not self._queue.postpone(task, elapsed(), pause, self._with.settings.budget):
            return False
        if self._looks[task.number] >= _LOOKS_BEFORE_REPORT:
            self._report_once(Postponed(task, f"The disruption budget {full[0]} allows no more disruptions"))
        self._changed.set()
        return True

    def _is_request(self, task: Task, refusal: str) -> bool:
        return self._with.settings.in_background and task.request_only and _IN_BACKGROUND in refusal

    def _wait_for_room(self, task: Task, message: str, pause: float | None) -> None:
        given_up = Blocked(task, f"{message}; restow has stopped retrying")
        if task.budgets & self._full:
            self._report(given_up)
        elif not self._put_off(task, given_up, message, pause):
            self._full |= task.budgets

    def _put_off(self, task: Task, ending: Outcome, message: str, pause: float | None) -> bool:
        """Ask again later. After the deadline, report the ending and return False."""
        wait = ASK_AGAIN.wait(self._asked[task.number], pause, self._with.chance)
        if not self._queue.postpone(task, elapsed(), wait, self._with.settings.budget):
            self._report(ending)
            return False
        self._report_once(Postponed(task, message))
        if self._stopped is not None and self._stopped.code == OutcomeCode.STOPPED:
            self._queue.hurry()
        self._changed.set()
        return True

    def _report_once(self, waiting: Postponed) -> None:
        if waiting.task.number not in self._waiting:
            self._waiting.add(waiting.task.number)
            self._report(waiting)

    async def _follow(self, task: Task) -> None:
        self._report(Evicted(task))
        if task.restarts:
            self._restarting.add(task.group)
        self._full -= task.budgets
        self._used |= task.budgets
        self._queue.answered(task)
        if not task.is_replaced:
            self._report(Cleared(task))
            return
        async for outcome in self._following.follow(task):
            self._queue.landed(task)
            self._report(outcome)
