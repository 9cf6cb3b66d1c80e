"""How probable it is that each feasible node wins, over all windows that a search may find.

Every start of a search is taken to be equally probable: a window that begins at a feasible node is as probable as there are
nodes from the feasible one before it up to this one. Within a window each of the nodes with the best score is taken to be
equally probable; kube-scheduler 1.36 decides by the order in which its workers report them.

Windows that normalise alike are looked at together. Only soft constraints over a topology of hundreds of domains make nearly
every window one of its own; the shares then come from some windows that stand for those around them, and are exact otherwise.

The loop over windows is in C (``shares.c``), called through ctypes, and compiled when restow is installed. Where there was no
compiler, NumPy finds the same numbers, bit for bit, and takes several times as long.
"""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

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

#: The VERSION of shares.c.
_VERSION: Final = 1
LIBRARY: Final = Path(__file__).with_name("_shares.so")


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled loop, or None where it was not compiled, or from another version of shares.c."""
    try:
        found = ctypes.CDLL(str(LIBRARY))
        version = found.version
    except (OSError, AttributeError):
        return None
    version.restype = ctypes.c_int64
    if version() != _VERSION:
        return None
    found.shares.restype = ctypes.c_int64
    found.shares.argtypes = [*[ctypes.c_void_p] * 5, *[ctypes.c_int64] * 4, ctypes.c_void_p]
    return found


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
    if added is None or len(added.table) <= MOST_SCALES:
        return won_everywhere(fixed, added, weights, size), 0.0
    return won_everywhere(fixed, added, _represented(weights), size), 1 / SAMPLES


def won_everywhere(fixed: Scores, added: AddedScores | None, weights: Weights, size: int) -> Weights:
    """What each entry wins of the weights of all windows, by the compiled loop where there is one."""
    kernel = library()
    found = None if kernel is None else _compiled(kernel, fixed, added, weights, size)
    return vectorised(fixed, added, weights, size) if found is None else found


def _compiled(
    kernel: ctypes.CDLL, fixed: Scores, added: AddedScores | None, weights: Weights, size: int
) -> Weights | None:
    """The same by ``shares.c``; None where totals are too far apart for it."""
    nothing = _nothing(len(fixed))
    kinds, scale, table = (
        (nothing, nothing, nothing[None, :1]) if added is None else (added.kinds, added.scale.everywhere(), added.table)
    )
    arrays = [np.ascontiguousarray(each, np.int64) for each in (fixed, kinds, table, scale)]
    won, weights = np.zeros(len(fixed)), np.ascontiguousarray(weights)
    pointers = [each.ctypes.data for each in (*arrays, weights)]
    done = kernel.shares(*pointers, len(weights), size, *table.shape, won.ctypes.data)
    return won if done else None


@lru_cache(maxsize=1)
def _nothing(entries: int) -> IntArray:
    return np.zeros(entries, np.int64)


def vectorised(fixed: Scores, added: AddedScores | None, weights: Weights, size: int) -> Weights:
    """What each entry wins of the weights of all windows, without the compiled loop."""
    won = np.zeros(len(fixed))
    found = np.flatnonzero(weights)
    for number, some in ((0, found),) if added is None else added.by_scale(found):
        for stretch, part in windows.stretches(some, size):
            total = fixed[part] if added is None else fixed[part] + added.table[number][added.kinds[part]]
            won[part] += _won(total, stretch - part.start, weights[stretch], size)
    return won


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
    sums = np.concatenate((np.zeros(size), summed := np.cumsum(values), np.full(size - 1, summed[-1])))
    around: Weights = sums[size:] - sums[: len(values) + size - 1]
    return around
