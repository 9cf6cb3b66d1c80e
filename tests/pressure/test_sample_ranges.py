"""The history of a query as series of nodes."""

from __future__ import annotations

import math

import pytest

from cluster.histories import samples_of
from restow.client.prometheus import InstantVector, VectorSample
from restow.pressure.samples import ranges

INDEX = {"n1": 0, "10.0.0.1": 0, "n2": 1}


def found(*samples, per_unit=1000):
    return ranges(
        InstantVector(tuple(VectorSample(*each) for each in samples), 1000.0),
        INDEX,
        ("n1", "n2"),
        per_unit=per_unit,
        query="q",
    )


def test_samples_are_amounts_of_the_nodes_that_their_instances_name():
    answer = found(("10.0.0.1:9100", 1.5, 60.0), ("10.0.0.1:9100", 0.0004, 120.0), ("n2", 2.0, 60.0))
    assert {node: samples_of(each) for node, each in answer.series.items()} == {
        "n1": {60: 1500, 120: 0},
        "n2": {60: 2000},
    }
    assert answer.series["n1"].query == "q"
    assert (answer.unmatched, answer.unusable) == ((), 0)


def test_instances_that_are_no_node_are_told_once():
    answer = found(("x", 1.0, 60.0), ("x", 1.0, 120.0), ("", 1.0, 60.0))
    assert (answer.series, answer.unmatched) == ({}, ("", "x"))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.5, 1e30])
def test_a_value_that_is_no_amount_leaves_a_gap(value):
    answer = found(("n1", value, 60.0), ("n1", 1.0, 120.0))
    assert samples_of(answer.series["n1"]) == {120: 1000}
    assert answer.unusable == 1


def test_of_two_samples_of_a_node_at_one_time_neither_counts():
    answer = found(("n1", 1.0, 60.0), ("10.0.0.1:9100", 2.0, 60.0), ("n1", 1.0, 120.0))
    assert samples_of(answer.series["n1"]) == {120: 1000}
    assert answer.unusable == 2


def test_the_largest_amount_fits():
    assert samples_of(found(("n1", 2.0**62, 60.0), per_unit=1).series["n1"]) == {60: 2**62}
