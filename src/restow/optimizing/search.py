"""Searches for an assignment that costs less: simulated annealing over shifts, swaps, returns and ejection chains.

How hot to begin decides what annealing finds, and differs between instances by orders of magnitude, so it is measured:
short runs from a ladder of temperatures, scaled by the mean change of a random shift, come first; then a long one that
begins above the one that won. A greedy descent comes before, which where machines have a price also empties them in
the order of the moves that this needs; annealing begins where that ended, which is close to the answer if the budget of
moves is small.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from restow.optimizing.compiled import CompiledState, library
from restow.optimizing.evaluation import Evaluation, evaluate, violations
from restow.optimizing.logarithms import between
from restow.optimizing.problem import Indices, ReassignmentProblem
from restow.optimizing.vectorised import VectorisedState

#: Of 1,024 tries, how many are of each kind of `compiled.KINDS`; what remains are shifts.
_PARTS = (0, 240, 160, 32, 0)
#: The same where machines in use have a price: some tries empty a machine.
_EMPTYING = (0, 240, 160, 32, 8)
#: Machines that an ejected process asks at most.
_SAMPLE = 64
#: Machines that the greedy descent asks for each shift at most.
_GREEDY_SAMPLE = 200
#: Tries between two looks at the clock, at one temperature.
_BLOCK, _VECTORISED_BLOCK = 20_000, 50
#: Of a search with a number of steps: how often the temperature changes at least.
_LOOKS = 1_000
#: The ladder: its hottest rung by the mean change of a shift, and how much colder each rung is than the one before.
_HOTTEST, _RUNGS, _COOLER = 16.0, 4, 8.0
#: Part of the time for the ladder, and how much colder than its start each of its runs ends. Runs that are much shorter
#: than the long one choose too cold a begin, so they are few.
_LADDER, _COLDER = 0.28, 1 / 1000
#: How much hotter the long run begins than the short run that won, but not hotter than the hottest of them. The longer
#: a run is, the more it finds from a hot begin; too hot costs some time, too cold what is never found.
_LONGER = 16.0
#: Where the long run ends, as a part of the time, and how cold the last one becomes.
_LONG, _COLDEST = 0.94, 1e-8


@dataclass(frozen=True, slots=True)
class Solution:
    """The best assignment that was found."""

    place: Indices
    before: Evaluation
    after: Evaluation
    steps: int
    compiled: bool


class _Progress:
    """How much of a search's time, or of its steps, is used."""

    def __init__(self, steps: int | None, seconds: float | None, clock: Callable[[], float]) -> None:
        if (steps is None) == (seconds is None):
            raise ValueError("either steps or seconds limit a search")
        self.steps = 0
        self._most, self._seconds, self._clock = steps, seconds, clock
        self._began = clock()

    def part(self) -> float:
        """From 0 at the begin to 1 at the end."""
        if self._most is not None:
            return self.steps / max(self._most, 1)
        assert self._seconds is not None
        return (self._clock() - self._began) / max(self._seconds, 1e-9)

    def until(self, end: float, block: int) -> Iterator[tuple[float, int]]:
        """Yield how much of the way to `end` is gone, and how many tries to make now."""
        begin = self.part()
        block = block if self._most is None else min(block, max(self._most // _LOOKS, 1))
        while (now := self.part()) < end:
            tries = block if self._most is None else max(1, min(block, int(end * self._most) - self.steps))
            yield (now - begin) / (end - begin), tries
            self.steps += tries


class _Search:
    """One search: a state, and how far it is."""

    def __init__(self, problem: ReassignmentProblem, seed: int, progress: _Progress, *, compiled: bool) -> None:
        kernel = library() if compiled else None
        self.state: CompiledState | VectorisedState
        self.state = VectorisedState(problem, seed) if kernel is None else CompiledState(problem, seed, kernel)
        self.compiled = kernel is not None
        self.progress = progress
        self._block = _BLOCK if self.compiled else _VECTORISED_BLOCK
        self._parts = np.array(_PARTS if problem.objective.price is None else _EMPTYING, np.int64)

    def anneal(self, end: float, hottest: float, coldest: float) -> int:
        """Cool down from a temperature until a part of the time is used; return the cost then."""
        for part, tries in self.progress.until(end, self._block):
            self.state.anneal(between(hottest, coldest, part), tries, self._parts, _SAMPLE)
        return self.state.cost

    def run(self, start: Indices) -> None:
        """Look for the best temperature, cool down from it slowly, and then to where only improvements are made."""
        hottest = _HOTTEST * max(self.state.mean_change(20_000), 1)
        begin = min(self.progress.part(), 1.0)
        results = []
        for rung in range(_RUNGS):
            self.state.move_to(start)
            temperature = hottest / _COOLER**rung
            end = begin + (1 - begin) * _LADDER * (rung + 1) / _RUNGS
            results.append((self.anneal(end, temperature, temperature * _COLDER), temperature))
        winner = min(results)[1]
        self.state.move_to(start)
        self.anneal(begin + (1 - begin) * _LONG, min(winner * _LONGER, hottest), winner * _COLDER)
        self.state.move_to(self.state.best)
        self.anneal(1.0, winner * _COLDER, winner * _COLDEST)


def search(
    problem: ReassignmentProblem,
    *,
    seed: int,
    steps: int | None = None,
    seconds: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
    begin: Indices | None = None,
    compiled: bool = True,
) -> Solution:
    """Return the best assignment that is found within a number of steps or seconds.

    With `steps` the answer depends on nothing but the problem and the seed, on any machine. `begin` is an assignment to
    start from; the answer is never worse than it. Raises ValueError if the start or `begin` breaks a rule.
    """
    begin = problem.start if begin is None else begin
    broken = violations(problem, problem.start) or violations(problem, begin)
    if broken:
        raise ValueError(f"the search begins where rules are broken: {broken[0]}")
    progress = _Progress(steps, seconds, clock)
    run = _Search(problem, seed, progress, compiled=compiled)
    if begin is not problem.start:
        run.state.move_to(begin)
    run.state.greedy(problem.processes, _GREEDY_SAMPLE)
    if problem.objective.price is not None:
        run.state.empty_in_order(_cheapest_to_empty(problem, run.state.best))
    run.run(run.state.best)
    place = run.state.best
    return Solution(place, evaluate(problem, problem.start), evaluate(problem, place), progress.steps, run.compiled)


def _cheapest_to_empty(problem: ReassignmentProblem, place: Indices) -> Indices:
    """The machines in use that have a price, those first that need the fewest moves for it."""
    assert problem.objective.price is not None
    count = np.bincount(place, minlength=problem.machines)
    machines = np.flatnonzero((count > 0) & (problem.objective.price > 0))
    ratio = count[machines] / problem.objective.price[machines]
    order: Indices = machines[np.argsort(ratio, kind="stable")].astype(np.int32)
    return order


def curve(
    problem: ReassignmentProblem, budgets: Sequence[int], *, seed: int, steps: int, compiled: bool = True
) -> list[Solution]:
    """Return a solution for each budget of moves, in ascending order.

    Each search starts from the answer for the budget before, so that more moves are never worse.
    """
    solutions: list[Solution] = []
    for budget in sorted(budgets):
        begin = solutions[-1].place if solutions else None
        allowed = replace(problem, budget=min(budget, problem.processes))
        solutions.append(search(allowed, seed=seed, steps=steps, begin=begin, compiled=compiled))
    return solutions
