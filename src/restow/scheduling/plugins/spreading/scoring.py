"""What soft spread constraints make of the nodes that are scored.

The pods in a node's domains speak against it. Each constraint weighs its pods by how many domains the scored nodes have,
so that topologies with few domains are not drowned out by those with many. Source: PodTopologySpread, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.scheduling.framework.extension_points import MAX_SCORE, Scores
from restow.scheduling.framework.pod_counts import Counts

Floats = npt.NDArray[np.float64]


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


def all_normalised(raw: Scores, lowest: Scores, highest: Scores) -> Scores:
    """The same for several extremes, int64[extremes, 1], each with what it normalises, int64[extremes, node]."""
    return np.where(highest == 0, MAX_SCORE, MAX_SCORE * (highest + lowest - raw) // np.maximum(highest, 1))


def _rounded(values: Floats) -> Scores:
    """To the nearest integer, halves away from zero, as Go does; NumPy would round them to even."""
    whole = values.astype(np.int64)
    rest = values - whole
    whole += rest >= 0.5
    whole -= rest <= -0.5
    return whole
