"""The shell of an execution: asks, waits, and tells what happens.

The agenda says which task may go. Its coroutine looks at the newest state once more, asks for the eviction and follows
the replacement until it is ready. What is to be told goes through one queue to whoever iterates, so outcomes come in the
order in which they happened. ``stop`` lets requests that are out come to their end and begins no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

from restow.client import eviction
from restow.client.back_off import BackOff
from restow.client.errors import NotPermitted
from restow.client.transport import Permit
from restow.descheduling.succession import Succession
from restow.executing.agenda import Agenda
from restow.executing.following import Following
from restow.executing.memory import Memory
from restow.executing.outcomes import (
    ENDINGS,
    Blocked,
    Cleared,
    Dropped,
    Evicted,
    Failed,
    Missing,
    Outcome,
    Unready,
    Waiting,
)
from restow.executing.revalidation import gone, stale, still_awaited
from restow.executing.settings import Clock, Settings
from restow.executing.surroundings import Evicting, Sight
from restow.executing.task import Task
from restow.executing.windows import closed

#: Between two requests for the same pod (seconds).
_ASK_AGAIN = BackOff(first=0.25, cap=8.0, jitter=0.25)
#: After these, later moves do not find the cluster as the plan has it.
_ASTRAY = (Waiting, Dropped, Blocked, Failed, Missing, Unready)
LEADERSHIP_ENDED = "leadership has ended"


@dataclass(slots=True)
class Execution:
    """Carries out plans on a cluster; a ``Carrying``."""

    sight: Sight
    evicting: Evicting
    permit: Permit
    settings: Settings
    memory: Memory
    clock: Clock
    _run: _Run | None = field(default=None, init=False)

    def carry_out(self, tasks: Iterable[Task]) -> AsyncIterator[Outcome]:
        """What becomes of the tasks, as it happens; each has one ending. One plan at a time."""
        self._run = _Run(self, tasks)
        return self._run.outcomes()

    def stop(self, why: str) -> None:
        """Begin no more evictions, and do not wait for replacements any longer."""
        if self._run is not None:
            self._run.stop(why)


class _Run:
    """One plan on its way."""

    def __init__(self, execution: Execution, tasks: Iterable[Task]) -> None:
        self._with = execution
        self._agenda = Agenda(tasks, execution.settings.width)
        self._following = Following(execution.sight, execution.memory, execution.settings, execution.clock)
        self._told: asyncio.Queue[Outcome | BaseException] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._coroutines: set[asyncio.Task[None]] = set()
        #: How often each task was asked for, and those of which the answer never came.
        self._asked: dict[int, int] = {}
        self._unsure: set[int] = set()
        self._stopped: str | None = None

    async def outcomes(self) -> AsyncIterator[Outcome]:
        try:
            while True:
                self._changed.clear()
                while (task := self._agenda.start(self._with.clock())) is not None:
                    self._begin(task)
                while not self._told.empty():
                    told = self._told.get_nowait()
                    if isinstance(told, BaseException):
                        raise told
                    yield told
                if self._agenda.is_finished:
                    return
                await self._news()
        finally:
            for each in self._coroutines:
                each.cancel()
            await asyncio.gather(*self._coroutines, return_exceptions=True)

    def stop(self, why: str) -> None:
        self._stopped = self._stopped or why
        self._following.stop(self._stopped)
        self._agenda.hurry()
        self._changed.set()

    async def _news(self) -> None:
        """Wait until something has changed, or a task is to be asked again."""
        wakes_at = self._agenda.wakes_at()
        pause = None if wakes_at is None else max(0.0, wakes_at - self._with.clock())
        try:
            async with asyncio.timeout(pause):
                await self._changed.wait()
        except TimeoutError:
            return

    def _begin(self, task: Task) -> None:
        coroutine = asyncio.create_task(self._carry(task), name=f"evict {task.move.pod}")
        self._coroutines.add(coroutine)
        coroutine.add_done_callback(self._ended)

    def _ended(self, coroutine: asyncio.Task[None]) -> None:
        self._coroutines.discard(coroutine)
        if not coroutine.cancelled() and (error := coroutine.exception()) is not None:
            self._told.put_nowait(error)
        self._changed.set()

    def _tell(self, outcome: Outcome) -> None:
        self._told.put_nowait(outcome)
        if isinstance(outcome, _ASTRAY):
            self._following.stray(outcome.task)
        if isinstance(outcome, ENDINGS):
            self._agenda.finish(outcome.task)
            self._following.forget(outcome.task)
        self._changed.set()

    async def _carry(self, task: Task) -> None:
        unsure = task.number in self._unsure
        if unsure and gone(task, self._with.sight):
            await self._follow(task)
        elif (objection := self._objection(task)) is None:
            await self._ask(task)
        elif unsure:
            self._tell(Failed(task, f"the API server did not answer, and is not asked again: {objection}"))
        else:
            self._tell(Dropped(task, objection))

    def _objection(self, task: Task) -> str | None:
        """Why a task is not begun, or not asked for again."""
        run, now = self._with, self._with.clock()
        if self._stopped is None and run.permit() <= 0:
            self.stop(LEADERSHIP_ENDED)
        if self._stopped is not None:
            return self._stopped
        return (
            gone(task, run.sight)
            or closed(run.settings.windows, now)
            or run.memory.objection(task, now)
            or still_awaited(task, run.sight, run.memory)
            or stale(task, run.sight, now, run.settings.ready)
        )

    async def _ask(self, task: Task) -> None:
        self._following.expect(task)
        self._asked[task.number] = self._asked.get(task.number, 0) + 1
        try:
            answer = await self._with.evicting.evict(task)
        except NotPermitted:
            self.stop(LEADERSHIP_ENDED)
            await self._carry(task)
            return
        match answer:
            case eviction.Evicted():
                await self._follow(task)
            case eviction.AlreadyGone(message) if task.number not in self._unsure:
                self._tell(Dropped(task, message))
            case eviction.AlreadyGone():
                await self._follow(task)
            case eviction.Blocked(message, budget, pause):
                self._put_off(task, Blocked(task, f"{budget or message}, for too long"), budget or message, pause)
            case eviction.Busy(message, pause):
                self._put_off(task, Failed(task, message), message, pause)
            case eviction.Unanswered(message):
                self._unsure.add(task.number)
                self._put_off(task, Failed(task, message), message, None)
            case eviction.Misconfigured(message) | eviction.Denied(message) | eviction.Failed(message):
                self._tell(Failed(task, message))

    def _put_off(self, task: Task, ending: Outcome, message: str, pause: float | None) -> None:
        wait = _ASK_AGAIN.wait(self._asked[task.number], pause)
        if not self._agenda.postpone(task, self._with.clock(), wait, self._with.settings.budget):
            self._tell(ending)
        elif self._asked[task.number] == 1:
            self._tell(Waiting(task, message))
        if self._stopped is not None:
            self._agenda.hurry()
        self._changed.set()

    async def _follow(self, task: Task) -> None:
        self._tell(Evicted(task))
        self._agenda.answered(task)
        if task.succession in (Succession.CLEARED, Succession.LOST):
            self._tell(Cleared(task))
            return
        async for outcome in self._following.follow(task):
            self._agenda.landed(task)
            self._tell(outcome)
