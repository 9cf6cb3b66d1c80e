from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.reporting.load_lines import LEVELS, bucketed, sparkline


def test_a_full_node_is_a_full_block() -> None:
    assert sparkline([0, 0.5, 1]) == f"{LEVELS[0]}{LEVELS[4]}{LEVELS[7]}"


def test_an_overcommitted_node_is_a_full_block() -> None:
    assert sparkline([-0.1, 1.7]) == LEVELS[0] + LEVELS[7]


def test_few_values_stay_as_they_are() -> None:
    assert bucketed([0.1, 0.9], most=2) == [0.1, 0.9]


def test_many_values_become_means_of_neighbours() -> None:
    assert bucketed([0, 1, 2, 3, 4, 5], most=3) == [0.5, 2.5, 4.5]


@given(st.lists(st.floats(0, 1), max_size=200), st.integers(1, 40))
def test_buckets_are_never_more_than_asked_for_and_stay_in_range(values: list[float], most: int) -> None:
    buckets = bucketed(values, most)
    assert len(buckets) == min(len(values), most)
    assert all(min(values) - 1e-9 <= each <= max(values) + 1e-9 for each in buckets)


@pytest.mark.parametrize("count", [41, 79, 80, 5000])
def test_every_bucket_has_a_node(count: int) -> None:
    assert len(bucketed([1.0] * count)) == 40
