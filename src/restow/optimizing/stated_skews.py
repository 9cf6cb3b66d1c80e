"""States skew rules as rows of an integer program: in each location of a rule at most so many members more than the fewest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from restow.optimizing.integer_program import Entries, IntegerProgram
from restow.optimizing.problem import Indices, ReassignmentProblem
from restow.optimizing.skews import fewest_at_start, skew_counts


def state_skews(
    program: IntegerProgram, problem: ReassignmentProblem, columns: Sequence[Mapping[int, int]], first: Indices
) -> None:
    """State all rules; ``columns[kind][machine]`` says how many of a kind are on a machine, ``first`` is one of each kind."""
    skews, begin, at_start = problem.skews, skew_counts(problem, problem.start), fewest_at_start(problem)
    there = _counts(problem, columns, first)
    for rule, number in enumerate(skews.locations.tolist()):
        counts = [there[rule, each] for each in range(number)]
        everything = problem.processes + int(skews.staying[rule].sum())
        fewest = program.column(0 if skews.from_zero[rule] else everything)
        for each in counts:
            each.state_least(program, fewest, 1)
        stating = _Stating(program, counts, fewest, int(skews.most[rule]), int(at_start[rule]))
        for each, began in zip(counts, begin[rule].tolist(), strict=False):
            stating.state(each, began)


@dataclass(frozen=True, slots=True)
class _Count:
    """The members in a location: those that stay, columns of those that may be there, and of those that began elsewhere."""

    staying: int
    columns: list[int] = field(default_factory=list)
    away: list[int] = field(default_factory=list)

    def state_most(self, program: IntegerProgram, more: Entries, most: int) -> None:
        """Members and what other columns add are at most so many."""
        program.at_most([*((column, 1) for column in self.columns), *more], most - self.staying)

    def state_least(self, program: IntegerProgram, column: int, factor: int) -> None:
        """There are at least so many members as a column times a factor."""
        program.at_most([(column, factor), *((each, -1) for each in self.columns)], self.staying)


def _counts(
    problem: ReassignmentProblem, columns: Sequence[Mapping[int, int]], first: Indices
) -> dict[tuple[int, int], _Count]:
    """The members that each rule counts in each of its locations."""
    skews = problem.skews
    found = {(rule, each): _Count(int(count)) for (rule, each), count in np.ndenumerate(skews.staying)}
    for kind, of_kind in enumerate(columns):
        for rule in skews.of(int(problem.service_of[first[kind]])):
            location = skews.location[skews.division[rule]]
            for machine, column in of_kind.items():
                count = found[rule, int(location[machine])]
                count.columns.append(column)
                if machine != problem.start[first[kind]]:
                    count.away.append(column)
    return found


@dataclass(frozen=True, slots=True)
class _Stating:
    """A rule: its locations, the column of the fewest members of any, how many more there may be, and the fewest at the start."""

    program: IntegerProgram
    counts: Sequence[_Count]
    fewest: int
    most: int
    at_start: int

    def state(self, count: _Count, began: int) -> None:
        """A location has not too many, or what is left of what it began with, and no location less than the fewest then."""
        if began <= self.at_start + self.most:
            count.state_most(self.program, [(self.fewest, -1)], self.most)
            return
        keeps = self.program.column(1)
        count.state_most(self.program, [(self.fewest, -1), (keeps, -began)], self.most)
        most = sum(self.program.most[column] for column in count.away)
        self.program.at_most([*((column, 1) for column in count.away), (keeps, most)], most)
        for each in self.counts:
            each.state_least(self.program, keeps, self.at_start)
