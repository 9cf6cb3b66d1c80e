"""From a model and a goal to moves in an order that can be carried out, and what each of them is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np

from restow.cluster.interning import IntArray
from restow.descheduling.rebalancing.combining import combined
from restow.descheduling.rebalancing.goal import Goal
from restow.descheduling.rebalancing.model import PlanningModel
from restow.kube.timestamps import SECOND
from restow.optimizing.bounds import lower_bound
from restow.optimizing.compiled import library
from restow.optimizing.evaluation import evaluate, violations
from restow.optimizing.exact import optimum
from restow.optimizing.making_way import make_way
from restow.optimizing.ordering import order, units
from restow.optimizing.problem import Indices, MoveLimits, Moves, Objective, ReassignmentProblem
from restow.optimizing.repairing import repaired
from restow.optimizing.search import search

#: Tries for each pod, and the fewest and most in all: with the compiled core, and without it.
_COMPILED: Final = (1_000, 500_000, 60_000_000)
_VECTORISED: Final = (20, 2_000, 100_000)
#: The part of these that a search takes which goes on from an earlier plan.
_GOING_ON: Final = 4
#: What is lost with moves that wait for one another is not looked for again if it is this part of all that is gained.
_LITTLE: Final = 100
#: Processes that wait for others and are held back alone, each in a search of its own; and searches without all of them.
_ALONE: Final = 2
_ROUNDS: Final = 3


class PlannedMove(NamedTuple):
    """One process that goes from a machine to another."""

    process: int
    source: int
    target: int


#: Moves that are made together or not at all, in order.
Unit = tuple[PlannedMove, ...]


def least_gains(model: PlanningModel, goal: Goal, gain: float | None) -> IntArray:
    """Return what the move of each process must take off the cost, int64[process]; ``gain`` None: the goal's default.

    Where a pod that waits goes counts nothing.
    """
    each = round((goal.default_gain if gain is None else gain) * goal.gain)
    least: IntArray = np.where(model.reluctance > 0, np.maximum(model.reluctance * each, 1), 0)
    return least


@dataclass(frozen=True, slots=True)
class Found:
    """The best assignment that is known for a model and a goal."""

    model: PlanningModel
    objective: Objective
    place: Indices
    #: What the move of each process must take off the cost, int64[process].
    least: IntArray
    #: Whether it is proven that no assignment of the model is better, what its moves must gain included.
    proven: bool

    @property
    def moves(self) -> int:
        """How many processes move."""
        return int((self.place != self.model.problem.start).sum())


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a search begins: at the start of all processes, unless plans before this one have searched already."""

    #: How many plans there were. Each searches with another seed, so that one may find what those before it have missed.
    plans: int = 0
    #: The machine that the last one wanted for each process, as far as it is known; it may break rules by now.
    place: Indices | None = None


#: No plan was before.
FIRST: Final = Begin()


def find(model: PlanningModel, goal: Goal, args: Any, begin: Begin = FIRST) -> Found:
    """Search for the best machine of each process, and, where the problem is small and the extra is there, prove it.

    Without a time limit the number of tries depends on the number of pods alone, so the same model gives the same moves.
    A search that goes on from an earlier plan takes a part of them.
    """
    objective, least = goal.objective(model, args), least_gains(model, goal, args.min_gain_per_move)
    guard = guard_of(model, goal, args)
    guided = searched_objective(model, goal, args, guard)
    if not model.problem.processes or model.problem.budget <= 0:
        return Found(model, objective, model.problem.start, least, proven=True)
    seconds = _seconds(args)
    searched = _with_moves(model, guided, least)
    at = make_way(searched, len(model.pods) - 1) if goal.for_waiting else _repaired(searched, begin)
    place = _orderable(searched, _searched(searched, seconds, at, begin.plans), seconds, begin.plans)
    place, proven = _compared(_with_moves(model, combined(objective, guard), least), place, seconds)
    return Found(model, objective, place, least, proven=proven)


def _compared(problem: ReassignmentProblem, place: Indices, seconds: float | None) -> tuple[Indices, bool]:
    """The answer of the search, or the exact one if what can be made of that costs less; and whether that is proven best."""
    exact = optimum(problem, seconds=inf if seconds is None else seconds, begin=place)
    if exact is None:
        return place, False
    cost, best = (evaluate(problem, _possible(problem, each)).cost for each in (place, exact.place))
    return (place if cost <= best else exact.place), min(cost, best) <= exact.bound


def _possible(problem: ReassignmentProblem, place: Indices) -> Indices:
    """An assignment without the moves that cannot be ordered."""
    return _unmoved(problem, place, order(problem, place).blocked)


def _unmoved(problem: ReassignmentProblem, place: Indices, processes: Sequence[int]) -> Indices:
    """An assignment with some processes at their start."""
    changed, staying = place.copy(), list(processes)
    changed[staying] = problem.start[staying]
    return changed


def _orderable(problem: ReassignmentProblem, place: Indices, seconds: float | None, plans: int) -> Indices:
    """The answer of a search, or a better one without some of the processes whose moves wait for one another.

    What is left of the first without these may be worse than a smaller plan. Shorter searches begin there, without all of
    them and those that then wait for one another, and without one of the first, which may be enough.
    """
    blocked = order(problem, place).blocked
    if not blocked:
        return place
    rest = _unmoved(problem, place, blocked)
    costs = [evaluate(problem, each).cost for each in (problem.start, rest, place)]
    if (costs[1] - costs[2]) * _LITTLE <= costs[0] - costs[2]:
        return place
    steps = _steps(problem.processes, _GOING_ON) if seconds is None else None

    def without(processes: Sequence[int]) -> Indices:
        begin, staying = _unmoved(problem, rest, processes), _staying(problem, processes)
        at, part = None if violations(staying, begin) else begin, seconds and seconds / _GOING_ON
        return search(staying, seed=1 + plans, steps=steps, seconds=part, begin=at).place

    found, frozen = [place, *(without([each]) for each in blocked[:_ALONE])], set(blocked)
    for _ in range(_ROUNDS):
        found.append(without(sorted(frozen)))
        waiting = order(problem, found[-1]).blocked
        if not waiting:
            break
        frozen.update(waiting)
    return min(found, key=lambda each: evaluate(problem, _possible(problem, each)).cost)


def _staying(problem: ReassignmentProblem, processes: Sequence[int]) -> ReassignmentProblem:
    """The same problem, in which some processes may not move."""
    group_of, most = problem.limits.group_of.copy(), problem.limits.most
    group_of[processes] = len(most)
    return replace(problem, limits=MoveLimits(group_of, np.append(most, np.int32(0))))


def _seconds(args: Any) -> float | None:
    return None if args.time_limit is None else args.time_limit / SECOND


def searched_objective(model: PlanningModel, goal: Goal, args: Any, guard: Objective) -> Objective:
    """What the search gets: the goal, what guides it, and the goals before it; StrategyError if these cannot be combined."""
    return combined((goal.guided or goal.objective)(model, args), guard)


def guard_of(model: PlanningModel, goal: Goal, args: Any) -> Objective:
    """The goals before this one, as costs; nothing where there are none."""
    return Objective() if goal.guard is None else goal.guard(model, args)


def _with_moves(model: PlanningModel, objective: Objective, least: IntArray) -> ReassignmentProblem:
    return replace(model.problem, objective=replace(objective, moves=Moves(process=least)))


def _repaired(problem: ReassignmentProblem, begin: Begin) -> Indices | None:
    """What can be kept of the places that an earlier plan wanted, if that is better than where the processes are."""
    if begin.place is None:
        return None
    place = repaired(problem, begin.place)
    return place if evaluate(problem, place).cost < evaluate(problem, problem.start).cost else None


def _searched(problem: ReassignmentProblem, seconds: float | None, begin: Indices | None, plans: int) -> Indices:
    steps = _steps(problem.processes, _GOING_ON if plans else 1) if seconds is None else None
    return search(problem, seed=1 + plans, steps=steps, seconds=seconds, begin=begin).place


def _steps(processes: int, part: int) -> int:
    for_each, fewest, most = _VECTORISED if library() is None else _COMPILED
    return max(min(for_each * processes, most) // part, fewest)


def in_order(found: Found) -> Unit:
    """Return all moves in an order in which each has room."""
    return _planned(found, order(found.model.problem, found.place).moves)


def in_units(found: Found) -> tuple[Unit, ...]:
    """Return the moves as units that are worth it by themselves, the best first."""
    problem = replace(found.model.problem, objective=found.objective)
    return tuple(_planned(found, each) for each in units(problem, found.place, found.least))


def _planned(found: Found, processes: Sequence[int]) -> Unit:
    start, place = found.model.problem.start, found.place
    return tuple(PlannedMove(each, int(start[each]), int(place[each])) for each in processes)


def best_possible(model: PlanningModel, goal: Goal, objective: Objective, args: Any) -> float:
    """Return a value that no plan within the budget can be below; proven, and perhaps lower than the best plan's."""
    return goal.value(model, args, lower_bound(replace(model.problem, objective=objective)))


def proven_bound(found: Found, goal: Goal, args: Any) -> float | None:
    """Return the best value that the exact search leaves possible, moves not counted; None if it says nothing."""
    seconds = _seconds(args)
    problem = replace(found.model.problem, objective=found.objective)
    exact = optimum(problem, seconds=inf if seconds is None else seconds, begin=found.place)
    return None if exact is None else goal.value(found.model, args, exact.bound)


def value_now(model: PlanningModel, goal: Goal, objective: Objective, args: Any) -> float:
    """Return the goal's value as the pods are."""
    problem = replace(model.problem, objective=objective)
    return goal.value(model, args, evaluate(problem, problem.start).machines)
