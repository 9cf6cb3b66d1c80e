"""How probable it is that each feasible node wins, over all windows that a search may find.

Every start of a search is taken to be equally probable: a window that begins at a feasible node is as probable as there are
nodes from the feasible one before it up to this one. Within a window each of the nodes with the best score is taken to be
equally probable; kube-scheduler 1.36 decides by the order in which its workers report them.

Windows that normalise alike are looked at together. Only soft constraints over a topology of hundreds of domains make nearly
every window one of its own; the shares then come from some windows that stand for those around them, and are exact otherwise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.scheduling.framework.extension_points import Scores
from restow.scheduling.sampling import windows
from restow.scheduling.sampling.relative_scores import AddedScores

Weights = npt.NDArray[np.float64]
#: Probabilities, and how much more any of them may be.
Estimate = tuple[Weights, float]

#: Scales up to which all windows are looked at.
MOST_SCALES = 64
#: The windows that stand for all where there are more scales.
SAMPLES = 256


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
    exact = len(added.table) <= MOST_SCALES
    if not exact:
        weights = _represented(weights)
    won = np.zeros(len(fixed))
    found = np.flatnonzero(weights)
    for number, some in added.by_scale(found):
        for stretch, part in windows.stretches(some, size):
            total = fixed[part] + added.table[number][added.kinds[part]]
            won[part] += _won(total, stretch - part.start, weights[stretch], size)
    return won, 0.0 if exact else 1 / SAMPLES


def _represented(weights: Weights) -> Weights:
    """The weights where few windows stand for all: each has its own and those of the windows up to the next."""
    chosen = np.unique(np.linspace(0, len(weights), min(SAMPLES, len(weights)), endpoint=False).astype(np.int64))
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
