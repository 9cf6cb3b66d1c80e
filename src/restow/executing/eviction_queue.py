"""What may be evicted now: the order of the plan, held back only by evictions in progress and by the pace.

A task that starts claims its workload until it ends, and its budgets until the API server has answered. A proven move
assumes the landings of all moves before it, so it also waits for those. There are two exceptions: a move before it that
lands only after it, and two moves whose steered landings do not depend on each other (``Task.goes_beside``), which run
at the same time, up to the pace. Moves whose landings are not known run at the same time too. Tasks with the same claim
wait in one lane in the plan's order, and are checked again only when a claim is released or when their turn may be due.
There is no clock and no I/O: the time is an argument, in seconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Final, Literal

from restow.executing.task import Task

#: What is claimed: a workload, a budget.
Claim = tuple[Literal["workload", "budget"], str]
_Lane = deque[Task]

#: The least number of evictions at a time, which is also the first, and the most.
_LEAST: Final = 4
_MOST: Final = 16
#: Seconds: below the first, an answer was as quick as the tick allows; above the second, it was late.
_QUICK: Final = 0.12
_LATE: Final = 0.2


class EvictionQueue:
    """The tasks of one plan; at most ``pace.width`` evictions are requested at a time."""

    def __init__(self, tasks: Iterable[Task], pace: Pace) -> None:
        self._pace = pace
        self._claimed: Counter[Claim] = Counter()
        #: The claims of each task that has begun and not ended, by number.
        self._holding: dict[int, set[Claim]] = {}
        self._asking: set[int] = set()
        #: Tasks to ask again, by time.
        self._again: list[tuple[float, int, Task]] = []
        #: When a task was put off for the first time.
        self._since: dict[int, float] = {}
        #: Lanes whose first task may start, by its number, and those that wait for a claim.
        self._open: list[tuple[int, _Lane]] = []
        self._parked: defaultdict[Claim, list[_Lane]] = defaultdict(list)
        #: Lanes whose turn has not come yet, by the number of their first task.
        self._late: list[tuple[int, _Lane]] = []
        #: Proven moves that later ones wait for, in order, and all moves that no other move waits for.
        self._sequence: deque[Task] = deque()
        self._passed: set[int] = set()
        lanes: defaultdict[object, _Lane] = defaultdict(deque)
        for task in tasks:
            lanes[task.workload, task.budgets].append(task)
            if task.is_proven:
                self._sequence.append(task)
        self._waiting = sum(map(len, lanes.values()))
        self._open = [(lane[0].number, lane) for lane in lanes.values()]
        heapify(self._open)

    @property
    def is_finished(self) -> bool:
        """Whether every task has ended."""
        return not self._waiting and not self._holding

    def start(self, now: float) -> Task | None:
        """The next task to evict; None if none may start. It counts as asked until ``postpone``, ``answered`` or ``finish``."""
        if len(self._asking) >= self._pace.width:
            return None
        task = self._repeated(now) or self._fresh()
        if task is not None:
            self._asking.add(task.number)
        return task

    def wakes_at(self) -> float | None:
        """When the next postponed task is due; None if there is none."""
        return self._again[0][0] if self._again and len(self._asking) < self._pace.width else None

    def postpone(self, task: Task, now: float, pause: float, patience: float) -> bool:
        """Ask again after a pause, and let later moves go first. False, and no change, if that exceeds the deadline."""
        if now + pause > self._since.setdefault(task.number, now) + patience:
            return False
        self._asking.discard(task.number)
        self._pass(task)
        heappush(self._again, (now + pause, task.number, task))
        return True

    def hurry(self) -> None:
        """Make all postponed tasks due now."""
        self._again = [(float("-inf"), number, task) for _, number, task in self._again]
        heapify(self._again)

    def answered(self, task: Task) -> None:
        """The API server has accepted the eviction: release the task's budgets."""
        self._asking.discard(task.number)
        self._give_back(task, "budget")
        if task.lands_late:
            self._pass(task)

    def landed(self, task: Task) -> None:
        """The replacement has a node, or will get none: later moves need not wait for it."""
        self._pass(task)

    def finish(self, task: Task) -> None:
        """The task has ended in any way: release all its claims."""
        self._asking.discard(task.number)
        self._give_back(task, "workload")
        self._give_back(task, "budget")
        self._pass(task)
        del self._holding[task.number]

    def _repeated(self, now: float) -> Task | None:
        return heappop(self._again)[2] if self._again and self._again[0][0] <= now else None

    def _fresh(self) -> Task | None:
        while self._open:
            number, lane = heappop(self._open)
            if lane[0].is_proven and not self._has_turn(lane[0]):
                heappush(self._late, (number, lane))
            elif (obstacle := self._obstacle(lane[0])) is not None:
                self._parked[obstacle].append(lane)
            else:
                return self._begin(lane)
        return None

    def _begin(self, lane: _Lane) -> Task:
        task = lane.popleft()
        self._waiting -= 1
        self._holding[task.number] = claims = {("workload", task.workload), *_budgets(task)}
        self._claimed.update(claims)
        if lane:
            heappush(self._open, (lane[0].number, lane))
        return task

    def _obstacle(self, task: Task) -> Claim | None:
        """The claim that must be released first; None if the task may start."""
        if self._claimed["workload", task.workload] >= task.limit:
            return "workload", task.workload
        return next((claim for claim in _budgets(task) if self._claimed[claim]), None)

    def _give_back(self, task: Task, kind: str) -> None:
        held = self._holding[task.number]
        for claim in [each for each in held if each[0] == kind]:
            held.discard(claim)
            self._claimed[claim] -= 1
            self._unpark(claim)

    def _pass(self, task: Task) -> None:
        """Later moves need not wait for this one any more."""
        self._passed.add(task.number)
        while self._sequence and self._sequence[0].number in self._passed:
            self._sequence.popleft()
        last = max((each.number for each in self._next()), default=-1)
        while self._late and self._late[0][0] <= last:
            heappush(self._open, heappop(self._late))

    def _next(self) -> Iterator[Task]:
        """The first proven moves that have not landed, as many as may run at the same time."""
        waited_for = (each for each in self._sequence if each.number not in self._passed)
        return islice(waited_for, self._pace.width)

    def _has_turn(self, task: Task) -> bool:
        """Whether a proven move need not wait for any of those before it."""
        for before in self._next():
            if before.number == task.number:
                return True
            if not task.goes_beside(before):
                return False
        return False

    def _unpark(self, claim: Claim) -> None:
        for lane in self._parked.pop(claim, ()):
            heappush(self._open, (lane[0].number, lane))


# The API server answers an eviction after a tick of 0.1 s, so several at a time are faster than one after another. A
# server without free processors answers later instead, and bursts of requests may break the watches of others. So a few
# are requested at first, one more each time that as many answers came quickly, and one less for each answer that took
# long.
# Measured on kube-apiserver 1.36 with all of its control plane on two processors: 600 evictions took 25 s with 4 at a
# time, 41 s with 8 and 47 s with 16.
@dataclass(slots=True)
class Pace:
    """How many evictions of one plan are requested at a time."""

    width: int = _LEAST
    #: Quick answers since the last change.
    _quick: int = field(init=False, default=0)

    def answered(self, seconds: float) -> None:
        """Adjust the number to how long an answer took."""
        if seconds > _LATE:
            self._set(self.width - 1)
        elif seconds < _QUICK:
            self._quick += 1
            if self._quick >= self.width:
                self._set(self.width + 1)

    def _set(self, width: int) -> None:
        self.width = min(max(width, _LEAST), _MOST)
        self._quick = 0


def _budgets(task: Task) -> list[Claim]:
    return [("budget", name) for name in sorted(task.budgets)]
