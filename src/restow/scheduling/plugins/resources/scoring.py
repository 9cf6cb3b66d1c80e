"""How full or empty a node should be: the strategies of NodeResourcesFit.

Each takes what would be used, the capacity (both int64[resource, node]) and the weights (int64[resource, 1]) and gives
0..100 for each node. A resource that a node does not have counts neither above nor below the line. Integer division as
in Go. Source: noderesources, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from restow.cluster.amounts import percent_of
from restow.scheduling.framework.extension_points import MAX_SCORE, Scores

Table = npt.NDArray[np.int64]
Strategy = Callable[[Table, Table, Table], Scores]

#: (utilisation in percent, score 0..10).
Shape = Sequence[tuple[int, int]]


def least_allocated(used: Table, capacity: Table, weights: Table) -> Scores:
    """The emptier the better."""
    free = np.maximum(capacity - used, 0)
    return _weighted_mean(percent_of(free, capacity), capacity > 0, weights)


def most_allocated(used: Table, capacity: Table, weights: Table) -> Scores:
    """The fuller the better."""
    taken = np.minimum(used, capacity)
    return _weighted_mean(percent_of(taken, capacity), capacity > 0, weights)


def requested_to_capacity_ratio(shape: Shape) -> Strategy:
    """As a broken line of the utilisation says; resources that score 0 are left out of the mean."""

    def strategy(used: Table, capacity: Table, weights: Table) -> Scores:
        utilisation = np.where(used > capacity, MAX_SCORE, percent_of(np.minimum(used, capacity), capacity))
        scores = _along(shape, utilisation)
        counted = (capacity > 0) & (scores > 0)
        total = np.where(counted, scores * weights, 0).sum(axis=0)
        weight = np.where(counted, weights, 0).sum(axis=0)
        rounded: Scores = np.floor(total / np.maximum(weight, 1) + 0.5).astype(np.int64)
        return rounded

    return strategy


def _weighted_mean(scores: Table, counted: npt.NDArray[np.bool_], weights: Table) -> Scores:
    weight = (counted * weights).sum(axis=0)
    mean: Scores = (scores * weights * counted).sum(axis=0) // np.maximum(weight, 1)
    return mean


def _along(shape: Shape, utilisation: Table) -> Table:
    """The broken line at each utilisation, scaled from 0..10 to 0..100, truncated between its points."""
    points = [(at, score * MAX_SCORE // 10) for at, score in shape]
    result = np.full(utilisation.shape, points[-1][1], dtype=np.int64)
    for (low, start), (high, end) in reversed(list(pairwise(points))):
        between = start + np.trunc((end - start) * (utilisation - low) / (high - low)).astype(np.int64)
        result = np.where(utilisation <= high, between, result)
    along: Table = np.where(utilisation <= points[0][0], points[0][1], result)
    return along
