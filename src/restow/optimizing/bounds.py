"""What no assignment within the budget of moves can be below: proven lower bounds of costs.

Each leaves out rules, so it may be lower than the best that there is, never higher.

Squared deviations: each resource is looked at alone, processes may be split, and everything fits everywhere. What can
leave a machine with j moves is at most its j largest processes, a concave function, so what is left is a convex problem
in which machines are tied together by two sums only: the moves, and that what leaves somewhere arrives elsewhere. Any
prices for these two (Lagrangean multipliers) give a bound; the best ones are found by bisection. It is tight for few
moves, and near zero where moves are plenty: that sizes of processes do not add up evenly is not seen.

Prices: machines in use must hold everything, resource by resource, the cheapest first, and a machine is emptied only by
as many moves as it has processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from restow.optimizing.evaluation import loads
from restow.optimizing.problem import Deviation, Flags, Indices, Integers, ReassignmentProblem, shares

Floats = NDArray[np.float64]

#: Bisections of each of the two multipliers.
_ROUNDS: Final = 40


def lower_bound(problem: ReassignmentProblem) -> int:
    """Return what no assignment within the budget can cost less than, in the integers of the objective.

    Terms for deviations with positive weights and for prices are bounded, others count as nothing (their least value is
    zero, unless a weight is negative: ValueError).
    """
    objective = problem.objective
    bound = 0
    if objective.deviation is not None:
        if (objective.deviation.weight < 0).any():
            raise ValueError("a reward for deviation has no lower bound here")
        bound += _deviation_bound(problem, objective.deviation)
    if objective.price is not None:
        bound += price_bound(problem, objective.price)
    return bound


def _deviation_bound(problem: ReassignmentProblem, deviation: Deviation) -> int:
    """The sum over resources of what each must cost at least."""
    share, load = shares(problem), loads(problem, problem.start)
    order = np.lexsort((np.zeros(problem.processes), problem.start))
    total = 0.0
    for column in np.flatnonzero(deviation.weight).tolist():
        away = load[:, column] * share[:, column] - deviation.target[:, column]
        size = problem.usage[order, column] * share[problem.start[order], column]
        room = np.where(share[:, column] > 0, 1 / np.maximum(share[:, column], 1e-300), 0.0)
        bound = _OneResource.of(away, room, size, problem.start[order]).bound(problem.budget)
        # The cost cuts shares to integers, each by less than one.
        cut = bound - 2 * np.sqrt(max(bound, 0.0) * problem.machines) - 1e-9 * bound
        total += int(deviation.weight[column]) * max(cut, 0.0)
    return int(total)


@dataclass(frozen=True, slots=True)
class _OneResource:
    """Machines with their distance from the target and their processes, the largest first, in shares of the machine."""

    away: Floats
    #: What one unit of share of each machine is as an amount; 0 for machines without capacity, which take nothing.
    amount: Floats
    size: Floats
    machine: Indices
    #: What larger processes of the same machine come to.
    before: Floats

    @classmethod
    def of(cls, away: Floats, amount: Floats, size: Floats, machine: Indices) -> _OneResource:
        order = np.lexsort((-size, machine))
        size, machine = size[order], machine[order]
        total = np.cumsum(size) - size
        first = np.zeros(len(away))
        starts = np.flatnonzero(np.diff(machine, prepend=-1))
        first[machine[starts]] = total[starts]
        keep = size > 0
        return cls(away, amount, size[keep], machine[keep], (total - first[machine])[keep])

    def bound(self, moves: int) -> float:
        """The best of the bounds that prices for moves and for amounts give."""
        if moves >= len(self.size):
            return self._best_flow(0.0)[0]
        low, high = 0.0, 4 * float(np.abs(self.away).max(initial=0.0)) * float(self.size.max(initial=0.0)) + 1
        best = self._best_flow(0.0)[0]
        for _ in range(_ROUNDS):
            price = (low + high) / 2
            value, used = self._best_flow(price)
            best = max(best, value - price * moves)
            low, high = (price, high) if used > moves else (low, price)
        return best

    def _best_flow(self, price: float) -> tuple[float, float]:
        """The best value over prices of amounts, and how many moves it takes."""
        scale = 2 * float(np.abs(self.away).max(initial=0.0)) / float(self.amount[self.amount > 0].min(initial=1.0)) + 1
        low, high = -scale, scale
        best, moves = -np.inf, 0.0
        for _ in range(_ROUNDS):
            flow = (low + high) / 2
            value, arriving, used = self._value(price, flow)
            if value > best:
                best, moves = value, used
            low, high = (flow, high) if arriving < 0 else (low, flow)
        return best, moves

    def _value(self, price: float, flow: float) -> tuple[float, float, float]:
        """The least cost if each move has a price, and each amount that arrives earns ``flow``: a valid bound.

        Returns it without what the budget is worth, with what arrives more than leaves, and how many moves are made.
        """
        # A machine gives until what its next process takes away is worth less than the price.
        here, amount = self.machine, self.amount[self.machine]
        wanted = self.away[here] - (price / self.size + flow * amount) / 2
        given = np.clip(wanted - self.before, 0.0, self.size)
        gives = np.bincount(here, given, len(self.away))
        takes = np.where(self.amount > 0, np.maximum(flow * self.amount / 2 - self.away, 0.0), 0.0)
        takes = np.where(gives > 0, 0.0, takes)
        left = self.away - gives + takes
        moves = float((given / self.size).sum())
        arriving = float(((takes - gives) * self.amount).sum())
        return float((left * left).sum()) + price * moves - flow * arriving, arriving, moves


def price_bound(problem: ReassignmentProblem, price: Integers) -> int:
    """Return what the machines in use must cost at least: a multiple of what all prices are multiples of."""
    unit = max(int(np.gcd.reduce(price)), 1)
    count = np.bincount(problem.start, minlength=problem.machines)
    stuck = _cannot_be_emptied(problem)
    least = max(_held_by_moves(problem, price, count, stuck), *_held_by_resources(problem, price, stuck), 0)
    return -(-least // unit) * unit


def _cannot_be_emptied(problem: ReassignmentProblem) -> Flags:
    """Machines with a process that is allowed nowhere else, or with more of a group than may move."""
    here, limits = problem.start, problem.limits
    others = problem.allowed.sum(axis=1)[problem.class_of] - problem.allowed[problem.class_of, here]
    stuck: Flags = np.bincount(here[others == 0], minlength=problem.machines) > 0
    grouped = limits.group_of >= 0
    pairs, counts = np.unique(np.stack([here[grouped], limits.group_of[grouped]]), axis=1, return_counts=True)
    stuck[pairs[0, counts > limits.most[pairs[1]]]] = True
    return stuck


def _held_by_moves(problem: ReassignmentProblem, price: Integers, count: Integers, stuck: Flags) -> int:
    """The price of the machines in use without those that the budget empties; the last one may be emptied in part."""
    used = (count > 0) & (price > 0)
    free = np.flatnonzero(used & ~stuck)
    free = free[np.argsort(count[free] / price[free], kind="stable")]
    moves = np.cumsum(count[free])
    whole = moves <= problem.budget
    saved = int(price[free[whole]].sum())
    rest = np.flatnonzero(~whole)
    if len(rest):
        left = problem.budget - int(moves[rest[0] - 1]) if rest[0] else problem.budget
        saved += int(left * price[free[rest[0]]] // count[free[rest[0]]]) + 1
    return int(price[used].sum()) - saved


def _held_by_resources(problem: ReassignmentProblem, price: Integers, stuck: Flags) -> list[int]:
    """For each resource, the price of the cheapest machines that hold everything; those that cannot be emptied come first."""
    usable = np.asarray(problem.allowed[np.unique(problem.class_of)].any(axis=0))
    room = np.where(usable[:, None], np.maximum(problem.capacity - problem.base - problem.reserved, 0), 0)
    needed = problem.usage.sum(axis=0)
    paid = stuck & (price > 0)
    free = paid | (price == 0)
    bounds = []
    for column in range(problem.resources):
        left = int(needed[column]) - int(room[free, column].sum())
        cost = int(price[paid].sum())
        others = np.flatnonzero(~free & (room[:, column] > 0))
        others = others[np.argsort(price[others] / room[others, column], kind="stable")]
        bounds.append(cost + _fraction(room[others, column], price[others], left))
    return bounds


def _fraction(room: Integers, price: Integers, needed: int) -> int:
    """What it costs to get so much room, if the last machine may be bought in part; rounded up where prices are equal."""
    if needed <= 0 or len(room) == 0:
        return 0
    total = np.cumsum(room)
    last = int(np.searchsorted(total, needed))
    if last >= len(room):
        return int(price.sum())
    cost = int(price[:last].sum())
    if (price == price[0]).all() and room[: last + 1].min() == room.max():
        return cost + int(price[last])
    return cost + int((needed - (int(total[last - 1]) if last else 0)) * int(price[last]) // int(room[last]))
