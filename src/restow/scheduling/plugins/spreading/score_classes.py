"""The kinds of nodes that soft spread constraints distinguish, and the score of each kind.

To a constraint a node is its domain and the matching pods there. Zones are few and most nodes have none of the pods, so
thousands of nodes are a dozen kinds, and similar workloads share them. Scores depend on which kinds are scored: they
are computed once for each set of kinds and remembered; a set is a number with a bit for each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.scheduling.framework.extension_points import MAX_SCORE, Scores
from restow.scheduling.framework.lru_cache import LruCache
from restow.scheduling.framework.pod_counts import Counts
from restow.scheduling.plugins.spreading.windowed import ScoredConstraint, normalised, raw_scores
from restow.scheduling.sampling import windows
from restow.scheduling.sampling.relative_scores import WindowScores
from restow.scheduling.sampling.windows import Integers, WindowRuns

#: The most kinds that are worth it; more nodes than that are hardly alike.
_MOST = windows.MOST_VALUES
#: Constraints that are remembered with what they find...
_CAPACITY = 512
#: ...and this many sets of kinds for each.
_SETS = 64


class ConstraintCounts(NamedTuple):
    """What one constraint finds in a cluster whose nodes all have its topology key."""

    max_skew: int
    #: Matching pods by node or, where there are domains, by domain.
    pods: Counts
    #: The domain of each node; None where each node counts as one.
    domain: IntArray | None


#: All that scores depend on except the nodes: of each constraint its skew, the number of distinct node values, and the
#: pods of each domain.
_Signature = tuple[tuple[int, int, bytes | None], ...]


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


@dataclass(slots=True, frozen=True)
class RelativeKinds:
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
