"""Puts the moves of an assignment in an order in which each has room, and in units that are worth it by themselves.

A move needs room on its target when it is made: what later moves free there does not count yet. Processes that wait for
one another in a circle (two that change places on full machines) cannot be ordered; each process moves once, so there is
no detour through other machines. They stay where they are, and so does what counted on their leaving. Locations must not
differ too much after any move, so one may wait until others have left a location or come to one.

Some moves are only worth it together with others: one of two that are exchanged may make things worse alone. If the
other one could not be made after all, nothing may be lost, so they are one unit, made whole or not at all.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

import numpy as np

from restow.optimizing.evaluation import evaluate, loads, machine_costs
from restow.optimizing.problem import Indices, Integers, ReassignmentProblem, shares
from restow.optimizing.skews import SkewCounts

#: A machine that has no room, or a skew rule.
_Obstacle: TypeAlias = int | tuple[Literal["skew"], int]
#: Moves that a unit has at most.
_LARGEST_GROUP = 8
#: Processes of a skew rule that are tried as members of a unit.
_OF_A_RULE = 64


@dataclass(frozen=True, slots=True)
class MoveOrder:
    """The processes that move, in order, and those that would have to move at the same time as others."""

    moves: tuple[int, ...]
    blocked: tuple[int, ...]


def order(problem: ReassignmentProblem, place: Indices) -> MoveOrder:
    """Return an order in which every move from the start to ``place`` fits, as far as there is one.

    Moves that fit at once come in the order of their processes; one that waits comes as soon as room is made.
    """
    replay = _Replay(problem, place)
    waiting: defaultdict[_Obstacle, list[int]] = defaultdict(list)
    ready = deque(np.flatnonzero(place != problem.start).tolist())
    done: list[int] = []
    while ready:
        process = ready.popleft()
        obstacle = replay.obstacle(process)
        if obstacle is not None:
            waiting[obstacle].append(process)
            continue
        replay.make(process)
        done.append(process)
        for freed in replay.freed_by(process):
            ready.extend(waiting.pop(freed, ()))
    return MoveOrder(tuple(done), tuple(sorted(each for some in waiting.values() for each in some)))


def units(problem: ReassignmentProblem, place: Indices, least: Integers) -> list[tuple[int, ...]]:
    """Return the moves from the start to ``place`` as units that fit and are worth it, in this order; others are left out.

    A unit of processes is worth it if the cost of machines falls by what their moves must gain together, ``least``
    [process]. The single move that gains most comes first; a few are one unit if none of them is worth it alone. Where that
    leaves moves without a way, the order in which all of them fit is taken instead, if more is gained by it.
    """
    left = set(np.flatnonzero(place != problem.start).tolist())
    best_first = _best_first(_Replay(problem, place), set(left), least)
    if len(left) == sum(map(len, best_first)):
        return best_first
    in_turn = _in_turn(_Replay(problem, place), order(problem, place).moves, least)
    return min(best_first, in_turn, key=lambda found: _cost_after(problem, place, found))


def _cost_after(problem: ReassignmentProblem, place: Indices, made: Iterable[tuple[int, ...]]) -> int:
    """What machines cost once some moves are made."""
    moved = problem.start.copy()
    processes = list(chain.from_iterable(made))
    moved[processes] = place[processes]
    return evaluate(problem, moved).machines


def _in_turn(replay: _Replay, moves: Sequence[int], least: Integers) -> list[tuple[int, ...]]:
    """Units of moves that follow each other, each as soon as it is worth it; what is never worth it is left out."""
    found: list[tuple[int, ...]] = []
    group: list[int] = []
    short = 0
    for process in moves:
        short += int(least[process]) - replay.gain(process)
        replay.make(process)
        group.append(process)
        if short <= 0:
            found.append(tuple(group))
            group, short = [], 0
        elif len(group) == _LARGEST_GROUP:
            break
    return found


def _best_first(replay: _Replay, left: set[int], least: Integers) -> list[tuple[int, ...]]:
    """Units of which the next is always the one that gains most."""
    found: list[tuple[int, ...]] = []
    hopeless: set[int] = set()
    while left:
        made: list[tuple[int, ...]] = list(_singles(replay, left, least))
        hopeless -= _touching(replay, hopeless, made)
        group = _group(replay, left, least, hopeless)
        found += made
        if not group:
            return found
        hopeless -= _touching(replay, hopeless, [group])
        found.append(group)
    return found


def _singles(replay: _Replay, left: set[int], least: Integers) -> Iterator[tuple[int]]:
    """Make and yield the single moves that are worth it, the best first; what a move gains is asked again in its turn."""
    heap = [(-replay.gain(process), process) for process in left]
    heapq.heapify(heap)
    full: defaultdict[_Obstacle, list[int]] = defaultdict(list)
    while heap:
        known, process = heapq.heappop(heap)
        gain = replay.gain(process)
        if gain < -known and heap and -gain > heap[0][0]:
            heapq.heappush(heap, (-gain, process))
        elif gain < least[process]:
            continue
        elif (obstacle := replay.obstacle(process)) is not None:
            full[obstacle].append(process)
        else:
            replay.make(process)
            left.remove(process)
            yield (process,)
            for waiting in chain.from_iterable(full.pop(freed, ()) for freed in replay.freed_by(process)):
                heapq.heappush(heap, (-replay.gain(waiting), waiting))


def _touching(replay: _Replay, processes: set[int], made: Iterable[tuple[int, ...]]) -> set[int]:
    """Those of some processes that share a machine or a skew rule with moves that were made."""
    touched = {each for moves in made for process in moves for each in replay.touched(process)}
    return {process for process in processes if not touched.isdisjoint(replay.touched(process))}


def _group(replay: _Replay, left: set[int], least: Integers, hopeless: set[int]) -> tuple[int, ...]:
    """Make a few moves that are worth it together; none if no group is found. A start that leads to none is hopeless."""
    at: defaultdict[_Obstacle, list[int]] = defaultdict(list)
    for process in sorted(left):
        for thing in replay.touched(process):
            at[thing].append(process)
    for first in sorted(left - hopeless):
        group = _grown(replay, first, at, least) if replay.fits(first) else ()
        if group:
            left.difference_update(group)
            return group
        hopeless.add(first)
    return ()


def _grown(replay: _Replay, first: int, at: Mapping[_Obstacle, Sequence[int]], least: Integers) -> tuple[int, ...]:
    """Make a move, and then the best of those that it may make way for, until they are worth it; or none of them."""
    group, short = [first], int(least[first]) - replay.gain(first)
    replay.make(first)
    while short > 0:
        near = {process for each in group for thing in replay.touched(each) for process in _some(at, thing)}
        able = [process for process in sorted(near.difference(group)) if replay.fits(process)]
        if not able or len(group) == _LARGEST_GROUP:
            for process in reversed(group):
                replay.take_back(process)
            return ()
        costs = [int(least[process]) - replay.gain(process) for process in able]
        best = min(range(len(able)), key=costs.__getitem__)
        short += costs[best]
        replay.make(able[best])
        group.append(able[best])
    return tuple(group)


def _some(at: Mapping[_Obstacle, Sequence[int]], thing: _Obstacle) -> Sequence[int]:
    """The processes that share a machine, or the first of those that share a skew rule: many may have one of these."""
    return at[thing] if isinstance(thing, int) else at[thing][:_OF_A_RULE]


class _Replay:
    """Machines while the moves from the start to an assignment are made one by one."""

    def __init__(self, problem: ReassignmentProblem, place: Indices) -> None:
        self._problem, self._place, self._share = problem, place, shares(problem)
        self._load = loads(problem, problem.start)
        self._count = np.bincount(problem.start, minlength=problem.machines)
        self._most = problem.capacity - problem.reserved
        self._limit, self._service = problem.services.limit, problem.service_of
        self._members: defaultdict[tuple[int, int], int] = defaultdict(int)
        for process in np.flatnonzero(self._limit[self._service]).tolist():
            self._members[int(self._service[process]), int(problem.start[process])] += 1
        for service, machine, number in problem.services.staying.tolist():
            self._members[service, machine] += number
        self._skews = SkewCounts(problem, problem.start)

    def source(self, process: int) -> int:
        """Where a process starts."""
        return int(self._problem.start[process])

    def target(self, process: int) -> int:
        """Where it goes."""
        return int(self._place[process])

    def both(self, process: int) -> tuple[int, int]:
        """Where it starts and goes."""
        return self.source(process), self.target(process)

    def touched(self, process: int) -> tuple[_Obstacle, ...]:
        """The machines and the skew rules that its move changes."""
        return (*self.both(process), *self._rules(process))

    def freed_by(self, process: int) -> tuple[_Obstacle, ...]:
        """What may be no obstacle for others any more once it has moved: its source, and skew rules."""
        return (self.source(process), *self._rules(process))

    def _rules(self, process: int) -> Iterator[_Obstacle]:
        return (("skew", rule) for rule in self._skews.of(process))

    def obstacle(self, process: int) -> _Obstacle | None:
        """What it must wait for: room on its target, or a skew rule; None if it may move now."""
        if not self._has_room(process):
            return self.target(process)
        rule = self._skews.forbidding(process, *self.both(process))
        return None if rule is None else ("skew", rule)

    def fits(self, process: int) -> bool:
        """Whether it may move now."""
        return self.obstacle(process) is None

    def _has_room(self, process: int) -> bool:
        usage, target = self._problem.usage[process], self.target(process)
        service = int(self._service[process])
        limit = int(self._limit[service])
        if limit and self._members[service, target] >= limit:
            return False
        return bool(((usage <= self._most[target] - self._load[target]) | (usage == 0)).all())

    def gain(self, process: int) -> int:
        """By how much the cost of machines falls if it moves now."""
        both = np.array([self.source(process), self.target(process)], np.int32)
        usage = self._problem.usage[process]
        before = self._costs(self._load[both], self._count[both], both)
        after = self._costs(self._load[both] + np.stack([-usage, usage]), self._count[both] + _ONE_MOVES, both)
        return before - after

    def make(self, process: int) -> None:
        """Move it."""
        self._move(process, self.source(process), self.target(process))

    def take_back(self, process: int) -> None:
        """Move it to its start again."""
        self._move(process, self.target(process), self.source(process))

    def _move(self, process: int, source: int, target: int) -> None:
        for machine, sign in ((source, -1), (target, 1)):
            self._load[machine] += sign * self._problem.usage[process]
            self._count[machine] += sign
            if self._limit[self._service[process]]:
                self._members[int(self._service[process]), machine] += sign
        self._skews.move(process, source, target)

    def _costs(self, load: Integers, count: Integers, machines: Indices) -> int:
        return int(machine_costs(self._problem, self._share, load, count, machines).sum())


#: How many processes the source and the target of a move gain.
_ONE_MOVES = np.array([-1, 1])
