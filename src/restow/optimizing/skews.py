"""Which skew rules an assignment breaks, and where a process may go within them: see ``Skews``.

The compiled core has the same rule (`rules.h`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from restow.optimizing.problem import Flags, Indices, ReassignmentProblem

_MANY: Final = np.iinfo(np.int32).max


def skew_counts(problem: ReassignmentProblem, place: Indices) -> Indices:
    """Return how many members each rule counts in each location, [rule, location], of those that stay too."""
    return problem.skews.staying + _counts(problem, place, np.ones(problem.processes, np.bool_))


def away_counts(problem: ReassignmentProblem, place: Indices) -> Indices:
    """Return how many of them are not on the machine where they began, [rule, location]."""
    return _counts(problem, place, place != problem.start)


def _counts(problem: ReassignmentProblem, place: Indices, which: Flags) -> Indices:
    skews, counts = problem.skews, np.zeros_like(problem.skews.staying)
    if len(skews):
        process, rule = counted(problem)
        process, rule = process[which[process]], rule[which[process]]
        np.add.at(counts, (rule, skews.location[skews.division[rule], place[process]]), 1)
    return counts


def counted(problem: ReassignmentProblem) -> tuple[Indices, Indices]:
    """Return each process with each rule that counts it, in two arrays."""
    of_service = problem.skews.of_service
    sizes = np.array([len(each) for each in of_service], np.int32)[problem.service_of]
    rules = chain.from_iterable(of_service[service] for service in problem.service_of.tolist())
    return np.repeat(np.arange(problem.processes, dtype=np.int32), sizes), np.fromiter(rules, np.int32)


def fewest_at_start(problem: ReassignmentProblem) -> Indices:
    """Return the fewest members of any location at the start, [rule]; none where the fewest always count as none."""
    return _fewest(problem, skew_counts(problem, problem.start))


def uneven(problem: ReassignmentProblem, place: Indices) -> Flags:
    """Return where an assignment has more members than it may, bool[rule, location]."""
    counts = skew_counts(problem, place)
    fewest = _fewest(problem, counts)
    kept = (away_counts(problem, place) == 0) & (fewest >= fewest_at_start(problem))[:, None]
    found: Flags = _counting(problem) & (counts > (fewest + problem.skews.most)[:, None]) & ~kept
    return found


def _fewest(problem: ReassignmentProblem, counts: Indices) -> Indices:
    least = counts.min(axis=1, where=_counting(problem), initial=_MANY)
    fewest: Indices = np.where(problem.skews.from_zero > 0, 0, least).astype(np.int32)
    return fewest


def _counting(problem: ReassignmentProblem) -> Flags:
    """Which locations count, bool[rule, location]."""
    counting: Flags = np.arange(problem.skews.staying.shape[1]) < problem.skews.locations[:, None]
    return counting


@dataclass(frozen=True, slots=True)
class SkewRule:
    """One rule: how much more members a location may have, the fewest at the start, and whether the fewest count as none."""

    most: int
    at_start: int
    from_zero: bool

    def open_after(self, counts: Indices, away: Indices) -> Flags:
        """Return where one more member may come from another machine, bool[location + 1]; the last one is nowhere.

        ``counts`` and ``away`` are those of each location without it, int32[location].
        """
        one_more = np.eye(len(counts) + 1, len(counts), dtype=np.int32)
        return self.holds(counts + one_more, away + one_more)

    def holds(self, counts: Indices, away: Indices) -> Flags:
        """Return which of some states keep the rule, [state, location]."""
        fewest = np.zeros(len(counts), np.int32) if self.from_zero else counts.min(axis=1, initial=_MANY)
        kept = (away == 0) & (fewest >= self.at_start)[:, None]
        holds: Flags = ((counts <= fewest[:, None].astype(np.int64) + self.most) | kept).all(axis=1)
        return holds


class SkewCounts:
    """The counts of all rules while processes move one by one."""

    def __init__(self, problem: ReassignmentProblem, place: Indices) -> None:
        self._problem, self._skews = problem, problem.skews
        self._counts, self._away = skew_counts(problem, place), away_counts(problem, place)
        figures = (self._skews.most.tolist(), fewest_at_start(problem).tolist(), self._skews.from_zero.tolist())
        self._rules = [SkewRule(most, least, bool(zero)) for most, least, zero in zip(*figures, strict=True)]

    def of(self, process: int) -> tuple[int, ...]:
        """The rules that count a process."""
        return self._skews.of(int(self._problem.service_of[process]))

    def move(self, process: int, source: int, target: int) -> None:
        """Count a process on another machine."""
        start = self._problem.start[process]
        for rule in self.of(process):
            location = self._location(rule)
            for machine, sign in ((source, -1), (target, 1)):
                self._counts[rule, location[machine]] += sign
                self._away[rule, location[machine]] += sign * int(machine != start)

    def allowed(self, process: int, source: int) -> Flags:
        """The machines where a process of a machine may go now, bool[machine]."""
        allowed, start = np.ones(self._problem.machines, np.bool_), self._problem.start[process]
        for rule in self.of(process):
            location, (may_come, may_return) = self._location(rule), self._open(rule, process, source)
            by_rule = may_come[np.minimum(location, len(may_come) - 1)]
            by_rule[start] = may_return
            allowed &= by_rule
        return allowed

    def forbidding(self, process: int, source: int, target: int) -> int | None:
        """The first rule that does not allow the move of a process now, to a machine where it did not begin."""
        for rule in self.of(process):
            may_come, _ = self._open(rule, process, source)
            if not may_come[min(int(self._location(rule)[target]), len(may_come) - 1)]:
                return rule
        return None

    def _location(self, rule: int) -> Indices:
        location: Indices = self._skews.location[self._skews.division[rule]]
        return location

    def _open(self, rule: int, process: int, source: int) -> tuple[Flags, bool]:
        """The locations where a process of a machine may go, bool[location + 1], and whether it may return to its start."""
        location, start = self._location(rule), self._problem.start[process]
        each = np.arange(int(self._skews.locations[rule]))
        here, home = each == location[source], each == location[start]
        counts = self._counts[rule, : len(each)] - here
        away = self._away[rule, : len(each)] - here * int(source != start)
        may_return = self._rules[rule].holds((counts + home)[None], away[None])
        return self._rules[rule].open_after(counts, away), bool(may_return[0])
