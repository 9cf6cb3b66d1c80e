"""What is left of an assignment that has become old keeps all rules, and what still goes is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from optimizing.instances import a_problem
from restow.optimizing.evaluation import violations
from restow.optimizing.problem import Objective, problem
from restow.optimizing.repairing import repaired
from restow.optimizing.search import search


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000), st.integers(0, 24))
def test_any_assignment_is_repaired_to_one_that_keeps_all_rules(seed: int, budget: int) -> None:
    case = a_problem(seed, budget=budget)
    wanted = np.random.default_rng(seed).integers(0, case.machines, case.processes).astype(np.int32)
    assert violations(case, repaired(case, wanted)) == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 100_000))
@example(65_887).via("a machine that had too many of a service at the start")
def test_an_assignment_that_keeps_all_rules_stays_as_it_is(seed: int) -> None:
    case = a_problem(seed)
    found = search(case, seed=seed, steps=2_000).place
    assert repaired(case, found).tolist() == found.tolist()


def test_only_what_does_not_fit_any_more_is_given_up() -> None:
    """Two machines exchange processes; a third process has since lost its place to load that came."""
    usage, capacity = np.full((3, 1), 4, np.int64), np.array([[4], [4], [6], [4]], np.int64)
    base = np.array([[0], [0], [3], [0]], np.int64)
    case = problem(usage, capacity, np.array([0, 1, 3], np.int32), Objective(), base=base)
    assert repaired(case, np.array([1, 0, 2], np.int32)).tolist() == [1, 0, 3]


def test_whoever_stays_keeps_others_from_its_place() -> None:
    """The first cannot leave, so the second cannot come, nor the third take the place of the second."""
    usage, capacity = np.full((3, 1), 4, np.int64), np.full((4, 1), 4, np.int64)
    allowed = np.array([[True, True, True, False]])
    case = problem(usage, capacity, np.array([0, 1, 2], np.int32), Objective(), allowed=allowed)
    assert repaired(case, np.array([3, 0, 1], np.int32)).tolist() == [0, 1, 2]


def test_no_more_moves_are_kept_than_are_allowed() -> None:
    usage, capacity = np.full((3, 1), 1, np.int64), np.full((2, 1), 9, np.int64)
    case = problem(usage, capacity, np.zeros(3, np.int32), Objective())
    assert repaired(replace(case, budget=2), np.ones(3, np.int32)).tolist() == [1, 1, 0]
