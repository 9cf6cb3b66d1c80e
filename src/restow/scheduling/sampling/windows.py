"""Windows: what every run of ``size`` consecutive entries of an array has in common.

Most functions take an array of n entries and the size of a window, from 1 to n, and return an entry for each of the n -
size + 1 windows. None of them loops over windows. Narrow integers take less time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray

Integers = npt.NDArray[Any]

#: The most different values that have ``bits``.
MOST_VALUES = 64
#: The most different values whose sets fit into the bits of a number.
_BITS = 63
_BIT: IntArray = np.left_shift(1, np.arange(_BITS))
#: Numbers by how many bits they have.
_POWERS = np.left_shift(np.uint64(1), np.arange(MOST_VALUES, dtype=np.uint64))
_BITS_OF = ((8, np.uint8), (16, np.uint16), (32, np.uint32), (64, np.uint64))
_NARROW = ((1 << 14, np.int16), (1 << 30, np.int32))


def highest(values: Integers, size: int) -> Integers:
    """The highest entry of each window."""
    return _merged(np.maximum, values, size)


def lowest(values: Integers, size: int) -> Integers:
    """The lowest entry of each window."""
    return _merged(np.minimum, values, size)


def lowest_around(values: Integers, size: int) -> Integers:
    """From one value for each window, the lowest value of the windows that contain an entry, for each entry."""
    # Entry i is in the windows i - size + 1 to i. So these are windows too: of the values, with room at both ends.
    padded = np.full(len(values) + 2 * (size - 1), np.iinfo(values.dtype).max, dtype=values.dtype)
    padded[size - 1 : len(values) + size - 1] = values
    return lowest(padded, size)


def bits(count: int) -> Integers:
    """A bit for each of ``count`` values, MOST_VALUES at most, in numbers as narrow as they can be."""
    return _POWERS[:count].astype(next(dtype for width, dtype in _BITS_OF if count <= width))


class WindowRuns(Struct, frozen=True):
    """Windows one after the other that have a number in common."""

    numbers: IntArray
    #: Where each run begins, the first at 0, and where the last one ends.
    bounds: IntArray

    def at(self, found: IntArray) -> IntArray:
        """The numbers of some windows."""
        numbers: IntArray = self.numbers[self.bounds.searchsorted(found, side="right") - 1]
        return numbers

    def everywhere(self) -> IntArray:
        """The number of each window."""
        return self.numbers.repeat(self.bounds[1:] - self.bounds[:-1])


def unions(values: Integers, size: int) -> tuple[tuple[int, ...], WindowRuns]:
    """The distinct unions of the bits of each window's entries, and which of them each window has."""
    found = _merged(np.bitwise_or, values, size)
    bounds = np.array([0, *((found[1:] != found[:-1]).nonzero()[0] + 1).tolist(), len(found)])
    numbers: dict[int, int] = {}
    runs = [numbers.setdefault(each, len(numbers)) for each in found[bounds[:-1]].tolist()]
    return tuple(numbers), WindowRuns(np.array(runs), bounds)


def narrow(values: Integers) -> Integers:
    """Store small integers in less space, with room to add as many others."""
    most = max(-int(values.min(initial=0)), int(values.max(initial=0)))
    return values.astype(next((narrower for bound, narrower in _NARROW if most < bound), values.dtype))


def count(mask: BoolArray, size: int) -> IntArray:
    """How many entries of each window are true."""
    if mask.all():
        return np.full(len(mask) - size + 1, size)
    sums = np.concatenate(([0], np.cumsum(mask)))
    counts: IntArray = sums[size:] - sums[:-size]
    return counts


def distinct(values: IntArray, counted: BoolArray, size: int) -> IntArray:
    """How many distinct values, from 0, the counted entries of each window have.

    An entry is the first of its value in the windows that begin after the one before it.
    """
    if values.max() < _BITS and counted.all() and _everywhere(values, size):
        return np.full(len(values) - size + 1, np.count_nonzero(np.bincount(values)))
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


def numbered(rows: IntArray) -> tuple[list[tuple[int, ...]], WindowRuns]:
    """The distinct columns of int64[row, window], at least one row, and which of them each window has."""
    starts = np.flatnonzero(reduce(np.logical_or, (row[1:] != row[:-1] for row in rows))) + 1
    bounds = np.concatenate(([0], starts, [rows.shape[1]]))
    numbers: dict[tuple[int, ...], int] = {}
    runs = [numbers.setdefault(tuple(column), len(numbers)) for column in rows[:, bounds[:-1]].T.tolist()]
    return list(numbers), WindowRuns(np.array(runs), bounds)


def stretches(found: IntArray, size: int) -> Iterator[tuple[IntArray, slice]]:
    """Windows in ascending order, parted where there is much between them, each with the entries that they span."""
    ends = (np.flatnonzero(found[1:] - found[:-1] > size) + 1).tolist()
    for start, end in zip([0, *ends], [*ends, len(found)], strict=True):
        yield found[start:end], slice(int(found[start]), int(found[end - 1]) + size)


def _everywhere(values: IntArray, size: int) -> bool:
    """Whether each window plainly has all of the values, which are less than 63.

    A window has a whole block of half its size, at any start. If all blocks have the same values, and there are no
    others, every window has them too.
    """
    half = (size + 1) // 2
    bits = _BIT[values]
    blocks = np.bitwise_or.reduce(bits[: len(bits) // half * half].reshape(-1, half), axis=1)
    return bool((blocks == np.bitwise_or.reduce(bits)).all())


def _merged(merge: np.ufunc, values: Integers, size: int) -> Integers:
    """Windows of 1, 2, 4... entries, each merged from two of half the size; the last two overlap."""
    merged = values
    width = 1
    while 2 * width <= size:
        merged = merge(merged[:-width], merged[width:])
        width *= 2
    rest = size - width
    return merge(merged[:-rest], merged[rest:]) if rest else merged
