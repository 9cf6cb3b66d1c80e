"""Scores of soft spread constraints on nodes in visiting order, where only a window of the nodes is scored at a time.

The window decides how many domains there are, and with that the weight of the pods in one, and the raw score of each
node. This is for nodes of many kinds, or some of which are not scored (``scheduling.plugins.spreading.score_classes``
has the others). Numbers of domains that differ by little often give the same raw scores; these are computed once.
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

    #: What each constraint counts at a node of each kind.
    constraints: Sequence[ScoredConstraint]
    #: The domain of each node for each constraint; None where each node counts as one.
    domains: Sequence[IntArray | None]
    kinds: IntArray
    #: Which nodes are scored; the others are the last kind, get nothing and do not count.
    scored: BoolArray
    #: The numbers of the raw scores of kinds that occur; different sizes may have the same.
    _numbers: dict[bytes, int] = field(default_factory=dict)
    _raw: list[Scores] = field(default_factory=list)

    @staticmethod
    def of(constraints: Sequence[ScoredConstraint], scored: BoolArray) -> WindowedSpread | None:
        """``constraints`` are on the nodes that are scored. None if all of those are of one kind."""
        places = _kinds_of_nodes(constraints)
        if places.min(initial=0) == places.max(initial=0):
            return None
        if places.max() > _FEW:
            _, places = sorted_out(places)
        count = int(places.max()) + 1
        example = np.zeros(count, dtype=np.int64)
        example[places] = np.arange(len(places))
        found = [constraint.at(example) for constraint in constraints]
        domains = [
            None if constraint.domain is None else _scattered(constraint.domain, scored, 0)
            for constraint in constraints
        ]
        return WindowedSpread(found, domains, _scattered(places, scored, count), scored)

    def scores(self, size: int) -> WindowScores:
        """The scored kinds' share of 100, and nothing for the rest."""
        scales, of_window = windows.numbered(self._scales(size))
        number, lowest, highest = np.array(scales).T
        scores = np.zeros((len(scales), len(self._raw[0]) + 1), dtype=np.int64)
        scores[:, :-1] = _all_normalised(np.array(self._raw)[number], lowest[:, None], highest[:, None])
        return clipped(scores, of_window)

    def _scales(self, size: int) -> IntArray:
        """Of each window: the number of its raw scores, and the lowest and the highest raw score in it."""
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
        """The lowest and the highest raw score of a node in each window."""
        raw = windows.narrow(self._raw[number])
        lowest = np.append(raw, raw.max())[kinds]
        highest = lowest if self.scored.all() else np.append(raw, raw.dtype.type(0))[kinds]
        return windows.lowest(lowest, size), windows.highest(highest, size)

    def _sizes(self, domain: IntArray | None, size: int) -> IntArray:
        return windows.count(self.scored, size) if domain is None else windows.distinct(domain, self.scored, size)

    def _number(self, sizes: Sequence[int]) -> int:
        raw = raw_scores(self.constraints, sizes)
        number = self._numbers.setdefault(raw.tobytes(), len(self._raw))
        if number == len(self._raw):
            self._raw.append(raw)
        return number


# A raw score is higher the more pods a node's domains have, and the highest raw score becomes the lowest score. Each
# constraint weighs its pods by how many domains the scored nodes have, so that topologies with few domains count as much
# as those with many. Source: PodTopologySpread, Kubernetes 1.36.
@dataclass(slots=True, frozen=True)
class ScoredConstraint:
    """What one constraint counts at each of some scored nodes."""

    max_skew: int
    #: Matching pods in the node's domain, int32[node].
    pods: Counts
    #: Whether the node has the topology key; one without has the raw score 0.
    labelled: BoolArray
    #: The domain of each node; None where each node counts as one.
    domain: IntArray | None

    def raw_score(self, size: int) -> Floats:
        """The raw score of each node for this number of domains."""
        raw: Floats = self.pods * np.float64(math.log(size + 2)) + (self.max_skew - 1)
        if not self.labelled.all():
            raw[~self.labelled] = 0
        return raw

    def at(self, nodes: IntArray) -> ScoredConstraint:
        """The constraint on some of the nodes."""
        domain = None if self.domain is None else self.domain[nodes]
        return ScoredConstraint(self.max_skew, self.pods[nodes], self.labelled[nodes], domain)


def _kinds_of_nodes(constraints: Sequence[ScoredConstraint]) -> IntArray:
    """Numbers of kinds of nodes: equal for nodes where all constraints count the same."""
    columns: list[npt.NDArray[np.integer | np.bool]] = []
    for constraint in constraints:
        # Fewer distinct numbers are faster, and a node's value follows from its domain.
        by_domain = constraint.domain is not None and constraint.domain.max(initial=0) < constraint.pods.max(initial=0)
        columns.append(constraint.domain if constraint.domain is not None and by_domain else constraint.pods)
        if not constraint.labelled.all():
            columns.append(constraint.labelled)
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


def raw_scores(constraints: Sequence[ScoredConstraint], sizes: Sequence[int]) -> Scores:
    """The raw scores of nodes: the sum over all constraints."""
    raw = np.zeros(len(constraints[0].pods))
    for constraint, size in zip(constraints, sizes, strict=True):
        raw += constraint.raw_score(size)
    return _rounded(raw)


def normalised(raw: Scores, lowest: int, highest: int) -> Scores:
    """100 for the emptiest, less for others in proportion to the fullest."""
    if highest == 0:
        return np.full_like(raw, MAX_SCORE)
    scores: Scores = MAX_SCORE * (highest + lowest - raw) // highest
    return scores


def _all_normalised(raw: Scores, lowest: Scores, highest: Scores) -> Scores:
    """Normalise int64[extremes, node] with the extremes of each row, int64[extremes, 1]."""
    return np.where(highest == 0, MAX_SCORE, MAX_SCORE * (highest + lowest - raw) // np.maximum(highest, 1))


def _rounded(values: Floats) -> Scores:
    """To the nearest integer, halves away from zero, as Go does; NumPy would round them to even."""
    whole = values.astype(np.int64)
    rest = values - whole
    whole += rest >= 0.5
    whole -= rest <= -0.5
    return whole
