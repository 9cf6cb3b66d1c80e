"""No assignment costs less than its bound, by an independent count of all assignments."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restow.optimizing.bounds import lower_bound
from restow.optimizing.goals import balance
from restow.optimizing.problem import WHOLE, MoveLimits, Objective, ReassignmentProblem, problem


def a_small_problem(seed: int, budget: int) -> ReassignmentProblem:
    """Six processes on three machines of different sizes, with load that stays."""
    rng = np.random.default_rng(seed)
    usage, capacity = rng.integers(0, 20, (6, 2)), rng.integers(60, 120, (3, 2))
    limits = MoveLimits(rng.integers(-1, 2, 6).astype(np.int32), np.array([1, 3], np.int32))
    allowed = rng.random((2, 3)) < 0.8
    class_of, start = rng.integers(0, 2, 6).astype(np.int32), rng.integers(0, 3, 6).astype(np.int32)
    allowed[class_of, start] = True
    return problem(
        *(usage, capacity, start, Objective()),
        base=rng.integers(0, 30, (3, 2)),
        budget=budget,
        limits=limits,
        class_of=class_of,
        allowed=allowed,
    )


def assignments(case: ReassignmentProblem) -> list[tuple[int, ...]]:
    """Every assignment that keeps the rules, found by trying all of them."""
    found = []
    for place in product(range(case.machines), repeat=case.processes):
        moved = [process for process in range(case.processes) if place[process] != case.start[process]]
        groups = [int(case.limits.group_of[process]) for process in moved]
        fits = all(
            int(case.base[machine, resource])
            + sum(int(case.usage[p, resource]) for p in range(6) if place[p] == machine)
            <= int(case.capacity[machine, resource])
            for machine in range(case.machines)
            for resource in range(case.resources)
        )
        may = all(case.allowed[case.class_of[process], place[process]] for process in moved)
        if len(moved) <= case.budget and fits and may and all(groups.count(g) <= case.limits.most[g] for g in (0, 1)):
            found.append(place)
    return found


def uneven(case: ReassignmentProblem, place: tuple[int, ...]) -> float:
    """The sum of squared deviations, in floating point."""
    target = case.objective.deviation.target if case.objective.deviation else np.zeros((3, 2))
    total = 0.0
    for machine, resource in product(range(case.machines), range(case.resources)):
        used = case.base[machine, resource] + sum(case.usage[p, resource] for p in range(6) if place[p] == machine)
        total += (float(used) / float(case.capacity[machine, resource]) * WHOLE - float(target[machine, resource])) ** 2
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 6))
def test_no_assignment_is_more_even_than_the_bound(seed: int, budget: int) -> None:
    case = a_small_problem(seed, budget)
    total = case.base.sum(axis=0) + case.usage.sum(axis=0)
    even = balance(np.array([total]), case.capacity)
    case = replace(case, objective=even)
    assert lower_bound(case) <= min((uneven(case, place) for place in assignments(case)), default=np.inf)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 6))
def test_no_assignment_uses_cheaper_machines_than_the_bound(seed: int, budget: int) -> None:
    case = a_small_problem(seed, budget)
    price = np.random.default_rng(seed).integers(0, 50, 3)
    case = replace(case, objective=Objective(price=price))
    costs = [sum(int(price[machine]) for machine in set(place)) for place in assignments(case)]
    assert lower_bound(case) <= min(costs, default=np.inf)


def test_without_moves_the_bound_is_what_there_is() -> None:
    """Nothing may move, so the cost of the start is the bound, but for what is cut off."""
    usage, capacity = np.array([[30], [10]], np.int64), np.full((2, 1), 40, np.int64)
    case = problem(usage, capacity, np.array([0, 1], np.int32), balance(usage, capacity), budget=0)
    assert lower_bound(case) == pytest.approx(2 * (WHOLE // 4) ** 2, rel=1e-3)


def test_one_move_that_makes_all_even_has_a_bound_of_nothing() -> None:
    usage, capacity = np.full((2, 1), 10, np.int64), np.full((2, 1), 40, np.int64)
    case = problem(usage, capacity, np.zeros(2, np.int32), balance(usage, capacity), budget=1)
    assert lower_bound(case) <= WHOLE


def test_equal_processes_need_as_many_machines_as_hold_them() -> None:
    """Seven processes of half a machine need four machines."""
    usage, capacity = np.full((7, 1), 5, np.int64), np.full((7, 1), 10, np.int64)
    cheap = Objective(price=np.full(7, 8, np.int64))
    case = problem(usage, capacity, np.arange(7, dtype=np.int32), cheap)
    assert lower_bound(case) == 4 * 8


def test_a_reward_has_no_bound() -> None:
    usage = np.ones((1, 1), np.int64)
    rewarded = balance(usage, usage, np.array([-1]))
    with pytest.raises(ValueError, match="reward"):
        lower_bound(problem(usage, usage, np.zeros(1, np.int32), rewarded))
