"""Thresholds and classes of nodes. Ids are the rows of upstream's unit tests (UH), restated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.descheduling.node_utilization.thresholds import Rule, around, classify, is_above, is_below, mean
from restow.descheduling.node_utilization.usage import Percentages


def load(cpu: float, memory: float) -> Percentages:
    return {"cpu": cpu, "memory": memory}


def all_under(_: int, load: Percentages, limit: Percentages) -> bool:
    return all(load[name] < bound for name, bound in limit.items())


def all_over(_: int, load: Percentages, limit: Percentages) -> bool:
    return all(load[name] > bound for name, bound in limit.items())


FOUR = [load(10, 10), load(90, 90), load(50, 50), load(10, 90)]
FIVE = [load(10, 10), load(90, 90), load(40, 40), load(10, 90), load(11, 18)]
THREE = [load(2, 2), load(5, 5), load(8, 8)]

CLASSES = {
    "UH-10": (FOUR, [load(20, 20), load(80, 80)], [all_under, all_over], [[0], [1]]),
    "UH-11": (FIVE, [load(20, 20), load(50, 50), load(80, 80)], [all_under, all_under, all_over], [[0, 4], [2], [1]]),
    "UH-12": (THREE, [load(4, 4), load(16, 16)], [all_under], [[0]]),
    "UH-13": (THREE, [load(4, 4)], [all_under, all_over], [[0], []]),
}


@pytest.mark.parametrize(("loads", "limits", "rules", "expected"), CLASSES.values(), ids=CLASSES.keys())
def test_a_node_belongs_to_the_first_class_whose_rule_holds(
    loads: list[Percentages], limits: list[Percentages], rules: list[Rule], expected: list[list[int]]
) -> None:
    assert classify(dict(enumerate(loads)), limits, rules) == expected


MEANS = {
    "UH-16": ([load(50, 50), load(50, 50)], load(50, 50)),
    "UH-17": (
        [{"cpu": 100, "memory": 30, "pods": 20}, {"cpu": 1, "memory": 40, "pods": 100}],
        {"cpu": 50.5, "memory": 35, "pods": 60},
    ),
    "UH-18": ([{"cpu": 10}, {"cpu": 30, "gpu": 50}, {}], {"cpu": 20, "gpu": 50}),
    "nothing": ([], {}),
}


@pytest.mark.parametrize(("loads", "expected"), MEANS.values(), ids=MEANS.keys())
def test_a_mean_is_taken_over_the_nodes_that_have_the_resource(loads: list[Percentages], expected: Percentages) -> None:
    assert mean(loads) == expected


def test_a_mean_is_added_up_without_compensation() -> None:
    """Upstream adds plainly; Python's sum() would give exactly 0.1 here."""
    assert mean([{"cpu": 0.1}] * 10)["cpu"] == 0.09999999999999999


CLAMPS = {
    "UH-20 above": (50, 0, 60, 50, 100),
    "UH-20 below": (7, 10, 5, 0, 12),
    "UH-20 between": (15, 5, 5, 10, 20),
}


@pytest.mark.parametrize(("centre", "below", "above", "low", "high"), CLAMPS.values(), ids=CLAMPS.keys())
def test_thresholds_around_a_centre_stay_between_0_and_100(
    centre: float, below: float, above: float, low: float, high: float
) -> None:
    assert around({"cpu": centre}, {"cpu": below}, {"cpu": above}) == ({"cpu": low}, {"cpu": high})


def test_a_resource_without_a_centre_has_no_thresholds() -> None:
    assert around({}, {"gpu": 5}, {"gpu": 5}) == ({}, {})


def test_equal_is_under_and_not_over_and_a_missing_resource_is_0() -> None:
    assert is_below(load(20, 20), load(20, 20))
    assert not is_above(load(20, 20), load(20, 20))
    assert is_below({}, load(0, 0))
    assert not is_above({}, load(0, 0))


@given(
    st.dictionaries(st.sampled_from("abc"), st.floats(0, 100)),
    st.dictionaries(st.sampled_from("abc"), st.floats(0, 100)),
)
def test_no_node_is_both_below_and_above_the_same_limit(load: Percentages, limit: Percentages) -> None:
    assert is_below(load, limit) != is_above(load, limit)
