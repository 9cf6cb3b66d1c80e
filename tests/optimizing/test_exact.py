"""The exact answer is the best of all assignments, by an independent count of them, and its bound is never above."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from optimizing.instances import a_problem, with_skews
from restow.optimizing import exact
from restow.optimizing.evaluation import evaluate, held, violations
from restow.optimizing.exact import LARGEST, Optimum, optimum
from restow.optimizing.goals import balance
from restow.optimizing.problem import (
    BalancePair,
    Excess,
    MoveLimits,
    Moves,
    Objective,
    ReassignmentProblem,
    problem,
)
from restow.optimizing.search import search

pytest.importorskip("highspy")

SEEDS = st.integers(0, 2**32)
#: What a machine costs, and what a move costs.
PRICE, MOVE = 50 << 38, 1 << 38


def a_linear_problem(seed: int, processes: int = 6, machines: int = 4) -> ReassignmentProblem:
    """A problem with every rule, equal processes, machines that begin overfull and services that begin crowded."""
    rng = np.random.default_rng(seed)
    case = a_problem(seed, processes, machines, budget=int(rng.integers(0, processes + 1)))
    usage = rng.integers(0, 12, (2, 3))[rng.integers(0, 2, processes)]
    case = replace(case, usage=usage * int(rng.choice([1, 10**9 + 7])), objective=_linear(rng, processes, machines))
    services = replace(case.services, limit=rng.integers(0, 3, len(case.services.limit)).astype(np.int32))
    scale = int(case.usage.max() // 12) or 1
    case = replace(case, services=services, base=case.base * scale, reserved=case.reserved * scale)
    return replace(case, capacity=held(case, case.start) + rng.integers(-4, 20, (machines, 3)) * scale)


def _linear(rng: np.random.Generator, processes: int, machines: int) -> Objective:
    distance = rng.integers(0, 3, (machines, machines)).astype(np.int32)
    moves = Moves(rng.integers(0, 3, processes) * MOVE, distance, distance_weight=int(rng.integers(0, 2)) * MOVE)
    return Objective(price=rng.integers(0, 3, machines) * PRICE, moves=moves)


def least_cost(case: ReassignmentProblem) -> int:
    """What the best of all assignments costs that keep the rules."""
    places = np.array(list(product(range(case.machines), repeat=case.processes)), np.int32)
    costs = sum_of_terms(case, places)
    order = np.argsort(costs, kind="stable").tolist()
    return int(next(costs[each] for each in order if not violations(case, places[each])))


def sum_of_terms(case: ReassignmentProblem, places: np.ndarray) -> np.ndarray:
    """The costs of assignments [row, process], added up term by term."""
    objective, costs = case.objective, np.zeros(len(places), np.int64)
    moved = places != case.start
    if objective.price is not None:
        for machine in range(case.machines):
            costs += (places == machine).any(axis=1) * objective.price[machine]
    if objective.excess is not None:
        for machine, resource in product(range(case.machines), range(case.resources)):
            load = case.base[machine, resource] + (places == machine) @ case.usage[:, resource]
            costs += (
                np.maximum(load - objective.excess.safety[machine, resource], 0) * objective.excess.weight[resource]
            )
    if objective.moves.process is not None:
        costs += moved @ objective.moves.process
    if objective.moves.distance is not None:
        costs += objective.moves.distance_weight * (moved * objective.moves.distance[case.start, places]).sum(axis=1)
    return costs


def found(case: ReassignmentProblem, begin: np.ndarray | None = None) -> Optimum:
    """The exact answer, which is what it says."""
    answer = optimum(case, seconds=inf, begin=begin)
    assert answer is not None
    assert violations(case, answer.place) == []
    assert answer.cost == evaluate(case, answer.place).cost
    assert answer.bound <= answer.cost
    return answer


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
@example(seed=933059)  # presolve of HiGHS 1.16.0 forgets what it has found
def test_no_assignment_is_better(seed: int) -> None:
    case = a_linear_problem(seed)
    answer = found(case)
    assert answer.proven
    assert answer.cost == least_cost(case)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
@example(seed=39343)  # presolve of HiGHS 1.14.0 to 1.15.1 finds nothing that is better than the start
def test_no_assignment_is_better_within_skew_rules(seed: int) -> None:
    case = with_skews(a_linear_problem(seed), seed)
    answer = found(case)
    assert answer.proven
    assert answer.cost == least_cost(case)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_load_above_a_limit_costs_what_it_costs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = a_problem(seed, 6, 4, budget=4)
    excess = Excess(case.capacity * 7 // 10, rng.integers(0, 4, 3))
    case = replace(case, objective=Objective(excess=excess, moves=Moves(rng.integers(0, 9, 6))))
    assert found(case).proven
    assert found(case).cost == least_cost(case)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
@example(seed=3961)  # more rounds than an answer is waited for
def test_the_search_is_never_better(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "PATIENCE", 10_000_000)
        _the_search_is_never_better(seed)


def _the_search_is_never_better(seed: int) -> None:
    case = a_problem(seed, 14, 5, budget=8)
    case = replace(case, objective=_linear(np.random.default_rng(seed), 14, 5))
    searched = search(case, seed=1, steps=3_000)
    assert found(case).proven
    assert found(case).cost <= searched.after.cost
    assert found(case, searched.place).cost == found(case).cost


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_what_is_not_solved_to_the_end_is_still_bounded(seed: int) -> None:
    """After so few rounds that nothing is proven, the bound is below what is the best, and the answer is the begin or better."""
    case = a_hard_problem(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "PATIENCE", 0)
        patch.setattr(exact, "FEWEST_ROUNDS", 5)
        early = optimum(case, seconds=inf)
    best = search(case, seed=1, steps=50_000)
    assert early is not None
    # A few problems are solved even so.
    assume(not early.proven)
    assert early.bound <= best.after.cost
    assert found(case, best.place).cost <= best.after.cost


def a_hard_problem(seed: int) -> ReassignmentProblem:
    """Twenty-four processes of any size on seven machines, of which as many as possible become free."""
    rng = np.random.default_rng(seed)
    usage, start = rng.integers(100, 4_000, (24, 2)), np.arange(24, dtype=np.int32) % 7
    capacity = held(packed(usage, np.full((7, 2), 10**6), start), start).max(axis=0)
    return packed(usage, np.tile(np.maximum(capacity, 16_000), (7, 1)), start)


def packed(usage: np.ndarray, capacity: np.ndarray, start: np.ndarray, **rules: object) -> ReassignmentProblem:
    """A problem in which machines in use cost fifty times as much as a move."""
    machines, processes = len(capacity), len(usage)
    objective = Objective(price=np.full(machines, PRICE), moves=Moves(process=np.full(processes, MOVE)))
    return problem(usage, capacity, start, objective, **rules)


def test_machines_become_free_with_the_fewest_moves() -> None:
    """Twelve processes on six machines, of which two hold them all: eight moves, and four machines are free."""
    usage, capacity = np.full((12, 1), 10), np.full((6, 1), 60)
    answer = found(packed(usage, capacity, np.repeat(np.arange(6, dtype=np.int32), 2)))
    assert answer.proven
    assert answer.cost == 2 * PRICE + 8 * MOVE


def test_a_place_is_made_with_two_moves_where_one_is_not_enough() -> None:
    """Three machines of eight, of which 7, 6 and 7 are used, and a process that wants four and waits on a fourth."""
    usage = np.array([[4], [2], [1], [4], [2], [4], [2], [1], [4]])
    start = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3], np.int32)
    allowed = np.array([[True, True, True, False], [True, True, True, True]])
    case = packed(usage, np.array([[8], [8], [8], [4]]), start, allowed=allowed, class_of=(start == 3).astype(np.int32))
    safety, weight = np.array([[99], [99], [99], [0]]), np.array([PRICE])
    moves = Moves(process=np.append(np.full(8, MOVE), 0))
    answer = found(replace(case, objective=Objective(excess=Excess(safety, weight), moves=moves)))
    assert answer.proven
    assert answer.cost == 2 * MOVE


def test_equal_processes_of_different_groups_are_told_apart() -> None:
    """Of two equal processes the group of one lets none move; the third may not go to their machine, so both are in use."""
    limits = MoveLimits(np.array([-1, 0, -1], np.int32), np.array([0], np.int32))
    start, allowed = np.array([0, 0, 1], np.int32), np.array([[True, True], [False, True]])
    rules = {"limits": limits, "allowed": allowed, "class_of": np.array([0, 0, 1])}
    answer = found(packed(np.ones((3, 1), np.int64), np.full((2, 1), 9), start, **rules))
    assert answer.place.tolist() == [0, 0, 1]


def test_a_group_whose_limit_is_no_limit_bounds_nobody_else() -> None:
    """Two of three equal processes are in a group that may move, the third one in none: all three move."""
    limits = MoveLimits(np.array([0, 0, -1, -1], np.int32), np.array([2], np.int32))
    start, allowed = np.array([0, 0, 0, 1], np.int32), np.array([[True, True], [False, True]])
    rules = {"limits": limits, "allowed": allowed, "class_of": np.array([0, 0, 0, 1])}
    answer = found(packed(np.ones((4, 1), np.int64), np.full((2, 1), 9), start, **rules))
    assert answer.place.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("fits", [True, False])
def test_amounts_that_are_too_fine_for_floating_point_are_rounded_so_that_nothing_is_forbidden(fits: bool) -> None:
    """Two processes fill a machine to the last byte; with one byte less, no assignment is found that keeps the rules."""
    sizes = np.array([[(1 << 50) + 1], [(1 << 49) + 3]])
    capacity = np.full((2, 1), sizes.sum() - (not fits))
    answer = optimum(packed(sizes, capacity, np.array([0, 1], np.int32)), seconds=inf)
    assert (answer is not None) is fits
    if answer:
        assert (answer.cost, answer.proven) == (PRICE + MOVE, True)


def test_nothing_comes_to_an_overfull_machine_until_it_has_room() -> None:
    """Machine 0 begins with 12 of 10: the small process comes to it once the large one has left, and not before."""
    usage, start = np.array([[6], [6], [1]]), np.array([0, 0, 1], np.int32)
    allowed = np.array([[True, False, True], [True, False, False]])
    rules = {"allowed": allowed, "class_of": np.array([0, 0, 1])}
    free = replace(
        packed(usage, np.array([[10], [1], [9]]), start, **rules), objective=Objective(price=np.array([0, 1, 0]))
    )
    assert sorted(found(free).place[:2].tolist()) == [0, 2]
    assert found(free).place[2] == 0
    assert found(replace(free, budget=1)).place[2] == 1


@pytest.mark.parametrize(
    "objective",
    [
        balance(np.ones((2, 2), np.int64), np.full((2, 2), 9)),
        Objective(pairs=(BalancePair(0, 1, 2, 5),)),
        Objective(moves=Moves(service_weight=1)),
        Objective(price=np.array([-1, 1])),
        Objective(excess=Excess(np.zeros((2, 2), np.int64), np.array([0, -1]))),
    ],
    ids=["deviation", "pairs", "services", "reward", "reward for load"],
)
def test_other_objectives_are_left_to_the_search(objective: Objective) -> None:
    case = problem(np.ones((2, 2), np.int64), np.full((2, 2), 9), np.array([0, 1]), Objective())
    assert optimum(case, seconds=inf) is not None
    assert optimum(replace(case, objective=objective), seconds=inf) is None


def test_costs_without_a_large_common_divisor_are_left_to_the_search() -> None:
    usage, capacity, start = np.ones((2, 1), np.int64), np.full((2, 1), 9), np.array([0, 1], np.int32)
    case = packed(usage, capacity, start)
    assert optimum(case, seconds=inf) is not None
    fine = replace(case, objective=replace(case.objective, moves=Moves(process=np.array([MOVE, MOVE + 1]))))
    assert optimum(fine, seconds=inf) is None


def test_large_problems_are_left_to_the_search() -> None:
    """Processes of different sizes count for each machine, equal ones once."""
    count, machines = LARGEST // 100 + 1, 100
    start, capacity = np.zeros(count, np.int32), np.full((machines, 1), count * count)
    assert optimum(packed(np.arange(count)[:, None] + 1, capacity, start), seconds=inf) is None
    assert optimum(packed(np.ones((count, 1), np.int64), capacity, start), seconds=inf) is not None


def test_without_the_solver_there_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    case = packed(np.ones((1, 1), np.int64), np.full((1, 1), 9), np.zeros(1, np.int32))
    assert optimum(case, seconds=inf) is not None
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert optimum(case, seconds=inf) is None


def test_the_solver_writes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    found(a_hard_problem(1))
    assert capfd.readouterr() == ("", "")


def test_an_answer_repeats() -> None:
    one, two = (found(a_hard_problem(3)) for _ in range(2))
    assert one.place.tolist() == two.place.tolist()
    assert one.bound == two.bound
