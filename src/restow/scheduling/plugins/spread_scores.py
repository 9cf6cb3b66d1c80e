"""Scores of soft spread constraints: for all nodes, and for windows of nodes in visiting order.

A raw score is higher the more pods a node's domains have. How many domains the scored nodes have decides the weight of
the pods in one. To a constraint a node is its domain and the matching pods there. Zones are few and most nodes have none
of the pods, so thousands of nodes are a dozen kinds, and similar workloads share them: scores are computed once for each
set of kinds (a number with a bit for each kind) and remembered (``SpreadScoreClasses``). Where nodes are of many kinds, or
some are not scored, ``WindowedSpread`` computes each window; numbers of domains that differ by little often give the same
raw scores, which are computed once. Source: PodTopologySpread, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from restow.cluster.interning import BoolArray, IntArray
from restow.scheduling.framework.caches import LruCache
from restow.scheduling.framework.extension_points import MAX_SCORE, Scores
from restow.scheduling.framework.pod_counts import Counts
from restow.scheduling.sampling import windows
from restow.scheduling.sampling.relative_scores import WindowScores, clipped, sorted_out
from restow.scheduling.sampling.windows import Integers, WindowRuns

#: Numbers of kinds up to which some may stand for nothing.
_FEW = 100

Floats = npt.NDArray[np.float64]

#: The most kinds that are worth it; more nodes than that are hardly alike.
_MOST = windows.MOST_VALUES
#: Constraints that are remembered with what they find...
_CAPACITY = 512
#: ...and this many sets of kinds for each.
_SETS = 64

#: All that scores depend on except the nodes: of each constraint its skew, the number of distinct node values, and the
#: pods of each domain.
_Signature = tuple[tuple[int, int, bytes | None], ...]


class WindowedSpread(Struct, frozen=True):
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
class ScoredConstraint(Struct, frozen=True):
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


class ConstraintCounts(NamedTuple):
    """What one constraint finds in a cluster whose nodes all have its topology key."""

    max_skew: int
    #: Matching pods by node or, where there are domains, by domain.
    pods: Counts
    #: The domain of each node; None where each node counts as one.
    domain: IntArray | None


class SpreadScoreClasses:
    """The soft constraints of one pod."""

    def __init__(self, of_node: IntArray, scores: KindScores) -> None:
        #: The kind of each node, int64[node].
        self.of_node = of_node
        self.scores = scores
        self._bits: Integers = scores.bits[of_node]

    def score(self) -> Scores:
        """0..100 for each node if all are scored."""
        return self.scores.of(len(self._bits), int(np.bitwise_or.reduce(self._bits)))[self.of_node]

    def score_all(self, scored: BoolArray) -> Scores:
        """0..100 for each node, right for those that are scored, at least one of bool[node]."""
        number = int(np.count_nonzero(scored))
        if number == len(scored):
            return self.score()
        return self.scores.of(number, int(np.bitwise_or.reduce(self._bits * scored)))[self.of_node]

    def relative(self, nodes: IntArray) -> RelativeKinds | None:
        """The scores in windows of some nodes; None if no constraint distinguishes those nodes."""
        bits = self._bits[nodes]
        if self.scores.alike(int(np.bitwise_or.reduce(bits))):
            return None
        return RelativeKinds(self.of_node[nodes], bits, self.scores)


class RelativeKinds(Struct, frozen=True):
    """See ``scheduling.sampling.relative_scores``."""

    kinds: IntArray
    _bits: Integers
    _scores: KindScores

    def scores(self, size: int) -> WindowScores:
        """By the kinds that windows have."""
        sets, runs = windows.unions(self._bits, size)
        table, number = self._scores.of_windows(size, sets)
        return WindowScores(table, WindowRuns(number[runs.numbers], runs.bounds))


class KindScores:
    """What some constraints give the kinds of nodes that they find."""

    def __init__(self, constraints: Sequence[ScoredConstraint]) -> None:
        self._scored_constraints = constraints
        self.bits: Integers = windows.bits(len(constraints[0].pods))
        self._known: LruCache[tuple[int, int], Scores] = LruCache(_SETS)
        self._alike: LruCache[int, bool] = LruCache(_SETS)
        self._windows: LruCache[tuple[int, tuple[int, ...]], tuple[Scores, IntArray]] = LruCache(_SETS)

    def of(self, number: int, present: int) -> Scores:
        """0..100 for each kind, int16[kind], if ``count`` nodes of these kinds are scored."""
        known = self._known.get((number, present))
        if known is None:
            known = self._scores(number, (self.bits & present) != 0)
            self._known.put((number, present), known)
        return known

    def of_windows(self, size: int, sets: tuple[int, ...]) -> tuple[Scores, IntArray]:
        """The distinct scores in windows of a size with each of some sets of kinds, and which of them each set has."""
        known = self._windows.get((size, sets))
        if known is None:
            known = _distinct([self.of(size, present) for present in sets])
            self._windows.put((size, sets), known)
        return known

    def alike(self, present: int) -> bool:
        """Whether constraints find the same at all nodes of these kinds."""
        known = self._alike.get(present)
        if known is None:
            kinds = ((self.bits & present) != 0).nonzero()[0]
            known = all(np.ptp(each.pods[kinds]) == 0 for each in self._scored_constraints) if len(kinds) else True
            self._alike.put(present, known)
        return known

    def _scores(self, number: int, present: BoolArray) -> Scores:
        sizes = [
            number if each.domain is None else len(set(each.domain[present].tolist()))
            for each in self._scored_constraints
        ]
        raw = raw_scores(self._scored_constraints, sizes)
        scores = normalised(raw, int(raw[present].min()), int(raw[present].max()))
        return np.minimum(np.maximum(scores, 0), MAX_SCORE).astype(np.int16)


def _distinct(rows: Sequence[Scores]) -> tuple[Scores, IntArray]:
    """The distinct rows, and which of them each is."""
    numbers: dict[bytes, int] = {}
    found = [numbers.setdefault(row.tobytes(), len(numbers)) for row in rows]
    return np.array([rows[found.index(number)] for number in range(len(numbers))]), np.array(found)


class SpreadClassScores:
    """The kinds that constraints with the same signature share."""

    def __init__(self) -> None:
        self._known: LruCache[_Signature, KindScores] = LruCache(_CAPACITY)

    def kinds(self, constraints: Sequence[ConstraintCounts]) -> SpreadScoreClasses | None:
        """The kinds of some constraints, at least one; None where there are too many."""
        widths = [int(each.pods.max()) + 1 if each.domain is None else len(each.pods) for each in constraints]
        if prod(widths) > _MOST:
            return None
        kinds: IntArray = np.zeros(1, dtype=np.int64)
        signature: list[tuple[int, int, bytes | None]] = []
        for (max_skew, pods, domain), width in zip(constraints, widths, strict=True):
            kinds = kinds * width + (pods if domain is None else domain)
            signature.append((max_skew, width, None if domain is None else pods.tobytes()))
        key = tuple(signature)
        known = self._known.get(key)
        if known is None:
            known = KindScores(_scored_constraints(constraints, widths))
            self._known.put(key, known)
        return SpreadScoreClasses(kinds, known)


def _scored_constraints(constraints: Sequence[ConstraintCounts], widths: Sequence[int]) -> list[ScoredConstraint]:
    """What each constraint finds at a node of each kind."""
    labelled = np.ones(prod(widths), dtype=bool)
    values = np.unravel_index(np.arange(len(labelled)), tuple(widths))
    return [
        ScoredConstraint(each.max_skew, value.astype(np.int32), labelled, None)
        if each.domain is None
        else ScoredConstraint(each.max_skew, each.pods[value], labelled, value)
        for each, value in zip(constraints, values, strict=True)
    ]
