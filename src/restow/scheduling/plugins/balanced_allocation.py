"""NodeResourcesBalancedAllocation: prefer nodes whose resources the pod leaves more evenly used.

The balance of a node is 1 minus the standard deviation of the used fractions. Since 1.36 what counts is how much the
pod improves it: 50 + (50 + after - before) / 2, so 75 is neutral. Source: Kubernetes 1.36.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.scheduling.context import Context
from restow.scheduling.framework import MAX_SCORE, Scores
from restow.scheduling.per_node import PerNode

NAME = "NodeResourcesBalancedAllocation"

#: Resources that are balanced by default.
DEFAULT_RESOURCES = ("cpu", "memory")


class BalancedAllocation:
    """Score on requests without defaults."""

    name = NAME

    def __init__(self, context: Context, resources: tuple[str, ...] = DEFAULT_RESOURCES) -> None:
        self._state = context.state
        names = context.state.cluster.nodes.resources
        self._rows = [names.index(name) for name in resources if name in names]
        self._always = [names.index(name) for name in DEFAULT_RESOURCES]
        self._scores = PerNode(context.state, self._compute)

    def score(self, pod: int, nodes: IntArray) -> Scores | None:
        """50 to 100, 75 where the pod changes nothing; None for pods that request none of the resources."""
        resources = int(self._state.cluster.pods.resources[pod])
        if not self._state.request_vectors()[resources, self._rows].any():
            return None
        scores: Scores = self._scores.of(resources)[nodes]
        return scores

    def _compute(self, resources: int, nodes: IntArray) -> Scores:
        request = self._state.request_vectors()[resources]
        rows = [row for row in self._rows if row in self._always or request[row] > 0]
        used = self._state.requested[:, nodes][rows]
        capacity = self._state.cluster.nodes.allocatable[:, nodes][rows]
        before = _balance(used, capacity)
        after = _balance(used + request[rows, None], capacity)
        half = MAX_SCORE // 2
        return half + (half + after - before) // 2


def _balance(used: npt.NDArray[np.int64], capacity: npt.NDArray[np.int64]) -> Scores:
    """How evenly resources are used, 0 to 100; resources that a node does not have do not count."""
    counted = capacity > 0
    fraction = np.minimum(1.0, used / np.where(counted, capacity, 1))
    if len(fraction) == 2:
        deviation = np.where(counted.all(axis=0), np.abs(fraction[0] - fraction[1]) / 2, 0.0)
    else:
        deviation = _deviation(fraction, counted)
    return ((1.0 - deviation) * MAX_SCORE).astype(np.int64)


def _deviation(fraction: npt.NDArray[np.float64], counted: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    number = np.maximum(counted.sum(axis=0), 1)
    mean = np.where(counted, fraction, 0.0).sum(axis=0) / number
    squares = np.where(counted, (fraction - mean) ** 2, 0.0).sum(axis=0)
    return np.where(number < 2, 0.0, np.sqrt(squares / number))
