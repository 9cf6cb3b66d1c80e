"""The sentence at the top of the page."""

from __future__ import annotations

import pytest

from builders.plans import SMALL_LOADS, a_load, a_move, a_refusal, a_report, small_report, upstream_report
from restow.descheduling.plan import Move
from restow.reporting.verdict import verdict

TO_4 = ("node-1", "node-4")


def moves(count: int, plugin: str = "LowNodeUtilization") -> tuple[Move, ...]:
    return tuple(a_move(f"a/{each}", TO_4, plugin=plugin) for each in range(count))


def test_few_moves_are_about_the_node_that_gains_most() -> None:
    assert verdict(small_report()) == "3 moves take 31 points of CPU off node-2; most others are protected"


def test_one_move_takes() -> None:
    report = a_report(moves(1), (), (a_load("node-1", (50, 50), (71, 70)),))
    assert verdict(report) == "1 move takes 1 point of memory off node-1"


def test_many_moves_are_about_balance_and_the_share_that_moves() -> None:
    refusals = tuple(a_refusal(f"b/{each}", "budget", "X", "no") for each in range(3))
    report = a_report(moves(21), refusals, SMALL_LOADS)
    assert verdict(report) == (
        "CPU more even, 0.32 -> 0.13: 21 of 24 candidates move for LowNodeUtilization; "
        "the others have no disruption budget left"
    )


@pytest.mark.parametrize("count", [1, 21])
def test_what_gets_worse_is_said_first(count: int) -> None:
    worse = (
        a_load("node-1", (60, 48), (20, 20)),
        a_load("node-2", (50, 62), (20, 20)),
        a_load("node-3", (52, 70), (20, 20)),
    )
    assert verdict(a_report(moves(count), (), worse)).startswith("CPU less even, 0.04 -> 0.09: ")


def test_balance_is_no_gain_where_nobody_asked_for_it() -> None:
    report = a_report(moves(2, "RemoveDuplicates"), (), SMALL_LOADS)
    assert verdict(report) == "2 pods move for RemoveDuplicates"


def test_many_strategies_are_counted() -> None:
    report = a_report(tuple(a_move(f"a/{each}", TO_4, plugin=f"S{each}") for each in range(3)))
    assert verdict(report) == "3 pods move for 3 strategies"


def test_without_a_larger_part_the_most_frequent_obstacle_is_counted() -> None:
    refusals = tuple(
        a_refusal(f"b/{each}", stage, "X", "no") for each, stage in enumerate(("evictor", "budget", "limit", "limit"))
    )
    assert verdict(a_report(moves(1, "S"), refusals)).endswith("; 2 others are blocked by the policy's limits")


def test_upstream_placement_claims_no_gain() -> None:
    assert verdict(upstream_report()) == "2 evictions as the Kubernetes Descheduler would make them"


def test_without_moves_it_says_why() -> None:
    assert verdict(a_report()) == "Nothing to move: no strategy found a pod to move"
