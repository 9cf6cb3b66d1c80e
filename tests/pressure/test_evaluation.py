"""From values to marks in virtual time: thresholds, waiting, hysteresis, grace and the share that may be marked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restow.kube.duration import MINUTE, SECOND
from restow.pressure.evaluation import MissingDataPolicy, Pressure, Table, marks, step
from restow.pressure.rules import Rule

NONE = math.nan
POLICY = MissingDataPolicy(5 * MINUTE)
_EVERY = 10 * SECOND


def a_rule(name="cpu", threshold=0.8, **more):
    return Rule(name, "up", threshold, **({"clear": threshold} | more))


def over_time(rule, values, *, missing_data=POLICY, marked=False, every=_EVERY):
    """Whether one node is under pressure after each of these values, one an interval."""
    table = Table.of([rule])
    pressure = Pressure.beginning(table, np.array([marked]), np.array([marked]), 0)
    told = []
    for number, value in enumerate(values, start=1):
        pressure = step(pressure, table, np.array([[value]]), number * every, missing_data)
        told.append(bool(pressure.pressed[0, 0]))
    return told


def at_once(rules, values, *, most=1.0, marked=None):
    """The marks after one moment; values by rule and node."""
    array = np.array(values, dtype=float).reshape(len(rules), len(values[0]))
    nodes = np.array(marked or [False] * array.shape[1], dtype=bool)
    beginning = Pressure.beginning(Table.of(rules), nodes, np.zeros_like(nodes), 0)
    return marks(step(beginning, Table.of(rules), array, 0, POLICY), Table.of(rules), most)


@pytest.mark.parametrize(
    ("direction", "values", "pressed"),
    [
        pytest.param("above", [0.79, 0.8, 0.81, 0.8, 0.9], [False, False, True, False, True], id="above"),
        pytest.param("below", [0.81, 0.8, 0.79, 0.8, 0.1], [False, False, True, False, True], id="below"),
    ],
)
def test_a_value_beyond_the_threshold_is_pressure_and_the_threshold_itself_is_not(direction, values, pressed):
    assert over_time(a_rule(direction=direction), values) == pressed


def test_a_value_must_be_over_for_long_enough_without_a_break():
    rule = a_rule(hold=20 * SECOND)
    assert over_time(rule, [0.9, 0.9, 0.9, 0.1]) == [False, False, True, False]
    assert over_time(rule, [0.9, 0.9, 0.1, 0.9, 0.9, 0.9]) == [False] * 5 + [True]


@pytest.mark.parametrize("direction", ["above", "below"])
def test_between_threshold_and_clear_nothing_changes(direction):
    sign = 1 if direction == "above" else -1
    rule = a_rule(threshold=sign * 8, clear=sign * 6, direction=direction)
    values = [sign * value for value in (7, 9, 7, 6.5, 6, 7, 8)]
    assert over_time(rule, values) == [False, True, True, True, False, False, False]


def test_without_values_a_mark_stays_for_the_grace_period_then_goes():
    lost = [NONE] * 31
    assert over_time(a_rule(), [0.9, *lost]) == [True] * 31 + [False]
    assert over_time(a_rule(), [0.9, *lost], missing_data=MissingDataPolicy(5 * MINUTE, "stay")) == [True] * 32


def test_no_mark_comes_from_a_lack_of_values():
    assert not any(over_time(a_rule(hold=SECOND), [0.9, *[NONE] * 100]))


def test_a_short_gap_does_not_begin_the_wait_anew_and_a_long_one_does():
    rule = a_rule(hold=30 * SECOND)
    assert over_time(rule, [0.9, NONE, NONE, 0.9]) == [False, False, False, True]
    assert over_time(rule, [0.9, *[NONE] * 40, 0.9, 0.9, 0.9, 0.9])[-4:] == [False, False, False, True]


def test_a_new_process_knows_the_marks_of_the_one_before():
    rule = a_rule(clear=0.6, hold=MINUTE)
    assert over_time(rule, [0.7, 0.9, 0.6], marked=True) == [True, True, False]
    assert over_time(rule, [NONE] * 31, marked=True) == [True] * 30 + [False]


def test_a_node_is_marked_where_the_weights_come_to_one():
    rules = [a_rule("a", weight=0.5), a_rule("b", weight=0.5), a_rule("c")]
    found = at_once(rules, [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    assert found.label.tolist() == [False, True, True, False]


def test_tenths_come_to_one():
    assert at_once([a_rule(str(number), weight=0.1) for number in range(10)], [[1]] * 10).label.tolist() == [True]


def test_labels_and_taints_are_counted_apart():
    rules = [a_rule("a", weight=0.5), a_rule("b", weight=0.5, effect="taint"), a_rule("c", effect="taint")]
    found = at_once(rules, [[1, 0], [1, 0], [0, 1]])
    assert (found.label.tolist(), found.taint.tolist()) == ([False, False], [False, True])


def test_a_rule_that_would_mark_more_than_its_share_marks_none_and_the_others_go_on():
    rules = [a_rule("mad"), a_rule("sane")]
    found = at_once(rules, [[1, 1, 1, 0], [0, 0, 0, 1]], most=0.5)
    assert found.held_back.tolist() == [True, False]
    assert found.label.tolist() == [False, False, False, True]


def test_the_share_itself_may_be_marked():
    found = at_once([a_rule()], [[1, 1, 0, 0]], most=0.5)
    assert (found.held_back.tolist(), found.label.tolist()) == ([False], [True, True, False, False])


def test_marks_of_the_process_before_hold_no_rule_back_while_there_are_no_values():
    """Two rules had marked a third of the nodes each; Prometheus is down while restow starts."""
    found = at_once([a_rule("a"), a_rule("b")], [[NONE] * 3] * 2, most=0.5, marked=[True, True, False])
    assert found.held_back.tolist() == [False, False]
    assert found.label.tolist() == [True, True, False]


def test_a_label_of_the_process_before_is_no_taint():
    rules = [a_rule("a"), a_rule("b", effect="taint")]
    found = at_once(rules, [[NONE], [NONE]], marked=[True])
    assert (found.label.tolist(), found.taint.tolist()) == ([True], [False])


def test_a_cluster_without_nodes_has_no_marks():
    found = at_once([a_rule()], [[]])
    assert (found.label.tolist(), found.held_back.tolist()) == ([], [False])


VALUES = st.one_of(st.just(NONE), st.floats(0, 1, width=16), st.just(math.inf))


@settings(max_examples=200)
@given(st.lists(VALUES, max_size=60), st.integers(0, 5), st.floats(0.3, 0.8), st.booleans())
def test_changes_have_their_reasons(values, held_intervals, clear, marked):
    """On only after ``hold`` of values over the threshold; off only at the clearing value, or after the grace period."""
    rule, missing_data = a_rule(clear=clear, hold=held_intervals * _EVERY), MissingDataPolicy(3 * _EVERY)
    before = marked
    for number, now in enumerate(over_time(rule, values, marked=marked, missing_data=missing_data)):
        value = values[number]
        held = [each for each in values[max(0, number - held_intervals) : number + 1] if math.isfinite(each)]
        recent = values[max(0, number - 3) : number + 1]
        if now and not before:
            assert math.isfinite(value)
            assert number >= held_intervals
            assert min(held) > 0.8
        if before and not now:
            lost = len(recent) == 4 and not any(map(math.isfinite, recent))
            assert lost or value <= clear
        before = now


@settings(max_examples=100)
@given(st.lists(st.floats(0.61, 0.79), max_size=40), st.booleans())
def test_a_value_that_flaps_below_the_threshold_changes_nothing(values, marked):
    told = over_time(a_rule(clear=0.6), values, marked=marked)
    assert set(told) <= {marked}


@settings(max_examples=100)
@given(st.lists(st.sampled_from([0.1, 0.5, 0.7, 0.79, 0.81, 0.9]), max_size=60))
def test_at_most_one_change_a_crossing(values):
    """From below ``clear`` to over the threshold and back is one change each way, whatever happens in between."""
    told = over_time(a_rule(clear=0.6), values)
    changes = sum(one != other for one, other in zip([False, *told], told, strict=False))
    zones = [zone for zone in ((value > 0.8) - (value <= 0.6) for value in values) if zone]
    crossings = sum(one != other for one, other in zip([-1, *zones], zones, strict=False))
    assert changes == crossings


@settings(max_examples=50)
@given(st.lists(st.lists(VALUES, min_size=4, max_size=4), min_size=1, max_size=10), st.permutations(range(4)))
def test_nodes_are_judged_one_by_one(moments, order):
    """Whatever the order of nodes, each has the same history."""
    rules = [a_rule("a", hold=_EVERY), a_rule("b", threshold=0.3, direction="below")]
    table = Table.of(rules)
    one = other = Pressure.beginning(table, np.zeros(4, dtype=bool), np.zeros(4, dtype=bool), 0)
    for number, moment in enumerate(moments, start=1):
        values = np.array([moment, moment])
        one = step(one, table, values, number * _EVERY, POLICY)
        other = step(other, table, values[:, order], number * _EVERY, POLICY)
    assert (one.pressed[:, order] == other.pressed).all()
    assert (one.over_since[:, order] == other.over_since).all()
