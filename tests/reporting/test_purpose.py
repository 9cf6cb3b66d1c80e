"""What a policy wanted and what becomes of balance, on the terminal and on the page."""

from __future__ import annotations

from html import unescape

import pytest

from builders.plans import a_load, a_move, a_refusal, a_report, small_report, upstream_report
from reporting.test_table import printed, printed_wide
from restow.reporting.answer import balance, less_even, levels
from restow.reporting.forms import Report
from restow.reporting.html.page import render_html
from restow.reporting.strategies import wanted

TO_4 = ("node-1", "node-4")
#: CPU was even, and is not any more.
WORSE = (a_load("node-1", (54, 42), (50, 50)), a_load("node-2", (50, 62), (50, 50)))


def a_worse_report(plugin: str = "LowNodeUtilization", moves: int = 12) -> Report:
    """Many moves take 12 points of CPU off a node, and put more on another."""
    return a_report(tuple(a_move(f"a/{each}", TO_4, plugin=plugin) for each in range(moves)), (), WORSE)


def test_each_strategy_is_told_with_what_it_gets_of_what_it_asked_for() -> None:
    """A pod that is refused more than once, or moved in the end, is one pod."""
    moves = (a_move("a/1", TO_4, plugin="A"), a_move("a/2", TO_4, plugin="B"), a_move("a/3", TO_4, plugin="B"))
    refusals = tuple(a_refusal(f"a/{each}", "limit", "X", "x", plugin="A") for each in (1, 4, 4, 5))
    never = (a_refusal("a/6", "limit", "X", "x", plugin="C"),)
    assert wanted(a_report(moves, (*refusals, *never)).plan) == ["B 2", "A 1 of 3", "C 0 of 1"]


def test_balance_is_told_for_better_and_for_worse() -> None:
    assert balance(small_report().plan) == ["CPU more even, 0.32 -> 0.13", "memory more even, 0.23 -> 0.16"]
    assert less_even(small_report().plan) == []
    plan = a_worse_report().plan
    assert balance(plan) == ["CPU less even, 0.02 -> 0.10"]
    assert less_even(plan) == balance(plan)


def test_what_is_shown_as_the_same_is_as_even_as_before() -> None:
    loads = (a_load("node-1", (500, 501), (0, 0)), a_load("node-2", (300, 300), (0, 0)))
    assert balance(a_report((a_move("a/1", TO_4),), (), loads).plan) == ["CPU unchanged at 1.00"]


def test_where_nothing_is_predicted_nothing_is_said_of_balance() -> None:
    assert balance(upstream_report().plan) == []
    assert balance(a_report().plan) == []


def test_only_a_strategy_that_levels_asked_for_less_load() -> None:
    assert levels(a_worse_report().plan)
    assert not levels(a_worse_report("RemoveDuplicates").plan)


@pytest.mark.parametrize("moves", [12, 30])
def test_every_output_says_that_balance_gets_worse(moves: int) -> None:
    report = a_worse_report(moves=moves)
    for output in (printed(report), printed_wide(report), render_html(report)):
        assert "CPU less even, 0.02 -> 0.10" in unescape(output).replace("→", "->")
        assert "LowNodeUtilization" in output
        assert f"{moves}" in output
        assert "points of CPU off" not in output


def test_the_page_praises_only_what_was_asked_for() -> None:
    better = small_report()
    assert "3 moves take 31 points of CPU off node-2" in render_html(better)
    taints = a_report((a_move("a/1", TO_4, plugin="RemovePodsViolatingNodeTaints"),), (), better.loads)
    assert "<h1>1 pod moves for RemovePodsViolatingNodeTaints</h1>" in render_html(taints)
