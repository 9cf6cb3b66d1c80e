"""A process gets a machine from which the fewest others must leave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizing.instances import a_problem
from restow.optimizing.evaluation import violations
from restow.optimizing.making_way import make_way
from restow.optimizing.problem import Objective, ReassignmentProblem, problem


def one_waits(sizes: list[list[int]], request: int, capacity: int = 8, **rules: object) -> ReassignmentProblem:
    """Machines with processes of some sizes, and a process that waits on a machine of its own, the last one."""
    usage = [[size] for of_machine in sizes for size in of_machine] + [[request]]
    start = [machine for machine, of_machine in enumerate(sizes) for _ in of_machine] + [len(sizes)]
    room = np.array([[capacity]] * len(sizes) + [[request]])
    allowed = np.ones((2, len(sizes) + 1), np.bool_)
    allowed[0, -1] = False
    class_of = np.array([0] * (len(start) - 1) + [1], np.int32)
    return problem(
        np.array(usage), room, np.array(start, np.int32), Objective(), class_of=class_of, allowed=allowed, **rules
    )


def test_a_process_that_fits_somewhere_needs_no_other_move() -> None:
    case = one_waits([[7], [4]], request=4)
    found = make_way(case, 2)
    assert found is not None
    assert found.tolist() == [0, 1, 1]


def test_the_machine_is_chosen_from_which_the_fewest_must_leave() -> None:
    """Two must leave the first machine, and one the second; there is room on the third, where the process may not be."""
    case = one_waits([[2, 2, 2, 2], [4, 4], [4]], request=4)
    case = replace(case, allowed=np.array([[True, True, True, False], [True, True, False, True]]))
    found = make_way(case, 7)
    assert found is not None
    assert (found != case.start).sum() == 2
    assert found[7] == 1


def test_who_leaves_goes_where_it_fits_most_closely() -> None:
    """The process of 3 fits on the second machine exactly, and on the third with room to spare."""
    case = one_waits([[4, 3], [5], [4]], request=4)
    case = replace(case, allowed=np.array([[True, True, True, False], [True, False, False, True]]))
    found = make_way(case, 4)
    assert found is not None
    assert found.tolist() == [0, 1, 1, 2, 0]


def test_there_is_no_way_where_nobody_can_leave() -> None:
    assert make_way(one_waits([[5, 3], [6, 2]], request=4), 4) is None
    assert make_way(one_waits([[5, 3], []], request=4, budget=0), 2) is None


def test_one_that_may_be_nowhere_stays() -> None:
    assert make_way(one_waits([[1], [1]], request=9), 2) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_no_rule_is_broken(seed: int) -> None:
    """In random problems with every kind of rule, for a random process."""
    case = a_problem(seed)
    process = seed % case.processes
    found = make_way(case, process)
    if found is not None:
        assert found[process] != case.start[process]
        assert violations(replace(case), found) == []
