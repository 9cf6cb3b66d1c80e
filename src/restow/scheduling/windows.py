"""Windows: what every run of so many consecutive entries of an array has in common.

All functions take an array of n entries and the size of a window, from 1 to n, and return an entry for each of the
n - size + 1 windows. None of them loops over windows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray

#: More than any entry of an array whose ``lowest`` is asked for.
BEYOND = np.iinfo(np.int64).max


def highest(values: IntArray, size: int) -> IntArray:
    """The highest entry of each window."""
    return _merged(np.maximum, values, size)


def lowest(values: IntArray, size: int) -> IntArray:
    """The lowest entry of each window."""
    return _merged(np.minimum, values, size)


def count(mask: BoolArray, size: int) -> IntArray:
    """How many entries of each window are true."""
    sums = np.concatenate(([0], np.cumsum(mask)))
    counts: IntArray = sums[size:] - sums[:-size]
    return counts


def distinct(values: IntArray, counted: BoolArray, size: int) -> IntArray:
    """How many distinct values, from 0, the counted entries of each window have.

    An entry is the first of its value in the windows that begin after the one before it.
    """
    at = np.flatnonzero(counted)
    found = values[at]
    # A stable sort of short integers does not compare them.
    by_value = at[np.argsort(found.astype(np.uint16) if found.max(initial=0) < 1 << 16 else found, kind="stable")]
    repeats = np.concatenate(([False], values[by_value[1:]] == values[by_value[:-1]]))[: len(at)]
    previous = np.where(repeats, np.roll(by_value, 1), -1)
    windows = len(values) - size + 1
    since = np.minimum(np.maximum(previous, by_value - size) + 1, windows)
    until = np.minimum(by_value + 1, windows)
    steps = np.bincount(since, minlength=windows + 1) - np.bincount(until, minlength=windows + 1)
    counts: IntArray = np.cumsum(steps)[:-1]
    return counts


def alike(rows: IntArray) -> Iterator[tuple[tuple[int, ...], IntArray]]:
    """The distinct columns of int64[row, window], each with the windows that have it, in ascending order."""
    if rows.shape[0] == 0:
        yield (), np.arange(rows.shape[1])
        return
    starts = np.flatnonzero(np.concatenate(([True], (rows[:, 1:] != rows[:, :-1]).any(axis=0))))
    ends = np.append(starts[1:], rows.shape[1])
    runs: dict[tuple[int, ...], list[IntArray]] = {}
    for column, start, end in zip(rows[:, starts].T.tolist(), starts.tolist(), ends.tolist(), strict=True):
        runs.setdefault(tuple(column), []).append(np.arange(start, end))
    for column, found in runs.items():
        yield column, np.concatenate(found)


def stretches(found: IntArray, size: int) -> Iterator[tuple[IntArray, slice]]:
    """Windows in ascending order, parted where there is much between them, each with the entries that they span."""
    ends = (np.flatnonzero(found[1:] - found[:-1] > size) + 1).tolist()
    for start, end in zip([0, *ends], [*ends, len(found)], strict=True):
        yield found[start:end], slice(int(found[start]), int(found[end - 1]) + size)


def _merged(merge: np.ufunc, values: IntArray, size: int) -> IntArray:
    """Windows of 1, 2, 4... entries, each merged from two of half the size; the last two overlap."""
    merged: npt.NDArray[np.int64] = values
    width = 1
    while 2 * width <= size:
        merged = merge(merged[:-width], merged[width:])
        width *= 2
    rest = size - width
    return merge(merged[: len(merged) - rest], merged[rest:]) if rest else merged
