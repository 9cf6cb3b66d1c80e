"""How probable it is that a pod lands on each of the nodes that could win.

Two things are left to chance when kube-scheduler places a pod: where its search for feasible nodes begins, and which of
several nodes with the best score it takes. The search begins where the last one ended, which is unknown outside the
scheduler: every place in the visiting order is taken to be equally probable. So a window that begins at a feasible node
is as probable as there are nodes from the feasible one before it up to this one. Within a window each of the nodes with
the best score is taken to be equally probable; kube-scheduler 1.36 decides by the order in which its workers report
them, which is unknown too.

The odds are exact for these assumptions where windows have few different scales
(``scheduling.sampling.relative_scores``). Where nearly every window has a scale of its own, some windows stand for
those around them. Source: schedulePod and selectHost, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.scheduling.framework.extension_points import Scores
from restow.scheduling.sampling import windows
from restow.scheduling.sampling.relative_scores import AddedScores

Weights = npt.NDArray[np.float64]
#: Probabilities, and how much more any of them may be.
Estimate = tuple[Weights, float]

#: Scales up to which all windows are looked at.
_MOST_SCALES = 64
#: The windows that stand for all where there are more scales.
_SAMPLES = 256
#: The highest probability of what rests on something that is missing.
_NEARLY = 0.999


class LandingOdds:
    """The nodes that could win, each with its probability.

    ``estimate`` is called when the probabilities are first read, so it must not look at anything that changes.
    """

    def __init__(self, nodes: IntArray, estimate: Callable[[], Estimate], *, is_known: bool = True) -> None:
        #: Every node that could win, in order of their names.
        self.nodes = nodes
        self._estimate = estimate
        #: Whether nothing is missing that the probabilities depend on; where something is, none is certain.
        self.is_known = is_known

    @staticmethod
    def equal(nodes: IntArray) -> LandingOdds:
        """Every node is as probable as the others."""
        return LandingOdds(nodes, lambda: (np.full(len(nodes), 1 / max(len(nodes), 1)), 0.0))

    @staticmethod
    def unknown(nodes: IntArray) -> LandingOdds:
        """Only that one of the nodes wins is known: each has a probability between 0 and 1."""
        return LandingOdds(nodes, lambda: (np.zeros(len(nodes)), 1.0), is_known=False)

    def as_far_as_known(self, nodes: IntArray) -> LandingOdds:
        """The odds when data that scores depend on is missing, so that any of more nodes could win."""

        def estimate() -> Estimate:
            probability, missed = self._estimated
            found = np.zeros(len(nodes))
            found[np.searchsorted(nodes, self.nodes)] = probability
            return found, missed

        return LandingOdds(nodes, estimate, is_known=False)

    @cached_property
    def _estimated(self) -> Estimate:
        return self._estimate()

    @property
    def probability(self) -> Weights:
        """float64[len(nodes)]: as much at least; 0 where an estimate has missed a node that wins in few windows only."""
        return self._estimated[0]

    def of(self, some: BoolArray) -> float:
        """The least probability that one of some nodes wins, bool[len(nodes)]; exactly 1 for all and 0 for none."""
        return 1.0 if some.all() else min(1.0 if self.is_known else _NEARLY, float(self.probability[some].sum()))

    def at_most(self, some: BoolArray) -> float:
        """The highest probability, with what an estimate may have missed."""
        return min(1.0, self.of(some) + self._estimated[1]) if some.any() else 0.0


def window_weights(places: IntArray, count: int) -> Weights:
    """How probable each window is, float64[window], by where the feasible nodes stand among ``count`` in visiting order."""
    gaps: IntArray = np.diff(places, prepend=places[-1] - count)
    weights: Weights = gaps / count
    return weights


def shares(fixed: Scores, added: AddedScores | None, weights: Weights, size: int) -> Estimate:
    """How probable it is that each entry wins in a window that holds it, float64[entry], and how much more it may be.

    ``fixed`` is what entries get in every window, ``added`` what they get by the scale of the window; an entry that
    stands in two places wins with the sum of both.
    """
    if added is None:
        return _won(fixed, np.arange(len(weights)), weights, size), 0.0
    exact = len(added.table) <= _MOST_SCALES
    if not exact:
        weights = _represented(weights)
    won = np.zeros(len(fixed))
    found = np.flatnonzero(weights)
    for number, some in added.by_scale(found):
        for stretch, part in windows.stretches(some, size):
            total = fixed[part] + added.table[number][added.kinds[part]]
            won[part] += _won(total, stretch - part.start, weights[stretch], size)
    return won, 0.0 if exact else 1 / _SAMPLES


def _represented(weights: Weights) -> Weights:
    """The weights where few windows stand for all: each has its own and those of the windows up to the next."""
    chosen = np.unique(np.linspace(0, len(weights), min(_SAMPLES, len(weights)), endpoint=False).astype(np.int64))
    gathered = np.zeros_like(weights)
    gathered[chosen] = np.add.reduceat(weights, chosen)
    return gathered


def _won(total: Scores, found: IntArray, weights: Weights, size: int) -> Weights:
    """What each entry wins of the weights of the windows found; entries with the best score share alike."""
    highest = windows.highest(total, size)[found]
    won = np.zeros(len(total))
    for level in [int(highest[0])] if (highest == highest[0]).all() else np.unique(highest).tolist():
        best = np.equal(total, level)
        reached = np.equal(highest, level)
        some = found[reached]
        share = np.zeros(len(total) - size + 1)
        share[some] = weights[reached] / windows.count(best, size)[some]
        won += np.where(best, _around(share, size), 0.0)
    return won


def _around(values: Weights, size: int) -> Weights:
    """For each entry the sum of the values of the windows of which it is part."""
    sums = np.concatenate((np.zeros(size), np.cumsum(values), np.full(size - 1, values.sum())))
    around: Weights = sums[size:] - sums[: len(values) + size - 1]
    return around
