"""From the samples of a query to values of nodes: which instance is which node, and what is no value."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.client.prometheus import InstantVector, VectorSample
from restow.pressure.samples import STALE_AFTER, join, position_of, unmatched_instances

INDEX = {"10.0.0.1": 0, "node-1": 0, "fd00::1": 0, "10.0.0.2": 1, "node-2": 1, "host:1": 2}
NOW = 1_000_000.0


def joined(*samples: tuple[str, float], age: float = 0):
    return join(
        InstantVector(tuple(VectorSample(instance, value, NOW - age) for instance, value in samples), NOW), INDEX, 3
    )


@pytest.mark.parametrize(
    ("instance", "position"),
    [
        ("10.0.0.1", 0),
        ("10.0.0.1:9100", 0),
        ("node-2", 1),
        ("node-2:9100", 1),
        ("[fd00::1]:9100", 0),
        ("[fd00::1]", 0),
        ("fd00::1", 0),
        ("host:1", 2),
        ("10.0.0.3:9100", None),
        ("10.0.0.1:http", None),
        ("10.0.0.11", None),
        ("", None),
        (":9100", None),
    ],
)
def test_an_instance_is_an_address_or_a_name_with_or_without_a_port(instance, position):
    assert position_of(instance, INDEX) == position


def test_each_node_gets_the_value_of_its_sample():
    found = joined(("10.0.0.1:9100", 0.5), ("node-2", 2))

    assert found.values[:2].tolist() == [0.5, 2.0]
    assert math.isnan(found.values[2])
    assert (found.unusable, found.unmatched) == ({}, ())


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_no_value(value):
    found = joined(("node-1", value))

    assert math.isnan(found.values[0])
    assert found.unusable == {0: "not a number"}


def test_an_old_sample_is_no_value_by_the_clock_of_prometheus():
    assert joined(("node-1", 1), age=STALE_AFTER).unusable == {}
    assert joined(("node-1", 1), age=STALE_AFTER + 1).unusable == {0: "an old sample"}


@pytest.mark.parametrize("second", [0.5, 0.6, math.nan])
def test_two_samples_of_one_node_are_no_value_even_if_they_agree(second):
    found = joined(("node-1", 0.5), ("10.0.0.1:9100", second))

    assert math.isnan(found.values[0])
    assert found.unusable == {0: "several samples"}


def test_instances_that_are_no_node_are_told_once():
    both = [joined(("x", 1), ("x", 2)), joined(("a", 1), ("x", 1))]
    assert unmatched_instances(both) == ["a", "x"]


SAMPLES = st.lists(st.tuples(st.sampled_from([*INDEX, "10.0.0.2:9100", "x"]), st.floats()), max_size=8)


@given(SAMPLES)
def test_a_node_has_a_value_if_and_only_if_it_has_one_finite_sample(samples):
    found = joined(*samples)
    for position in range(3):
        own = [value for instance, value in samples if position_of(instance, INDEX) == position]
        usable = len(own) == 1 and math.isfinite(own[0])
        assert math.isnan(found.values[position]) != usable
        assert (position in found.unusable) == (bool(own) and not usable)


@given(SAMPLES.flatmap(lambda samples: st.tuples(st.just(samples), st.permutations(samples))))
def test_the_order_of_samples_means_nothing(both):
    one, other = (joined(*samples) for samples in both)
    assert [*map(repr, one.values)] == [*map(repr, other.values)]
