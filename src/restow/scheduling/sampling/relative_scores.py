"""Scores that depend on the other feasible nodes, for schedulers that look at only some of those.

Nodes stand in the order in which they are visited, and are scored in every window of a fixed size. Windows that have
the same *scale* (the extremes by which raw scores are normalised, for instance) score a node alike, and nodes of the
same *kind* (the same raw score, for instance) score alike in each window. Scales and kinds are few where windows and
nodes are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from msgspec import Struct

from restow.cluster.interning import IntArray
from restow.scheduling.framework.extension_points import MAX_SCORE, ScorePlugin, Scores
from restow.scheduling.sampling import windows
from restow.scheduling.sampling.windows import WindowRuns

#: Values within so wide a range are never sorted.
_NARROW = 256


class WindowScores(Struct, frozen=True):
    """What nodes get in windows: each window has a scale."""

    #: 0..100 by scale and kind, right for the kinds that windows of the scale have.
    table: Scores
    #: The scale of each window.
    of_window: WindowRuns


class RelativeScores(Protocol):
    """What one plugin gives one pod on nodes in visiting order; a node may stand there twice."""

    @property
    def kinds(self) -> IntArray:
        """The kind of each node, from 0, int64[node]."""
        ...

    def scores(self, size: int) -> WindowScores:
        """The scores in each window of this size."""
        ...


@runtime_checkable
class RelativePlugin(ScorePlugin, Protocol):
    """A score plugin that normalises; one that does not gives a node the same score in every window."""

    def relative(self, pod: int, nodes: IntArray) -> RelativeScores | None:
        """The scores of a pod before it is known which of the nodes count; None where that makes no difference."""
        ...


class Peaked(Struct, frozen=True):
    """Raw scores that are normalised by the highest among them."""

    #: Of each kind, ascending.
    raw: Scores
    kinds: IntArray
    #: From raw scores and the highest of the window to scores.
    normalise: Callable[[Scores, int], Scores]

    @staticmethod
    def of(raw: Scores, normalise: Callable[[Scores, int], Scores]) -> Peaked | None:
        """None where all raw scores are equal: so are the normalised ones then, in every window."""
        return Peaked(*sorted_out(raw), normalise) if _differ(raw) else None

    def scores(self, size: int) -> WindowScores:
        """By the highest kind of each window."""
        scales, of_window = windows.numbered(windows.highest(self.kinds, size)[None, :])
        return clipped(np.array([self.normalise(self.raw, int(self.raw[highest])) for (highest,) in scales]), of_window)


class Ranged(Struct, frozen=True):
    """Raw scores that are normalised by the lowest and the highest among them."""

    #: Of each kind, ascending.
    raw: Scores
    kinds: IntArray
    #: From raw scores and the lowest and highest of the window to scores.
    normalise: Callable[[Scores, int, int], Scores]

    @staticmethod
    def of(raw: Scores, normalise: Callable[[Scores, int, int], Scores]) -> Ranged | None:
        """None where all raw scores are equal: so are the normalised ones then, in every window."""
        return Ranged(*sorted_out(raw), normalise) if _differ(raw) else None

    def scores(self, size: int) -> WindowScores:
        """By the lowest and the highest kind of each window."""
        extremes = np.stack((windows.lowest(self.kinds, size), windows.highest(self.kinds, size)))
        scales, of_window = windows.numbered(extremes)
        raw = self.raw
        scores = [self.normalise(raw, int(raw[low]), int(raw[high])) for low, high in scales]
        return clipped(np.array(scores), of_window)


def clipped(scores: Scores, of_window: WindowRuns) -> WindowScores:
    """By scale; kinds that windows of a scale do not have may have been normalised to anything."""
    return WindowScores(np.minimum(np.maximum(scores, 0), MAX_SCORE), of_window)


def sorted_out(values: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct values, ascending, and the place of each value among them.

    The same as ``np.unique`` with its inverse, without sorting where values lie close together.
    """
    lowest = int(values.min(initial=0))
    width = int(values.max(initial=0)) - lowest + 1
    if width > max(_NARROW, 4 * len(values)):
        distinct, places = np.unique(values, return_inverse=True)
        return distinct, places
    present = np.zeros(width, dtype=bool)
    present[values - lowest] = True
    return np.flatnonzero(present) + lowest, (np.cumsum(present) - 1)[values - lowest]


def _differ(raw: Scores) -> bool:
    return bool(raw.size) and raw.min() != raw.max()


class AddedScores(Struct, frozen=True):
    """What relative scores add to each entry in each window."""

    #: The kind of each entry in all respects.
    kinds: IntArray
    #: The scale of each window in all respects.
    scale: windows.WindowRuns
    #: By scale and kind; the highest or the lowest possible where windows of the scale have no entry of the kind.
    table: Scores
    #: The lowest and the highest of all scales.
    least: Scores
    most: Scores

    @staticmethod
    def of(relative: Sequence[tuple[int, WindowScores]], kinds: Sequence[IntArray]) -> AddedScores:
        """``relative`` is not empty; weights come with scores."""
        if len(relative) == 1:
            ((weight, scores),) = relative
            table = windows.narrow(weight * scores.table.astype(np.int64))
            return AddedScores(kinds[0], scores.of_window, table, table.min(axis=0), table.max(axis=0))
        joined, members = _joined(kinds)
        columns, scale = windows.numbered(np.stack([scores.of_window.everywhere() for _, scores in relative]))
        table = np.zeros((len(columns), len(members[0])), dtype=np.int64)
        for (weight, scores), member, column in zip(relative, members, np.array(columns).T, strict=True):
            table += weight * scores.table[column][:, member].astype(np.int64)
        table = windows.narrow(table)
        return AddedScores(joined, scale, table, table.min(axis=0), table.max(axis=0))

    def by_scale(self, found: IntArray) -> Iterator[tuple[int, IntArray]]:
        """The windows found, in ascending order, by the scale that they have."""
        scale = self.scale.at(found)
        for number in np.flatnonzero(np.bincount(scale)).tolist():
            yield number, found[scale == number]


def _joined(kinds: Sequence[IntArray]) -> tuple[IntArray, list[IntArray]]:
    """The kind of each entry in all respects, and what kind that is in each."""
    joined = kinds[0]
    for each in kinds[1:]:
        _, joined = sorted_out(joined * (int(each.max()) + 1) + each)
    example = np.zeros(int(joined.max()) + 1, dtype=np.int64)
    example[joined] = np.arange(len(joined))
    return joined, [each[example] for each in kinds]
