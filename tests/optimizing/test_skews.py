"""Skew rules: no location has too many members more than another, for both cores alike, and after every single change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizing.instances import a_problem_with_skews
from restow.optimizing.compiled import CompiledState, library
from restow.optimizing.evaluation import violations
from restow.optimizing.goals import balance, pack
from restow.optimizing.making_way import make_way
from restow.optimizing.ordering import order, units
from restow.optimizing.problem import Objective, ReassignmentProblem, Services, Skews, problem
from restow.optimizing.repairing import repaired
from restow.optimizing.search import search
from restow.optimizing.skews import SkewCounts, skew_counts
from restow.optimizing.vectorised import NEVER, VectorisedState

SEEDS = st.integers(0, 2**32)
COMPILED = pytest.param(True, id="compiled", marks=pytest.mark.skipif(library() is None, reason="no compiler"))
NUMPY = pytest.param(False, id="numpy")
#: Shifts alone.
SHIFTS = np.zeros(5, np.int64)
#: So hot that any change is accepted.
HOT = 1e15


def of_one_service(
    start: list[int], zones: list[int], *, most: int, cpu: list[int] | None = None, capacity: int = 100
) -> ReassignmentProblem:
    """Processes of one service on machines in zones, none of which may have more than ``most`` more than another."""
    usage = np.array([10] * len(start) if cpu is None else cpu, np.int64)[:, None]
    room = np.full((len(zones), 1), capacity, np.int64)
    return problem(
        usage,
        room,
        np.array(start, np.int32),
        balance(usage, room),
        service_of=np.zeros(len(start), np.int32),
        services=Services.without_rules(1),
        skews=one_rule(zones, most=most),
    )


def one_rule(zones: list[int], *, most: int) -> Skews:
    """A rule for service 0 that counts all zones."""
    number = max(zones) + 1
    return Skews(
        of_service=((0,),),
        location=np.array([zones], np.int32),
        division=np.zeros(1, np.int32),
        locations=np.array([number], np.int32),
        staying=np.zeros((1, number), np.int32),
        most=np.array([most], np.int32),
        from_zero=np.zeros(1, np.int32),
    )


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_no_zone_has_too_many_more_than_another(compiled: bool) -> None:
    """Four machines of one zone and one of the other: even machines would be a zone of eight and one of two."""
    case = of_one_service([0] * 5 + [4] * 5, [0, 0, 0, 0, 1], most=2)
    found = search(case, seed=1, steps=5_000 if compiled else 200, compiled=compiled)
    assert skew_counts(case, found.place).tolist() == [[6, 4]]
    assert sorted(np.bincount(found.place, minlength=5).tolist()) == [1, 1, 2, 2, 4]


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_too_many_become_fewer_step_by_step(compiled: bool) -> None:
    """Five, none and none: the second process may only come to a zone when one has come to the other."""
    case = of_one_service([0] * 5, [0, 1, 2], most=1)
    found = search(case, seed=1, steps=5_000 if compiled else 200, compiled=compiled)
    assert sorted(skew_counts(case, found.place)[0].tolist()) == [1, 2, 2]
    assert violations(case, np.array([0, 0, 0, 1, 1])) == ["skew 0: too many members in location 1"]
    planned = order(case, found.place)
    assert planned.blocked == ()
    assert len(planned.moves) == found.after.moved


def test_a_zone_with_too_many_keeps_them_while_no_zone_has_fewer_than_at_the_start() -> None:
    """Four, one and one of which two may be more: nobody may leave the smaller ones, and two of the large one may go."""
    case = of_one_service([0] * 4 + [1, 2], [0, 1, 2], most=2)
    assert violations(case, case.start) == []
    assert violations(case, np.array([0, 0, 0, 1, 1, 2])) == []
    assert violations(case, np.array([0, 0, 0, 0, 1, 1])) == ["skew 0: too many members in location 0"]
    assert violations(case, np.array([0, 0, 0, 0, 0, 2])) == ["skew 0: too many members in location 0"]


def test_within_a_zone_with_too_many_nothing_moves() -> None:
    """Three on one machine of a zone, none in the other zone; once one has gone there, another may move within the zone."""
    case = of_one_service([0, 0, 0], [0, 0, 1], most=1)
    counts = SkewCounts(case, case.start)
    assert counts.allowed(0, 0).tolist() == [True, False, True]
    counts.move(1, 0, 2)
    assert counts.allowed(0, 0).tolist() == [True, True, True]
    assert order(case, np.array([1, 2, 0], np.int32)).moves == (1, 0)


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_where_the_fewest_count_as_none_a_zone_has_at_most_the_skew(compiled: bool) -> None:
    case = of_one_service([0, 0, 0, 0], [0, 1], most=1)
    case = replace(case, skews=replace(case.skews, from_zero=np.ones(1, np.int32)))
    found = search(case, seed=1, steps=2_000 if compiled else 100, compiled=compiled)
    assert skew_counts(case, found.place).tolist() == [[3, 1]]


@pytest.mark.skipif(library() is None, reason="no compiler")
@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_both_cores_allow_the_same_shifts(seed: int) -> None:
    """After some changes: what NumPy allows is what the compiled core makes of many tries."""
    case = replace(a_problem_with_skews(seed, 12, 5), objective=Objective())
    kernel = library()
    assert kernel is not None
    compiled, vectorised = CompiledState(case, seed, kernel), VectorisedState(case, seed)
    compiled.anneal(HOT, 50, np.array([0, 300, 200, 200, 100], np.int64), 3)
    place = compiled.place.copy()
    vectorised.move_to(place)
    allowed = {
        (process, machine)
        for process in range(case.processes)
        for machine in np.flatnonzero(vectorised.changes(process) != NEVER).tolist()
    }
    made = set()
    for _ in range(2_000):
        if compiled.anneal(HOT, 1, SHIFTS, 3):
            process = int(np.flatnonzero(compiled.place != place)[0])
            made.add((process, int(compiled.place[process])))
            compiled.move_to(place)
    assert made == allowed


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_a_seed_gives_one_answer(compiled: bool) -> None:
    case = a_problem_with_skews(7)
    one, two = (search(case, seed=3, steps=500, compiled=compiled).place.tolist() for _ in range(2))
    assert one == two


@pytest.mark.skipif(library() is None, reason="no compiler")
def test_two_change_places_if_one_of_them_may_go_first() -> None:
    """Machines of 12 and 6 in zones with two each: where a zone may have two more for a moment, a large and a small one go."""
    case = of_one_service([0, 0, 1, 1], [0, 1], most=1, cpu=[6, 6, 3, 3], capacity=20)
    assert search(case, seed=1, steps=5_000).after.moved == 0
    case = replace(case, skews=one_rule([0, 1], most=2))
    found = search(case, seed=1, steps=5_000)
    assert skew_counts(case, found.place).tolist() == [[2, 2]]
    assert found.after.moved == 2
    assert order(case, found.place).blocked == ()


def test_a_move_waits_until_its_zone_has_room() -> None:
    """Zones of two, two and one: one must leave the second zone before another comes."""
    case = of_one_service([0, 0, 1, 1, 2], [0, 1, 2], most=1)
    place, least = np.array([1, 0, 2, 1, 2], np.int32), np.full(5, -(10**15))
    assert order(case, place).moves == (2, 0)
    assert units(case, place, least) == [(2,), (0,)]


def test_two_of_zones_that_may_not_change_stay() -> None:
    case = of_one_service([0, 0, 1, 1], [0, 1], most=1)
    assert order(case, np.array([1, 0, 0, 1], np.int32)).blocked == (0, 2)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_every_move_of_an_order_keeps_every_skew_rule(seed: int) -> None:
    """Replayed move by move, in an order of all moves and in units, no location has too many."""
    case = replace(a_problem_with_skews(seed), transient=np.zeros(3, np.bool_))
    place = search(case, seed=seed, steps=2_000).place
    in_units = units(case, place, np.full(case.processes, -(10**15)))
    for moves in (order(case, place).moves, tuple(process for unit in in_units for process in unit)):
        now = case.start.copy()
        for process in moves:
            now[process] = place[process]
            assert [each for each in violations(case, now) if each.startswith("skew")] == []


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_what_is_repaired_keeps_every_skew_rule(seed: int) -> None:
    case = a_problem_with_skews(seed)
    rng = np.random.default_rng(seed)
    wanted = np.where(rng.random(case.processes) < 0.5, rng.integers(0, case.machines, case.processes), case.start)
    assert violations(case, repaired(case, wanted.astype(np.int32))) == []
    found = search(case, seed=1, steps=1_000).place
    assert repaired(case, found).tolist() == found.tolist()


def test_only_the_move_beyond_a_rule_is_given_up() -> None:
    case = of_one_service([0, 0, 0, 1], [0, 1, 1], most=2)
    assert repaired(case, np.array([0, 1, 2, 2], np.int32)).tolist() == [0, 1, 2, 2]
    assert repaired(case, np.array([1, 2, 2, 2], np.int32)).tolist() == [1, 2, 0, 2]


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_way_is_made_within_skew_rules(seed: int) -> None:
    case = a_problem_with_skews(seed)
    found = make_way(case, seed % case.processes)
    assert found is None or violations(case, found) == []


@pytest.mark.parametrize("compiled", [COMPILED, NUMPY])
def test_a_machine_is_emptied_into_another_zone_if_the_rule_allows_that(compiled: bool) -> None:
    """Only the machine of the other zone has room."""
    case = of_one_service([0, 1], [0, 0, 1], most=2, cpu=[60, 60])
    case = replace(case, objective=pack(case.capacity, np.array([5, 0, 0])))
    found = search(case, seed=1, steps=2_000 if compiled else 100, compiled=compiled)
    assert found.place.tolist() == [2, 1]
    four = of_one_service([0, 1, 2, 2], [0, 0, 1], most=1, cpu=[60, 60, 1, 1])
    four = replace(four, objective=case.objective)
    assert search(four, seed=1, steps=2_000 if compiled else 100, compiled=compiled).after.moved == 0
