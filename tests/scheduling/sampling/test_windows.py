"""Windows, each against its definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from restow.scheduling.sampling import windows


@st.composite
def entries(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Values, which of them count, and a size of windows."""
    values = draw(st.lists(st.integers(0, draw(st.sampled_from((3, 100)))), min_size=1, max_size=40))
    counted = draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    return np.array(values), np.array(counted), draw(st.integers(1, len(values)))


def cut(values, size):
    """Every window of a size."""
    return [values[start : start + size] for start in range(len(values) - size + 1)]


@given(entries())
def test_the_extremes_of_a_window(drawn) -> None:
    values, _, size = drawn
    assert windows.highest(values, size).tolist() == [max(window) for window in cut(values, size)]
    assert windows.lowest(values, size).tolist() == [min(window) for window in cut(values, size)]


@given(entries())
def test_what_counts_in_a_window(drawn) -> None:
    values, counted, size = drawn
    both = list(zip(cut(values, size), cut(counted, size), strict=True))
    assert windows.count(counted, size).tolist() == [sum(window) for _, window in both]
    assert windows.distinct(values, counted, size).tolist() == [len(set(window[found])) for window, found in both]


@given(entries())
def test_the_lowest_of_the_windows_around_an_entry(drawn) -> None:
    values, _, size = drawn
    around = windows.lowest_around(values[: len(values) - size + 1], size)
    windows_of = [range(max(0, at - size + 1), min(at, len(values) - size) + 1) for at in range(len(values))]
    assert around.tolist() == [min(values[window] for window in found) for found in windows_of]


@given(st.integers(0, 33).flatmap(lambda bits: st.lists(st.integers(-(2**bits), 2**bits), max_size=5)))
def test_narrow_integers_are_the_same_integers(values) -> None:
    narrow = windows.narrow(np.array(values, dtype=np.int64))
    assert narrow.tolist() == values
    assert (narrow + narrow).tolist() == [2 * each for each in values]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=30))
def test_windows_with_the_same_column_have_the_same_number(columns) -> None:
    distinct, runs = windows.numbered(np.array(columns).T)
    assert [distinct[each] for each in runs.everywhere().tolist()] == columns
    assert runs.at(np.arange(len(columns))).tolist() == runs.everywhere().tolist()
    assert len(set(distinct)) == len(distinct)


@given(entries())
def test_windows_with_the_same_values_have_the_same_union(drawn) -> None:
    values, _, size = drawn
    values = values % windows.MOST_VALUES
    unions, runs = windows.unions(windows.bits(windows.MOST_VALUES)[values], size)
    found = [unions[each] for each in runs.everywhere().tolist()]
    assert found == [sum(1 << value for value in set(window.tolist())) for window in cut(values, size)]
    assert len(set(unions)) == len(unions)


@given(st.sets(st.integers(0, 60), min_size=1), st.integers(1, 10))
def test_stretches_have_no_gap_longer_than_a_window(found, size) -> None:
    parted = list(windows.stretches(np.array(sorted(found)), size))
    assert [window for stretch, _ in parted for window in stretch.tolist()] == sorted(found)
    for stretch, part in parted:
        assert (part.start, part.stop) == (stretch[0], stretch[-1] + size)
        assert np.diff(stretch).max(initial=0) <= size
