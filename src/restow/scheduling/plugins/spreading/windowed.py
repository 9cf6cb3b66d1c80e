"""Soft spread constraints on nodes in visiting order, where only a window of them is scored at a time.

A window decides how many domains there are, hence how much the pods of one weigh, hence what speaks against each node
before that is normalised. This is for nodes of many kinds, or of which some are not scored (``scheduling.plugins.spreading.score_classes``
has the others). Sizes that differ by little often come to the same whole numbers; they are one scale then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.scheduling.framework.extension_points import MAX_SCORE, Scores
from restow.scheduling.framework.pod_counts import Counts
from restow.scheduling.sampling import windows
from restow.scheduling.sampling.relative_scores import WindowScores, clipped, sorted_out

#: Numbers of kinds up to which some may stand for nothing.
_FEW = 100

Floats = npt.NDArray[np.float64]


@dataclass(slots=True, frozen=True)
class WindowedSpread:
    """The scores of soft spread constraints; see ``scheduling.sampling.relative_scores``."""

    #: What each constraint finds at a node of each kind.
    crowds: Sequence[Crowd]
    #: The domain of each node for each constraint; None where each node counts as one.
    domains: Sequence[IntArray | None]
    kinds: IntArray
    #: Which nodes are scored; the others are the last kind, get nothing and do not count.
    scored: BoolArray
    #: All that speaks against each kind; different sizes may come to the same.
    _crowdings: dict[bytes, int] = field(default_factory=dict)
    _raw: list[Scores] = field(default_factory=list)

    @staticmethod
    def of(crowds: Sequence[Crowd], scored: BoolArray) -> WindowedSpread | None:
        """``crowds`` are of the nodes that are scored. None where all of those are of one kind."""
        places = _told_apart(crowds)
        if places.min(initial=0) == places.max(initial=0):
            return None
        if places.max() > _FEW:
            _, places = sorted_out(places)
        count = int(places.max()) + 1
        example = np.zeros(count, dtype=np.int64)
        example[places] = np.arange(len(places))
        found = [crowd.at(example) for crowd in crowds]
        domains = [None if crowd.domain is None else _scattered(crowd.domain, scored, 0) for crowd in crowds]
        return WindowedSpread(found, domains, _scattered(places, scored, count), scored)

    def scores(self, size: int) -> WindowScores:
        """The scored kinds' share of 100, and nothing for the rest."""
        scales, of_window = windows.numbered(self._scales(size))
        number, lowest, highest = np.array(scales).T
        scores = np.zeros((len(scales), len(self._raw[0]) + 1), dtype=np.int64)
        scores[:, :-1] = _all_normalised(np.array(self._raw)[number], lowest[:, None], highest[:, None])
        return clipped(scores, of_window)

    def _scales(self, size: int) -> IntArray:
        """What speaks against each kind, by number, and the lowest and the highest of that."""
        sizes = [self._sizes(domain, size) for domain in self.domains]
        if all(each.min() == each.max() for each in sizes):
            number = self._number([int(each[0]) for each in sizes])
            lowest, highest = self._extremes(number, self.kinds, size)
            return np.stack((np.full_like(lowest, number), lowest, highest))
        columns, column = windows.numbered(np.stack(sizes))
        numbers = np.array([self._number(sizes) for sizes in columns])[column.everywhere()]
        rows = np.stack((numbers, numbers, numbers))
        for number in range(len(self._raw)):
            for stretch, part in windows.stretches(np.flatnonzero(numbers == number), size):
                lowest, highest = self._extremes(number, self.kinds[part], size)
                rows[1, stretch], rows[2, stretch] = lowest[stretch - part.start], highest[stretch - part.start]
        return rows

    def _extremes(self, number: int, kinds: IntArray, size: int) -> tuple[Scores, Scores]:
        """The lowest and the highest that speaks against a node of each window."""
        raw = windows.narrow(self._raw[number])
        lowest = np.append(raw, raw.max())[kinds]
        highest = lowest if self.scored.all() else np.append(raw, raw.dtype.type(0))[kinds]
        return windows.lowest(lowest, size), windows.highest(highest, size)

    def _sizes(self, domain: IntArray | None, size: int) -> IntArray:
        return windows.count(self.scored, size) if domain is None else windows.distinct(domain, self.scored, size)

    def _number(self, sizes: Sequence[int]) -> int:
        raw = crowding(self.crowds, sizes)
        number = self._crowdings.setdefault(raw.tobytes(), len(self._raw))
        if number == len(self._raw):
            self._raw.append(raw)
        return number


# The pods in a node's domains speak against it. Each constraint weighs its pods by how many domains the scored nodes
# have, so that topologies with few domains are not drowned out by those with many. Source: PodTopologySpread,
# Kubernetes 1.36.
@dataclass(slots=True, frozen=True)
class Crowd:
    """What one constraint finds at each of some scored nodes."""

    max_skew: int
    #: Matching pods in the node's domain, int32[node].
    pods: Counts
    #: Whether the node has the topology key; the constraint has nothing against one that has not.
    labelled: BoolArray
    #: The domain of each node; None where each node counts as one.
    domain: IntArray | None

    def speaks_against(self, size: int) -> Floats:
        """How much the constraint has against each node, with so many domains in all."""
        against: Floats = self.pods * np.float64(math.log(size + 2)) + (self.max_skew - 1)
        if not self.labelled.all():
            against[~self.labelled] = 0
        return against

    def at(self, nodes: IntArray) -> Crowd:
        """The same for some of the nodes."""
        domain = None if self.domain is None else self.domain[nodes]
        return Crowd(self.max_skew, self.pods[nodes], self.labelled[nodes], domain)


def _told_apart(crowds: Sequence[Crowd]) -> IntArray:
    """Numbers that are equal where all constraints find the same."""
    columns: list[npt.NDArray[np.integer | np.bool]] = []
    for crowd in crowds:
        # Fewer numbers are told apart faster, and what is found at a node follows from its domain.
        by_domain = crowd.domain is not None and crowd.domain.max(initial=0) < crowd.pods.max(initial=0)
        columns.append(crowd.domain if crowd.domain is not None and by_domain else crowd.pods)
        if not crowd.labelled.all():
            columns.append(crowd.labelled)
    places: IntArray = columns[0].astype(np.int64)
    for column in columns[1:]:
        if places.max(initial=0) > len(places):
            _, places = sorted_out(places)
        places = places * (int(column.max(initial=0)) + 1) + column
    return places


def _scattered(values: IntArray, scored: BoolArray, others: int) -> IntArray:
    """What is known of the nodes that are scored, and a number for the others."""
    if len(values) == len(scored):
        return values
    everywhere = np.full(len(scored), others)
    everywhere[scored] = values
    return everywhere


def crowding(crowds: Sequence[Crowd], sizes: Sequence[int]) -> Scores:
    """What all constraints together have against each node."""
    against = np.zeros(len(crowds[0].pods))
    for crowd, size in zip(crowds, sizes, strict=True):
        against += crowd.speaks_against(size)
    return _rounded(against)


def normalised(raw: Scores, lowest: int, highest: int) -> Scores:
    """100 for the emptiest, less for others in proportion to the fullest."""
    if highest == 0:
        return np.full_like(raw, MAX_SCORE)
    scores: Scores = MAX_SCORE * (highest + lowest - raw) // highest
    return scores


def _all_normalised(raw: Scores, lowest: Scores, highest: Scores) -> Scores:
    """The same for several extremes, int64[extremes, 1], each with what it normalises, int64[extremes, node]."""
    return np.where(highest == 0, MAX_SCORE, MAX_SCORE * (highest + lowest - raw) // np.maximum(highest, 1))


def _rounded(values: Floats) -> Scores:
    """To the nearest integer, halves away from zero, as Go does; NumPy would round them to even."""
    whole = values.astype(np.int64)
    rest = values - whole
    whole += rest >= 0.5
    whole -= rest <= -0.5
    return whole
