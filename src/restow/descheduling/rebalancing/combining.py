"""Several goals: one after the other (``pack,balance``), or as one sum by weights (``pack:3+balance``).

A search towards a later goal also gets the objectives of the earlier ones, so many times their cost that they outweigh its
own, and a later goal makes no earlier one worse. In a sum each goal counts in what one move must gain for it by default,
times its weight. Both work where no two of the goals use the same term of an objective.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from restow.descheduling.framework import StrategyError
from restow.descheduling.rebalancing.goal import Goal, SuggestedGoal
from restow.descheduling.rebalancing.goals import goals
from restow.descheduling.rebalancing.model import PlanningModel
from restow.kube.excerpts import excerpt
from restow.optimizing.evaluation import evaluate
from restow.optimizing.problem import Deviation, Excess, Integers, Objective

#: What the cost of all earlier goals may come to: more than any later one's, and far from the end of int64.
_MOST: Final = 1 << 60
#: How much more than itself the cost of an earlier goal counts, at most.
_HEAVIEST: Final = 1 << 20
#: The least weight of a goal in a sum, and the greatest, with which costs of 5,000 nodes stay below the end of int64.
_WEIGHTS: Final = (0.01, 50)
#: What a move must take off a sum of goals: so much that the parts of a price or of a deviation stay whole numbers.
_A_MOVE: Final = 1 << 38


#: Goals that count at once, and the weight of each.
Sum = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GoalStep:
    """A search with what it is for: one goal, or several of which the searched one is the sum."""

    goal: Goal
    members: tuple[Goal, ...]


def sums(text: str) -> tuple[Sum, ...]:
    """Return the goals in a text such as ``pack:3+balance,other``, in order.

    ValueError for a weight that is none, or a name that comes twice.
    """
    parts = [[_weighted(each) for each in part.split("+")] for part in text.split(",")]
    names = [name for part in parts for name, _ in part]
    if len(set(names)) < len(names):
        raise ValueError("names a goal twice")
    return tuple(map(dict, parts))


def _weighted(text: str) -> tuple[str, float]:
    name, colon, weight = text.partition(":")
    try:
        value = float(weight) if colon else 1.0
    except ValueError:
        value = 0.0
    if not _WEIGHTS[0] <= value <= _WEIGHTS[1]:
        raise ValueError(f'"{excerpt(text.strip())}": a weight behind a colon is a number from 0.01 to 50')
    return name.strip(), value


def steps(wanted: Sequence[Sum]) -> tuple[GoalStep, ...]:
    """Return the searches that work towards goals, each with the goals before it as its guard.

    StrategyError for goals that cannot be combined. A sum of which one goal empties nodes is searched for twice: for the
    moves that empty nodes, which are made together, and for those that are worth it by themselves.
    """
    found: list[GoalStep] = []
    earlier: tuple[Goal, ...] = ()
    for each in wanted:
        members = tuple(_combinable(name) for name in each)
        guard = partial(_guard, earlier) if earlier else None
        found += [GoalStep(replace(goal, guard=guard), members) for goal in _searched(members, tuple(each.values()))]
        earlier = (*earlier, *members)
    return tuple(found)


def _combinable(name: str) -> Goal:
    goal = goals()[name]
    if isinstance(goal, SuggestedGoal) or goal.for_waiting:
        raise StrategyError(f"goal: {goal.name} cannot be combined with others; plan for it by itself")
    return goal


def _searched(members: tuple[Goal, ...], weights: tuple[float, ...]) -> tuple[Goal, ...]:
    if len(members) == 1:
        return members
    name = "+".join(goal.name for goal in members)
    total = Goal(name, "moves", partial(_sum, members, weights), _in_moves, gain=_A_MOVE, default_gain=1.0)
    return (replace(total, empties=True), total) if any(goal.empties for goal in members) else (total,)


def _sum(members: tuple[Goal, ...], weights: tuple[float, ...], model: PlanningModel, args: Any) -> Objective:
    """The objectives of several goals, each in what a move must gain for it."""
    total = Objective()
    for goal, weight in zip(members, weights, strict=True):
        total = combined(total, _times(goal.objective(model, args), weight * _A_MOVE / (goal.gain * goal.default_gain)))
    return total


def _in_moves(_model: PlanningModel, _args: Any, cost: int) -> float:
    return cost / _A_MOVE


def _guard(earlier: tuple[Goal, ...], model: PlanningModel, args: Any) -> Objective:
    """The objectives of earlier goals, so heavy that they come first."""
    plain = Objective()
    for goal in earlier:
        plain = combined(plain, goal.objective(model, args))
    cost = abs(evaluate(replace(model.problem, objective=plain), model.problem.start).machines)
    cost += 0 if plain.price is None else int(plain.price.sum())
    return _times(plain, max(min(_MOST // max(cost, 1), _HEAVIEST), 1))


def _times(objective: Objective, factor: float) -> Objective:
    excess, deviation, price = objective.excess, objective.deviation, objective.price
    return replace(
        objective,
        excess=None if excess is None else Excess(excess.safety, _whole(excess.weight, factor)),
        deviation=None if deviation is None else Deviation(deviation.target, _whole(deviation.weight, factor)),
        pairs=tuple(replace(pair, weight=round(pair.weight * factor)) for pair in objective.pairs),
        price=None if price is None else _whole(price, factor),
    )


def _whole(amounts: Integers, factor: float) -> Integers:
    whole: Integers = (amounts * factor).astype(np.int64)
    return whole


def combined(one: Objective, other: Objective) -> Objective:
    """The sum of two objectives; StrategyError if both have the same term."""
    terms = ("excess", "deviation", "price")
    if any(getattr(one, term) is not None and getattr(other, term) is not None for term in terms):
        raise StrategyError("goal: these goals cannot be combined, because they count the same thing in two ways")
    both = {term: getattr(one, term) if getattr(one, term) is not None else getattr(other, term) for term in terms}
    return replace(one, pairs=(*one.pairs, *other.pairs), **both)
