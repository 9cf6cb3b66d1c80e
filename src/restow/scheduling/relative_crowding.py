"""Soft spread constraints on nodes in visiting order, where only a window of them is scored at a time.

A window decides how many domains there are, hence how much the pods of one weigh, hence what speaks against each node
before that is normalised. Sizes that differ by little often come to the same whole numbers; they are one scale then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.scheduling import windows
from restow.scheduling.framework import Scores
from restow.scheduling.relative_scores import Scale, sorted_out
from restow.scheduling.spread_scoring import Crowd, crowding, normalised


@dataclass(slots=True, frozen=True)
class RelativeCrowding:
    """The scores of soft spread constraints; see ``scheduling.relative_scores``."""

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
    def of(crowds: Sequence[Crowd], scored: BoolArray) -> RelativeCrowding | None:
        """``crowds`` are of the nodes that are scored. None where all of those are of one kind."""
        places: IntArray = np.zeros(int(np.count_nonzero(scored)), dtype=np.int64)
        for crowd in crowds:
            _, places = sorted_out(places * (int(crowd.pods.max(initial=0)) + 1) + crowd.pods)
            _, places = sorted_out(places * 2 + crowd.labelled)
        count = int(places.max(initial=0)) + 1
        if count < 2:
            return None
        example = np.zeros(count, dtype=np.int64)
        example[places] = np.arange(len(places))
        kinds = np.full(len(scored), count)
        kinds[scored] = places
        domains = [None if crowd.domain is None else _scattered(crowd.domain, scored) for crowd in crowds]
        return RelativeCrowding([crowd.at(example) for crowd in crowds], domains, kinds, scored)

    def scales(self, size: int) -> IntArray:
        """What speaks against each kind, by number, and the lowest and the highest of that."""
        sizes = np.stack([self._sizes(domain, size) for domain in self.domains])
        numbers = np.empty(sizes.shape[1], dtype=np.int64)
        for column, found in windows.alike(sizes):
            numbers[found] = self._number(column)
        extremes = np.zeros((2, sizes.shape[1]), dtype=np.int64)
        for (number,), found in windows.alike(numbers[None, :]):
            lowest, highest = np.append(self._raw[number], windows.BEYOND), np.append(self._raw[number], 0)
            for stretch, part in windows.stretches(found, size):
                kinds = self.kinds[part]
                extremes[0, stretch] = windows.lowest(lowest[kinds], size)[stretch - part.start]
                extremes[1, stretch] = windows.highest(highest[kinds], size)[stretch - part.start]
        return np.concatenate((numbers[None, :], extremes))

    def scores(self, scale: Scale) -> Scores:
        """The scored kinds' share of 100, and nothing for the rest."""
        number, lowest, highest = scale
        return np.append(normalised(self._raw[number], lowest, highest), 0)

    def _sizes(self, domain: IntArray | None, size: int) -> IntArray:
        return windows.count(self.scored, size) if domain is None else windows.distinct(domain, self.scored, size)

    def _number(self, sizes: Sequence[int]) -> int:
        raw = crowding(self.crowds, sizes)
        number = self._crowdings.setdefault(raw.tobytes(), len(self._raw))
        if number == len(self._raw):
            self._raw.append(raw)
        return number


def _scattered(domain: IntArray, scored: BoolArray) -> IntArray:
    everywhere = np.zeros(len(scored), dtype=np.int64)
    everywhere[scored] = domain
    return everywhere
