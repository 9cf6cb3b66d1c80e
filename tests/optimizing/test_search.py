"""The search keeps every rule, knows what its answer costs, and depends on nothing but its problem, seed and steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizing.instances import a_problem, a_problem_with_skews
from restow.optimizing.compiled import CompiledState, library
from restow.optimizing.evaluation import evaluate, violations
from restow.optimizing.goals import balance, pack
from restow.optimizing.problem import WHOLE, MoveLimits, Objective, ReassignmentProblem, Services, problem
from restow.optimizing.search import curve, search
from restow.optimizing.vectorised import VectorisedState

SEEDS = st.integers(0, 2**32)
COMPILED = pytest.param(True, id="compiled", marks=pytest.mark.skipif(library() is None, reason="no compiler"))
NUMPY = pytest.param(False, id="numpy")
#: What a short run of the compiled core comes to with any processor, compiler and version of NumPy.
ANNEALED = -121_280_433_778
#: Every kind of try often, so that a short run has all of them.
PARTS = np.array([0, 300, 200, 200, 100], np.int64)


MADE = st.sampled_from([a_problem, a_problem_with_skews])


def a_state(problem: ReassignmentProblem, seed: int, *, compiled: bool) -> CompiledState | VectorisedState:
    kernel = library()
    return CompiledState(problem, seed, kernel) if compiled and kernel else VectorisedState(problem, seed)


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, temperature=st.sampled_from([0.0, 10.0, 1e4, 1e11]), made=MADE, data=st.data())
def test_costs_and_rules_hold_after_any_sequence(
    compiled: bool, seed: int, temperature: float, made: Callable[..., ReassignmentProblem], data: st.DataObject
):
    """What was kept up to date equals what is computed from nothing, at any temperature, and no rule is ever broken."""
    budget = data.draw(st.sampled_from([None, 0, 3]))
    case = made(seed, budget=budget)
    state = a_state(case, seed, compiled=compiled)
    for _ in range(4):
        state.anneal(temperature, 200 if compiled else 20, PARTS, 3)
        assert state.cost == evaluate(case, state.place).cost
        assert state.best_cost == evaluate(case, state.best).cost
        assert violations(case, state.place) == []
        assert violations(case, state.best) == []
    state.greedy(5, case.machines)
    assert state.cost == evaluate(case, state.place).cost
    assert violations(case, state.best) == []


@pytest.mark.skipif(library() is None, reason="no compiler")
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_what_can_never_be_is_not_allowed_or_has_no_room(seed: int):
    """A process can be on a machine if it may be there when every other process has left, which frees all but what is transient."""
    case = a_problem(seed)
    state = a_state(case, seed, compiled=True)
    assert isinstance(state, CompiledState)
    possible = np.unpackbits(state.find_possible(), axis=1, count=case.machines, bitorder="little")
    for process, machine in np.ndindex(possible.shape):
        began = np.flatnonzero((case.start == machine) & (np.arange(case.processes) != process))
        room = case.capacity[machine] - case.base[machine] - case.reserved[machine]
        free = room - np.where(case.transient, case.usage[began].sum(axis=0), 0)
        fits = bool((case.usage[process] <= free)[case.usage[process] > 0].all())
        may = bool(case.allowed[case.class_of[process], machine]) and fits
        assert bool(possible[process, machine]) == (may or machine == case.start[process])


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_a_seed_gives_one_answer(compiled: bool):
    case = a_problem(7)
    one, two = (search(case, seed=3, steps=500, compiled=compiled) for _ in range(2))
    assert one.place.tolist() == two.place.tolist()
    assert one.compiled is compiled
    assert one.after == evaluate(case, one.place)
    assert one.after.cost <= one.before.cost


@pytest.mark.skipif(library() is None, reason="no compiler")
def test_a_seed_gives_the_same_answer_on_every_machine():
    state = a_state(a_problem(11), 5, compiled=True)
    state.anneal(1e9, 5_000, PARTS, 3)
    assert state.cost == ANNEALED


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
@settings(max_examples=5, deadline=None)
@given(seed=SEEDS)
def test_more_moves_are_never_worse(compiled: bool, seed: int):
    case = a_problem(seed)
    answers = curve(case, [0, 2, 5, 24], seed=1, steps=2_000 if compiled else 60, compiled=compiled)
    costs = [each.after.cost for each in answers]
    assert costs == sorted(costs, reverse=True)
    assert [each.after.moved <= budget for each, budget in zip(answers, [0, 2, 5, 24], strict=True)] == [True] * 4
    assert answers[0].place.tolist() == case.start.tolist()


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_balance_finds_the_even_assignment(compiled: bool):
    usage, capacity = np.full((12, 1), 10), np.full((4, 1), 100)
    case = problem(usage, capacity, np.zeros(12, np.int32), balance(usage, capacity))
    found = search(case, seed=1, steps=20_000 if compiled else 400, compiled=compiled)
    assert np.bincount(found.place, minlength=4).tolist() == [3, 3, 3, 3]
    assert found.after.moved == 9


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_pack_frees_the_machines_that_can_be_freed(compiled: bool):
    usage, capacity = np.full((12, 1), 10), np.full((6, 1), 60)
    case = problem(usage, capacity, np.repeat(np.arange(6, dtype=np.int32), 2), pack(capacity))
    found = search(case, seed=1, steps=20_000 if compiled else 400, compiled=compiled)
    assert np.count_nonzero(np.bincount(found.place, minlength=6)) == 2
    assert found.after.moved == 8


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_machines_are_emptied_in_order_as_far_as_the_budget_goes(compiled: bool):
    """The first machine has more processes than may move; the next two have one each, and the last has no price."""
    usage, capacity = np.full((7, 1), 10), np.full((4, 1), 60)
    price = np.array([5, 5, 5, 0])
    start = np.array([0, 0, 0, 1, 2, 3, 3], np.int32)
    case = problem(usage, capacity, start, Objective(price=price), budget=2)
    state = a_state(case, 1, compiled=compiled)
    assert state.empty_in_order(np.array([0, 1, 2], np.int32)) == 2
    assert state.cost == evaluate(case, state.place).cost == 5
    assert (state.place != start).tolist() == [False, False, False, True, True, False, False]


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, made=MADE)
def test_emptying_keeps_every_rule(compiled: bool, seed: int, made: Callable[..., ReassignmentProblem]):
    case = made(seed)
    case = replace(case, objective=replace(case.objective, price=np.full(case.machines, 10**9)))
    state = a_state(case, seed, compiled=compiled)
    before = state.cost
    state.empty_in_order(np.arange(case.machines, dtype=np.int32))
    assert state.cost == evaluate(case, state.place).cost <= before
    assert state.best_cost == evaluate(case, state.best).cost
    assert violations(case, state.best) == violations(case, state.place) == []


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_load_that_stays_counts_for_balance_and_room(compiled: bool):
    """Machine 0 has 60 that stay, and machine 1 as much as it holds, so the processes go to the other two."""
    usage, capacity, base = np.full((6, 1), 10), np.array([[100], [50], [100], [100]]), np.array([[60], [50], [0], [0]])
    goal = balance(usage, capacity, base=base)
    assert goal.deviation is not None
    assert goal.deviation.target[0, 0] == 170 * WHOLE // 350
    case = problem(usage, capacity, np.zeros(6, np.int32), goal, base=base)
    found = search(case, seed=1, steps=5_000 if compiled else 200, compiled=compiled)
    assert np.bincount(found.place, minlength=4).tolist() == [0, 0, 3, 3]


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_a_machine_with_load_that_stays_alone_has_no_price(compiled: bool):
    usage, capacity, base = np.full((2, 1), 10), np.full((3, 1), 100), np.array([[0], [0], [90]])
    case = problem(usage, capacity, np.array([0, 1]), pack(capacity), base=base)
    found = search(case, seed=1, steps=5_000 if compiled else 200, compiled=compiled)
    assert np.count_nonzero(np.bincount(found.place, minlength=3)) == 1
    assert found.after.moved == 1


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
@pytest.mark.parametrize("limit", [1, 3, 300])
def test_members_that_stay_count_against_a_limit(compiled: bool, limit: int):
    """Two rows for machine 0 come to one less than the limit; machine 1 has the processes; machine 2 none."""
    processes = 3 * limit
    staying = np.array([[0, 0, 1]] * (limit - 1), np.int32).reshape(-1, 3)
    services = Services(np.array([limit], np.int32), np.zeros(1, np.int32), ((),), staying)
    usage, capacity = np.ones((processes, 1), np.int64), np.full((3, 1), 10 * processes)
    start = np.repeat(np.array([1, 2], np.int32), [2 * limit, limit])
    goal = balance(usage, capacity)
    case = problem(usage, capacity, start, goal, service_of=np.zeros(processes, np.int32), services=services)
    found = search(case, seed=1, steps=20_000 if compiled else 20 * limit, compiled=compiled)
    assert np.bincount(found.place, minlength=3).tolist() == [1, 2 * limit - 1, limit]


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_members_that_stay_keep_locations_and_are_there_for_who_needs_them(compiled: bool):
    """Service 0 needs service 1 and is spread over two locations; only what stays of both allows its process to leave."""
    staying = np.array([[0, 0, 1], [1, 1, 1]], np.int32)
    services = Services(np.zeros(2, np.int32), np.array([2, 0], np.int32), ((1,), ()), staying)
    where = np.array([0, 1, 1])
    usage, capacity = np.full((2, 1), 10), np.full((3, 1), 100)
    case = problem(
        usage,
        capacity,
        np.array([1, 0]),
        balance(usage, capacity),
        service_of=np.arange(2),
        services=services,
        location=where,
        neighbourhood=where,
        allowed=np.array([[False, True, True], [True, False, False]]),
        class_of=np.arange(2),
        base=np.array([[0], [50], [0]]),
    )
    found = search(case, seed=1, steps=2_000 if compiled else 100, compiled=compiled)
    assert found.place.tolist() == [2, 0]
    assert violations(replace(case, services=replace(services, staying=staying[1:])), np.array([2, 0]))
    assert violations(replace(case, services=replace(services, staying=staying[:1])), np.array([2, 0]))


def test_more_members_than_a_limit_are_kept_and_not_added_to():
    services = Services(np.array([1], np.int32), np.zeros(1, np.int32), ((),), np.array([[0, 0, 2]], np.int32))
    usage, capacity = np.full((2, 1), 10), np.full((2, 1), 100)
    case = problem(usage, capacity, np.array([1, 1]), Objective(), service_of=np.zeros(2, np.int32), services=services)
    assert violations(case, case.start) == []
    assert violations(case, np.array([0, 1])) == ["service 0: more than 1 processes on one machine"]


@pytest.mark.skipif(library() is None, reason="no compiler")
def test_more_members_than_the_counts_have_room_for_are_refused():
    services = Services(np.array([1], np.int32), np.zeros(1, np.int32), ((),), np.array([[0, 0, 70_000]], np.int32))
    usage, capacity = np.full((1, 1), 10), np.full((2, 1), 100)
    case = problem(usage, capacity, np.array([1]), Objective(), services=services)
    with pytest.raises(ValueError, match="70001 members"):
        search(case, seed=1, steps=10)


def test_a_start_that_breaks_a_rule_is_refused():
    case = a_problem(1)
    allowed = np.zeros_like(case.allowed)
    crowded = problem(case.usage, case.capacity, case.start, Objective(), allowed=allowed, budget=3)
    elsewhere = (case.start + 1) % case.machines
    with pytest.raises(ValueError, match="rules are broken"):
        search(crowded, seed=1, steps=10, begin=elsewhere.astype(np.int32))


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_no_more_of_a_group_move_than_may(compiled: bool):
    """Three processes of one group and one other want to leave a full machine; one of the group may."""
    sizes = np.full((4, 1), 3, np.int64)
    capacity = np.full((4, 1), 12, np.int64)
    limits = MoveLimits(np.array([0, 0, 0, -1], np.int32), np.array([1], np.int32))
    case = problem(sizes, capacity, np.zeros(4, np.int32), balance(sizes, capacity), limits=limits)
    found = search(case, seed=1, steps=2_000, compiled=compiled)
    assert max(np.flatnonzero(found.place).tolist()) == 3
    assert len(np.flatnonzero(found.place)) == 2
