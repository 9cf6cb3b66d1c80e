"""States a reassignment problem as an integer program: whole numbers with costs, and rows that limit their sums.

Processes that are equal in all that rules and costs know are one kind, and the numbers say how many of a kind are on a
machine. That keeps a program small, and equal processes are not tried in every order. Every rule is stated as it is, but
for amounts of a resource that are too fine for floating point: those are rounded, so that more is allowed and never less.
What the program costs at least is therefore a bound for the problem.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Final

import numpy as np

from restow.optimizing.evaluation import held
from restow.optimizing.integer_program import Entries, IntegerProgram
from restow.optimizing.problem import Flags, Indices, Integers, Objective, ReassignmentProblem
from restow.optimizing.stated_skews import state_skews

#: Coefficients of rows are at most so large; a sum of them is exact, and far from what a solver tolerates.
FINEST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Kinds:
    """Equal processes: the kind of each, one process of each kind, how many there are, and the group whose limit counts."""

    of: Indices
    first: Indices
    count: Indices
    group: Indices


@dataclass(frozen=True, slots=True)
class StatedProblem:
    """A program, and what its columns mean: `columns[kind][machine]` says how many of a kind are on a machine."""

    program: IntegerProgram
    kinds: Kinds
    columns: list[dict[int, int]]

    def values(self, place: Indices) -> dict[int, int]:
        """What an assignment says of columns: how many of each kind are on each machine."""
        found: dict[int, int] = {}
        for kind, columns in enumerate(self.columns):
            members = place[self.kinds.of == kind]
            found |= {column: int(np.count_nonzero(members == machine)) for machine, column in columns.items()}
        return found

    def place(self, problem: ReassignmentProblem, values: Sequence[int]) -> Indices:
        """The machine of each process; of equal ones, those that come first stay."""
        place = problem.start.copy()
        for kind, columns in enumerate(self.columns):
            here = int(problem.start[self.kinds.first[kind]])
            members = np.flatnonzero(self.kinds.of == kind)
            away = [machine for machine in columns if machine != here for _ in range(values[columns[machine]])]
            place[members[len(members) - len(away) :]] = away
        return place


def is_linear(objective: Objective) -> bool:
    """Whether an objective can be stated: no deviation, no pairs, no part of services, and no rewards for machines."""
    if objective.deviation is not None or objective.pairs or objective.moves.service_weight:
        return False
    if objective.price is not None and (objective.price < 0).any():
        return False
    return objective.excess is None or not (objective.excess.weight < 0).any()


def state(problem: ReassignmentProblem, largest: int) -> StatedProblem | None:
    """Return the program of a problem whose objective is linear; None if it would have more than ``largest`` columns."""
    kinds = _kinds(problem)
    possible = _possible(problem, kinds)
    if np.count_nonzero(possible) > largest:
        return None
    stating = _Stating(problem, kinds, possible)
    stating.state_moves()
    stating.state_prices()
    stating.state_room()
    stating.state_excess()
    stating.state_services()
    state_skews(stating.program, problem, stating.columns, kinds.first)
    return StatedProblem(stating.program, kinds, stating.columns)


def _kinds(problem: ReassignmentProblem) -> Kinds:
    """Processes are equal if they use as much, begin and may go to the same machines, and count for the same rules."""
    _, mask_of = np.unique(problem.allowed, axis=0, return_inverse=True)
    limits, services = problem.limits, problem.services
    members = np.bincount(limits.group_of[limits.group_of >= 0], minlength=len(limits.most))
    group_of = np.where(np.append(members > limits.most, False)[limits.group_of], limits.group_of, -1)
    ruled = np.asarray((services.limit > 0) | (services.spread > 1) | [bool(each) for each in services.needs])
    ruled[[needed for each in services.needs for needed in each]] = True
    ruled[[service for service, rules in enumerate(problem.skews.of_service) if rules]] = True
    price = problem.objective.moves.process
    keys = (
        mask_of.reshape(-1)[problem.class_of],
        problem.start,
        group_of,
        np.where(ruled[problem.service_of], problem.service_of, -1),
        np.zeros(problem.processes) if price is None else price,
    )
    table = np.column_stack([problem.usage, *(key.astype(np.int64) for key in keys)])
    _, first, of, count = np.unique(table, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return Kinds(of.reshape(-1).astype(np.int32), first.astype(np.int32), count.astype(np.int32), group_of[first])


def _possible(problem: ReassignmentProblem, kinds: Kinds) -> Flags:
    """On which machines each kind can be, bool[kind, machine]: where it starts, and where it may go and has room."""
    possible = problem.allowed[problem.class_of[kinds.first]].copy()
    room = _room(problem)
    for kind, usage in enumerate(problem.usage[kinds.first]):
        possible[kind] &= ((usage <= room) | (usage == 0)).all(axis=1)
    possible[np.arange(len(kinds.first)), problem.start[kinds.first]] = True
    return possible


def _room(problem: ReassignmentProblem) -> Integers:
    """What processes may take of each machine, [machine, resource]; who began there holds transient resources anyway."""
    room = problem.capacity - problem.base - problem.reserved
    np.subtract.at(room, problem.start, np.where(problem.transient, problem.usage, 0))
    return room


class _Stating:
    """A program while the parts of a problem are stated one by one."""

    def __init__(self, problem: ReassignmentProblem, kinds: Kinds, possible: Flags) -> None:
        self.program = IntegerProgram()
        self._problem, self._kinds = problem, kinds
        self._room = _room(problem)
        self._overfull = held(problem, problem.start) > problem.capacity
        self._usage = problem.usage[kinds.first]
        self._start = problem.start[kinds.first].tolist()
        self._used: dict[int, int] = {}
        self.columns = [self._columns(kind, np.flatnonzero(each).tolist()) for kind, each in enumerate(possible)]
        #: The columns of each machine with their kinds, of those that a process can come to or leave.
        self._on: list[list[tuple[int, int]]] = [[] for _ in range(problem.machines)]
        for kind, columns in enumerate(self.columns):
            for machine, column in columns.items():
                self._on[machine].append((kind, column))

    def _columns(self, kind: int, machines: list[int]) -> dict[int, int]:
        """A column for each machine that a kind can be on."""
        moves, first, here = self._problem.objective.moves, self._kinds.first[kind], self._start[kind]
        price = 0 if moves.process is None else int(moves.process[first])
        columns = {}
        for machine in machines:
            away = 0 if moves.distance is None else moves.distance_weight * int(moves.distance[here, machine])
            columns[machine] = self.program.column(self._fitting(kind, machine), 0 if machine == here else price + away)
        return columns

    def _fitting(self, kind: int, machine: int) -> int:
        """How many of a kind can be on a machine at most."""
        count, usage = int(self._kinds.count[kind]), self._usage[kind]
        if machine == self._start[kind] or not usage.any():
            return count
        return min(count, int((self._room[machine][usage > 0] // usage[usage > 0]).min()))

    def state_moves(self) -> None:
        """Every process is somewhere, and no more move than the budget and the limits of groups allow."""
        groups: defaultdict[int, Entries] = defaultdict(list)
        for kind, columns in enumerate(self.columns):
            self.program.exactly([(column, 1) for column in columns.values()], int(self._kinds.count[kind]))
            moved = [(column, 1) for machine, column in columns.items() if machine != self._start[kind]]
            groups[int(self._kinds.group[kind])] += moved
        self.program.at_most([each for moved in groups.values() for each in moved], self._problem.budget)
        for group, moved in groups.items():
            if group >= 0:
                self.program.at_most(moved, int(self._problem.limits.most[group]))

    def state_prices(self) -> None:
        """A machine with a process is in use and costs its price."""
        price = self._problem.objective.price
        for machine in [] if price is None else np.flatnonzero(price).tolist():
            if self._on[machine]:
                assert price is not None
                self._used[machine] = self.program.column(1, int(price[machine]))
                self.program.only_with((column for _, column in self._on[machine]), [(self._used[machine], 1)])

    def state_room(self) -> None:
        """No machine holds more than its capacity; to one that begins with more, nothing comes until it does not."""
        for machine, resource in np.ndindex(self._room.shape):
            there = [(kind, column) for kind, column in self._on[machine] if self._usage[kind, resource]]
            coming = [(kind, column) for kind, column in there if self._start[kind] != machine]
            if coming:
                counted = coming if self._problem.transient[resource] else there
                self._state_room(machine, resource, counted, {column for _, column in coming})

    def _state_room(self, machine: int, resource: int, counted: list[tuple[int, int]], coming: set[int]) -> None:
        unit = _unit(self._usage[kind, resource] for kind, _ in counted)
        entries = [(column, int(self._usage[kind, resource]) // unit) for kind, column in counted]
        room = int(self._room[machine, resource]) // unit
        if self._overfull[machine, resource]:
            begin = sum(factor * self.program.most[column] for column, factor in entries if column not in coming)
            has_room = self.program.column(1)
            self.program.only_with(sorted(coming), [(has_room, 1)])
            self.program.at_most([*entries, (has_room, max(begin - room, 0))], max(begin, room))
        else:
            self.program.at_most(entries, room)
            if machine in self._used:
                most = sum(factor * self.program.most[column] for column, factor in entries)
                self.program.at_most([*entries, (self._used[machine], -min(room, most))], 0)

    def state_excess(self) -> None:
        """Each unit of load above the safety capacity costs its weight."""
        excess = self._problem.objective.excess
        if excess is None:
            return
        above = self._problem.base - excess.safety
        for machine, resource in np.ndindex(above.shape):
            if excess.weight[resource]:
                there = [(column, int(self._usage[kind, resource])) for kind, column in self._on[machine]]
                self._state_excess(there, int(above[machine, resource]), int(excess.weight[resource]))

    def _state_excess(self, there: Entries, above: int, weight: int) -> None:
        most = above + sum(factor * self.program.most[column] for column, factor in there)
        unit = gcd(above, *(factor for _, factor in there))
        if most > 0:
            slack = self.program.column(most // unit, weight * unit)
            entries = [(column, factor // unit) for column, factor in there]
            self.program.at_most([*entries, (slack, -1)], -above // unit)

    def state_services(self) -> None:
        """Limits for each machine, locations, and what services need beside them."""
        members = self._members()
        services = self._problem.services
        for service in sorted(members):
            if services.limit[service]:
                self._state_limit(members[service], int(services.limit[service]))
            if services.spread[service] > 1:
                self._state_spread(members[service], int(services.spread[service]))
            for needed in services.needs[service]:
                self._state_need(members[service], members.get(needed, _Members()))

    def _members(self) -> dict[int, _Members]:
        members: defaultdict[int, _Members] = defaultdict(_Members)
        for service, machine, count in self._problem.services.staying.tolist():
            members[service].staying[machine] += count
        for kind, columns in enumerate(self.columns):
            of = members[int(self._problem.service_of[self._kinds.first[kind]])]
            of.start[self._start[kind]] += int(self._kinds.count[kind])
            for machine, column in columns.items():
                of.columns[machine].append(column)
        return members

    def _state_limit(self, members: _Members, limit: int) -> None:
        for machine, columns in members.columns.items():
            stays = members.staying.get(machine, 0)
            most = max(limit, members.start.get(machine, 0) + stays)
            self.program.at_most([(column, 1) for column in columns], most - stays)

    def _state_spread(self, members: _Members, least: int) -> None:
        location = self._problem.location
        kept, chosen = members.kept_in(location), []
        for _, columns in members.by(location, without=kept):
            chosen.append(self.program.column(1))
            self.program.at_most([(chosen[-1], 1), *((column, -1) for column in columns)], 0)
        self.program.rows.append(([(each, 1) for each in chosen], least - len(kept), None))

    def _state_need(self, members: _Members, needed: _Members) -> None:
        near = self._problem.neighbourhood
        kept = needed.kept_in(near)
        there = dict(needed.by(near, without=kept))
        for place, columns in members.by(near, without=kept):
            self.program.only_with(columns, [(column, 1) for column in there.get(place, [])])
        for place in sorted(members.kept_in(near) - kept):
            self.program.rows.append(([(column, 1) for column in there.get(place, [])], 1, None))


def _counts() -> defaultdict[int, int]:
    return defaultdict(int)


def _lists() -> defaultdict[int, list[int]]:
    return defaultdict(list)


@dataclass(slots=True)
class _Members:
    """A service's members by machine: those that stay, those that begin there, and columns of those that may be there."""

    staying: defaultdict[int, int] = field(default_factory=_counts)
    start: defaultdict[int, int] = field(default_factory=_counts)
    columns: defaultdict[int, list[int]] = field(default_factory=_lists)

    def kept_in(self, part_of: Indices) -> set[int]:
        """The parts of the machines (locations, neighbourhoods) in which a member stays."""
        return {int(part_of[machine]) for machine, count in self.staying.items() if count}

    def by(self, part_of: Indices, *, without: set[int]) -> Iterator[tuple[int, list[int]]]:
        """The columns of each part, without some parts."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for machine, columns in self.columns.items():
            found[int(part_of[machine])] += columns
        return ((part, found[part]) for part in sorted(found) if part not in without)


def _unit(amounts: Iterable[int]) -> int:
    """What amounts are counted in: their greatest common divisor, or more where that leaves more than ``FINEST``."""
    known = [int(each) for each in amounts]
    return max(gcd(*known), -(-max(known) // FINEST))
