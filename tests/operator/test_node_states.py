"""How much nodes are used, and which of them bear soft taints. Rows as OpenShift's soft tainter decides them."""

from __future__ import annotations

import pytest

from restow.descheduling.plugins.low_node_utilization import LowNodeUtilizationArgs
from restow.operator.soft_tainting import keys_of, node_states
from restow.operator.soft_taints import APPROPRIATE, OVERUTILIZED

BOTH = frozenset({APPROPRIATE, OVERUTILIZED})
#: What a node bears, in a letter: none, the taint of appropriate use, both.
LETTERS = {frozenset(): "-", frozenset({APPROPRIATE}): "A", BOTH: "O"}


def args(low: int, high: int, *, deviation: bool) -> LowNodeUtilizationArgs:
    return LowNodeUtilizationArgs(
        use_deviation_thresholds=deviation,
        thresholds={"MetricResource": low},
        target_thresholds={"MetricResource": high},
    )


def usage(*percents: float) -> dict[str, float]:
    return {f"n{at}": percent / 100 for at, percent in enumerate(percents)}


def letters(
    percents: tuple[float, ...], low: int, high: int, *, deviation: bool, cordoned: tuple[str, ...] = ()
) -> str:
    keys = keys_of(node_states(usage(*percents), cordoned, args(low, high, deviation=deviation)))
    return "".join(LETTERS[keys[node]] for node in sorted(keys))


@pytest.mark.parametrize(
    ("span", "percents", "expected"),
    [
        ((0, 10), (10, 20, 30), "--A"),
        ((0, 10), (10, 20, 31), "--O"),
        ((0, 10), (10, 35, 50), "-AO"),
        ((0, 10), (70,), "-"),
        ((10, 10), (10, 50, 90), "-AO"),
        ((10, 10), (10, 10, 10), "---"),
        ((10, 10), (90, 90, 90), "---"),
        ((10, 10), (60, 100, 100), "-OO"),
        ((10, 10), (0, 100), "-O"),
    ],
    ids=str,
)
def test_around_the_mean(span, percents, expected):
    assert letters(percents, *span, deviation=True) == expected


@pytest.mark.parametrize(("percents", "expected"), [((20, 50, 51), "-AO"), ((21, 50, 51), "--O")], ids=str)
def test_fixed_thresholds_count_themselves_as_below(percents, expected):
    assert letters(percents, 20, 50, deviation=False) == expected


def test_a_fraction_of_a_percent_is_cut_off():
    assert letters((20.9, 50.9, 51.0), 20, 50, deviation=False) == "-AO"


def test_a_cordoned_node_has_no_room():
    assert letters((10, 50, 90), 10, 10, deviation=True, cordoned=("n0",)) == "--O"
    assert letters((10, 10, 50, 90), 10, 10, deviation=True, cordoned=("n0",)) == "A-AO"


def test_nodes_bear_taints_where_others_have_room():
    states = {"low": "underutilized", "fair": "appropriate", "high": "overutilized"}
    assert keys_of(states) == {"low": set(), "fair": {APPROPRIATE}, "high": BOTH}


def test_where_no_node_has_room_the_fair_ones_are_the_best_there_are():
    assert keys_of({"fair": "appropriate", "high": "overutilized"}) == {"fair": set(), "high": BOTH}


def test_no_nodes_bear_nothing():
    assert node_states({}, (), args(10, 10, deviation=True)) == {}
    assert keys_of({}) == {}
