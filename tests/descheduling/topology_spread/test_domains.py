"""How many pods each domain gives up, against upstream's walk taken literally."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.descheduling.topology_spread import surrenders


def literal(sizes: list[int], max_skew: int) -> list[int]:
    """Upstream's walk to its end, with every branch where upstream has it."""
    counts, given = list(sizes), [0] * len(sizes)
    average = sum(sizes) / len(sizes)
    i, j = 0, len(sizes) - 1
    while i < j:
        if counts[j] <= average:
            j -= 1
        skew = counts[j] - counts[i]
        if skew <= max_skew:
            i += 1
            continue
        move = min(ceil(counts[j] - average), ceil(average - counts[i]), ceil((skew - max_skew) / 2))
        if move <= 0:
            i += 1
            continue
        counts[i] += move
        counts[j] -= move
        given[j] += move
    return given


def surplus(sizes: list[int], max_skew: int) -> list[int]:
    """What each domain gives up in all."""
    given = [0] * len(sizes)
    for domain, count in surrenders(sizes, max_skew):
        given[domain] += count
    return given


@given(sizes=st.lists(st.integers(0, 12), min_size=1, max_size=9).map(sorted), max_skew=st.integers(1, 5))
def test_stopping_early_changes_nothing(sizes: list[int], max_skew: int) -> None:
    assert surplus(sizes, max_skew) == literal(sizes, max_skew)


ROWS = {
    "two domains": ([0, 4], 1, [0, 2]),
    "TS-15": ([0, 1, 100], 1, [0, 0, 66]),
    "TS-16": ([0, 1, 3, 5], 1, [0, 0, 0, 3]),
    "TS-17": ([2, 6], 2, [0, 1]),
    "X-31": ([0, 3, 3], 1, [0, 1, 1]),
    "X-32": ([1, 3, 3], 1, [0, 0, 1]),
    "balanced": ([2, 3, 3], 1, [0, 0, 0]),
}


@pytest.mark.parametrize(("sizes", "max_skew", "expected"), ROWS.values(), ids=ROWS.keys())
def test_the_fullest_give_to_the_emptiest(sizes: list[int], max_skew: int, expected: list[int]) -> None:
    assert surplus(sizes, max_skew) == expected
