"""The order of moves: each has room when it is made, and what cannot be ordered stays."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizing.instances import a_problem
from restow.optimizing.evaluation import evaluate, loads
from restow.optimizing.goals import balance
from restow.optimizing.ordering import order, units
from restow.optimizing.problem import WHOLE, Objective, ReassignmentProblem, problem
from restow.optimizing.search import search


def processes_of(usage: list[int], capacity: list[int], start: list[int]) -> ReassignmentProblem:
    """Processes of one resource."""
    column = np.array(usage, np.int64)[:, None]
    return problem(column, np.array(capacity, np.int64)[:, None], np.array(start, np.int32), Objective())


def test_a_move_that_makes_room_comes_before_the_one_that_needs_it() -> None:
    """Machine 1 is full until its process has left."""
    case = processes_of([5, 5], [5, 5, 5], [0, 1])

    found = order(case, np.array([1, 2], np.int32))

    assert found.moves == (1, 0)
    assert found.blocked == ()


def test_two_processes_of_full_machines_cannot_change_places() -> None:
    """Each of them waits for the other, so both stay."""
    case = processes_of([5, 4], [5, 5], [0, 1])

    found = order(case, np.array([1, 0], np.int32))

    assert found.moves == ()
    assert found.blocked == (0, 1)


def test_two_processes_change_places_where_there_is_room_for_both() -> None:
    """One machine takes the other's process before its own leaves."""
    case = processes_of([5, 4], [5, 9], [0, 1])

    assert order(case, np.array([1, 0], np.int32)).moves == (0, 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000))
def test_every_move_of_an_order_has_room_when_it_is_made(seed: int) -> None:
    """Replayed move by move, no load passes a capacity that it did not pass before."""
    case = replace(a_problem(seed), transient=np.zeros(3, np.bool_))
    place = search(case, seed=seed, steps=2_000).place

    found = order(case, place)

    now = case.start.copy()
    for process in found.moves:
        now[process] = place[process]
        load = loads(case, now)[place[process]]
        assert ((load <= case.capacity[place[process]]) | (case.usage[process] == 0)).all()
    moved = np.flatnonzero(place != case.start).tolist()
    assert sorted((*found.moves, *found.blocked)) == moved


def test_moves_that_are_worth_it_alone_are_units_of_one() -> None:
    """Two processes leave a full machine for an empty one; each makes it more even."""
    usage, capacity = np.full((4, 1), 5, np.int64), np.full((2, 1), 40, np.int64)
    case = problem(usage, capacity, np.zeros(4, np.int32), balance(usage, capacity))

    assert units(case, np.array([0, 0, 1, 1], np.int32), np.ones(4, np.int64)) == [(2,), (3,)]


def test_two_that_are_only_worth_it_together_are_one_unit() -> None:
    """Machines have 12 and 6; a process of 6 alone turns that round, and one of 3 comes back for it."""
    usage, capacity = np.array([[6], [6], [3], [3]], np.int64), np.full((2, 1), 20, np.int64)
    case = problem(usage, capacity, np.array([0, 0, 1, 1], np.int32), balance(usage, capacity))

    found = units(case, np.array([1, 0, 0, 1], np.int32), np.ones(4, np.int64))

    assert found == [(0, 2)]


def test_three_that_are_only_worth_it_together_are_one_unit() -> None:
    """Machines have 12 and 6; one of 7 goes, and two of 2 come back for it; with one of them it is worth 5 a move, and must be 5.5."""
    usage, capacity = np.array([[7], [5], [2], [2], [2]], np.int64), np.full((2, 1), 20, np.int64)
    case = problem(usage, capacity, np.array([0, 0, 1, 1, 1], np.int32), balance(usage, capacity))
    least = np.full(5, 11 * (WHOLE // 20) ** 2 // 2, np.int64)

    found = units(case, np.array([1, 0, 0, 0, 1], np.int32), least)

    assert [sorted(unit) for unit in found] == [[0, 2, 3]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 0.05))
def test_every_unit_fits_and_is_worth_its_moves(seed: int, share: float) -> None:
    """Replayed unit by unit: each move has room when it is made, and each unit takes off at least what its moves must."""
    case = replace(a_problem(seed), transient=np.zeros(3, np.bool_))
    place = search(case, seed=seed, steps=2_000).place
    machines = replace(case, objective=replace(case.objective, moves=type(case.objective.moves)()))
    least = np.full(case.processes, max(int(share * abs(evaluate(machines, case.start).machines)), 1), np.int64)

    now = case.start.copy()
    for unit in units(machines, place, least):
        before = evaluate(machines, now).machines
        for process in unit:
            room = case.capacity[place[process]] - case.reserved[place[process]] - loads(case, now)[place[process]]
            assert ((case.usage[process] <= room) | (case.usage[process] == 0)).all()
            now[process] = place[process]
        assert before - evaluate(machines, now).machines >= least[list(unit)].sum()
