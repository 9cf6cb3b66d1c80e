from __future__ import annotations

import pytest
from msgspec import structs

from builders.plans import a_load, a_move, a_refusal, a_report, small_report, upstream_report
from restow.descheduling.plan import FurtherObstacle, Remark
from restow.policies.codes import Certainty, RefusalCode, Stage
from restow.reporting.answer import headline, imbalance, obstacles, problem_sentences, stays

TO_4 = ("node-1", "node-4")


@pytest.mark.parametrize(
    ("certainties", "expected"),
    [
        (("certain",), "1 move, its gain is certain; 1 target certain"),
        (("possible",), "1 move, its gain is possible; 1 target certain"),
        (("certain", "certain"), "2 moves, the gain of all is certain; 2 targets certain"),
        (("possible", "possible"), "2 moves, the gain of all is possible; 2 targets certain"),
        (("certain", "possible", "certain"), "3 moves, the gain of 2 is certain, of 1 possible; 3 targets certain"),
    ],
)
def test_the_headline_says_how_many_and_how_sure(certainties: tuple[Certainty, ...], expected: str) -> None:
    moves = tuple(a_move(f"a/{index}", TO_4, certainty=each) for index, each in enumerate(certainties))
    assert headline(a_report(moves).plan) == expected


def test_upstream_placement_says_evictions_and_what_it_does_not_know() -> None:
    plan = a_report((a_move("a/1", ("node-1", None)),), placement="upstream").plan
    assert headline(plan) == "1 eviction; placement: upstream - restow does not predict where they land"


def test_nothing_to_do_says_why() -> None:
    problem = Remark("default", "LowNodeUtilization", "no metrics")
    assert headline(a_report().plan) == "Nothing to move: no strategy found a pod to move"
    assert headline(a_report(placement="upstream").plan).startswith("Nothing to evict: ")
    assert headline(a_report(problems=(problem,)).plan) == "Nothing to move: LowNodeUtilization could not run"
    assert headline(a_report(problems=(problem, problem)).plan) == "Nothing to move: 2 strategies could not run"
    refused = (a_refusal("a/1", "evictor", "X", "no"),)
    assert headline(a_report((), refused).plan) == "Nothing to move: 1 candidate refused"


def test_refusals_are_told_apart_from_pods() -> None:
    assert stays(small_report().plan) == "13 candidates refused (14 refusals)"


def test_why_candidates_stay_is_told_by_the_stage_where_each_pod_came_to_a_halt() -> None:
    (sentence,) = obstacles(small_report().plan)
    assert sentence == (
        "Of them, 8 are protected, 2 have no disruption budget left and 3 have no acceptable placement."
    )
    assert obstacles(upstream_report().plan) == ["The reason is always DaemonSetPods: pods of a DaemonSet."]
    assert obstacles(a_report().plan) == []


def test_a_pod_that_moves_after_all_is_no_obstacle() -> None:
    refusals = (
        a_refusal("a/1", "limit", "X", "x"),
        a_refusal("a/2", "limit", "X", "x"),
        a_refusal("a/3", "evictor", "Y", "y"),
    )
    plan = a_report((a_move("a/1", TO_4),), refusals).plan
    assert obstacles(plan)[0] == "Of them, 1 is protected and 1 is blocked by the policy's limits."


def test_where_limits_hold_pods_back_nobody_says_that_nothing_else_can_move() -> None:
    limited = a_refusal("a/2", "limit", "MaxPodsToEvictPerNode", "reached")
    for refusals in ((limited,), (limited, a_refusal("a/3", "evictor", "Y", "y"))):
        sentences = obstacles(a_report((a_move("a/1", TO_4),), refusals).plan)
        assert sentences[-1] == "Higher limits may allow more moves."
        assert not any("Nothing else" in each for each in sentences)


def test_limits_beyond_which_nothing_can_move_are_not_advised_to_be_raised() -> None:
    limited = structs.replace(
        a_refusal("a/2", "limit", "MaxPodsToEvictPerNode", "reached"),
        also_refused_by=FurtherObstacle(Stage.PLACEMENT, RefusalCode.NO_FIT, "0/3 nodes are available"),
    )
    refusals = (limited, a_refusal("a/3", "evictor", "Y", "y"))
    assert obstacles(a_report((a_move("a/1", TO_4),), refusals).plan) == [
        "Of them, 1 is protected and 1 has no acceptable placement.",
        "Higher limits alone would not allow more moves.",
    ]


def test_what_is_not_known_is_told_apart() -> None:
    refusals = (a_refusal("a/1", "budget", "Unknown", "x"), a_refusal("a/2", "evictor", "Y", "y"))
    plan = a_report((), refusals).plan
    assert obstacles(plan)[0].endswith("1 is protected and 1 depends on data missing from the input.")
    assert headline(plan) == ("Nothing to move: 1 of 2 candidates depends on data missing from the input")


def test_the_imbalance_is_that_of_the_least_even_resource() -> None:
    loads = (a_load("node-1", (50, 50), (10, 40)), a_load("node-2", (50, 50), (90, 60)))
    worst = imbalance(a_report((), (), loads).plan)
    assert worst is not None
    assert (worst.resource, round(worst.before, 2), round(worst.after, 2)) == ("memory", 0.4, 0.1)


def test_a_resource_that_becomes_the_least_even_one_is_the_imbalance() -> None:
    loads = (a_load("node-1", (50, 90), (40, 50)), a_load("node-2", (50, 10), (60, 50)))
    worst = imbalance(a_report((), (), loads).plan)
    assert worst is not None
    assert (worst.resource, round(worst.before, 2), round(worst.after, 2)) == ("cpu", 0.0, 0.4)


def test_an_empty_cluster_has_no_imbalance() -> None:
    assert imbalance(a_report().plan) is None


def test_a_problem_names_its_strategy() -> None:
    plan = a_report(problems=(Remark("default", "LowNodeUtilization", "no metrics for\nnode-3"),)).plan
    assert problem_sentences(plan) == ("LowNodeUtilization could not run: no metrics for node-3",)
