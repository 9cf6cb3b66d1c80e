"""The skyline: as high as what a node has of it, and every move a piece of two bars."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.plans import SMALL_LOADS, a_load, a_move, a_report, small_report, upstream_report
from restow.reporting.forms import Report
from restow.reporting.html.skyline import _places, skyline


def bars(report: Report, resource: str) -> dict[str, str]:
    """The content of each node's bar."""
    drawing = re.search(rf'<svg[^>]*data-resource="{resource}".*?</svg>', skyline(report))
    assert drawing
    return dict(re.findall(r'<g [^>]*data-name="([^"]*)"[^>]*>(.*?)</g>', drawing[0]))


def height(content: str, kind: str) -> float:
    """How high the pieces of a kind are together."""
    return sum(float(each) for each in re.findall(rf'class="{kind}[^>]* height="([\d.]+)"', content))


def test_a_bar_has_what_stays_what_leaves_and_what_comes() -> None:
    """Of 16 CPUs 78 % are requested, and two pods of 400m leave."""
    found = bars(small_report(), "cpu")["node-1"]
    assert height(found, "stays") == pytest.approx(110 * (0.78 - 2 * 0.4 / 16), abs=0.1)
    assert height(found, "leaves") == pytest.approx(110 * 2 * 0.4 / 16, abs=0.2)
    assert height(bars(small_report(), "cpu")["node-4"], "comes") == pytest.approx(110 * 2 * 0.4 / 16, abs=0.2)


def test_each_piece_knows_its_move() -> None:
    found = bars(small_report(), "memory")
    assert re.findall(r'data-move="(\d)"', found["node-1"]) == ["0", "1"]
    assert re.findall(r'data-move="(\d)"', found["node-5"]) == ["1"]


def test_a_bar_says_in_words_what_it_is() -> None:
    assert "<title>node-1: CPU 78 % → 61 %, 9 → 7 pods</title>" in bars(small_report(), "cpu")["node-1"]


def test_without_predicted_targets_nothing_moves() -> None:
    found = bars(upstream_report(), "cpu")
    assert not any("data-move" in each or "before" in each for each in found.values())


def test_more_strategies_than_colours_share_the_last_one() -> None:
    moves = tuple(a_move(f"a/{each}", ("node-1", "node-4"), plugin=f"Strategy{each}") for each in range(12))
    assert set(re.findall(r"s(\d)", bars(a_report(moves, (), SMALL_LOADS), "cpu")["node-4"])) == set("01234567")


def test_an_overcommitted_node_is_no_lower_than_a_full_one() -> None:
    assert height(bars(a_report((), (), (a_load("n", (130, 130), (50, 50)),)), "cpu")["n"], "stays") > 110


@given(st.lists(st.integers(1, 300), min_size=1, max_size=12))
def test_no_two_bars_are_in_one_place(sizes: list[int]) -> None:
    places, rows = _places(sizes)
    found = [place for each in places for place in each]
    assert [len(each) for each in places] == sizes
    assert len(set(found)) == len(found)
    assert {row for _, row in found} == set(range(rows))
    assert all(0 <= x < 1000 for x, _ in found)
