"""VolumeBinding's score: prefer nodes of whose storage the pod's new volumes take little.

Of a node where some claim gets a volume that exists, what counts is how much of these volumes the claims ask for. Of any
other node it is how much of what the CSIStorageCapacity of a class has left. 100 where they take nothing, 0 where all; the
mean over the storage classes. Since 1.37, where feature gate StorageCapacityScoring is on by default. Source:
VolumeBinding, Kubernetes 1.37.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.kube.objects import PersistentVolumeClaim
from restow.scheduling.framework.extension_points import MAX_SCORE, Scores
from restow.scheduling.volumes.matching import NO_VOLUME, Provisioning, VolumeMatch, in_bytes, requested
from restow.scheduling.volumes.storage import class_of_claim


@dataclass(slots=True)
class _Use:
    """Of one storage class, in bytes by node."""

    requested: IntArray
    capacity: IntArray
    #: The nodes of which something is known, bool[node].
    is_known: BoolArray

    @staticmethod
    def none(nodes: int) -> _Use:
        zeros = np.zeros(nodes, dtype=np.int64)
        return _Use(zeros, zeros.copy(), np.zeros(nodes, dtype=bool))

    def score(self) -> Scores:
        """100 minus the percent that is taken."""
        is_full = (self.capacity == 0) | (self.requested > self.capacity)
        taken = self.requested * 100 // np.maximum(self.capacity, 1)
        return np.where(is_full, 0, MAX_SCORE - taken)


def storage_scores(
    nodes: int,
    matches: Iterable[VolumeMatch],
    to_make: Iterable[tuple[PersistentVolumeClaim, BoolArray]],
    provisioning: Provisioning,
) -> Scores:
    """0 to 100 for each node, int64[node], by what claims get of existing volumes, and where (bool[node]) they need new ones."""
    use = _StorageUse(nodes)
    for match in matches:
        use.take(match)
    for claim, where in to_make:
        use.make(claim, where, provisioning)
    return use.scores()


@dataclass(slots=True)
class _StorageUse:
    """What the claims of one pod take of each node's storage."""

    nodes: int
    _existing: dict[str, _Use] = field(init=False)
    _new: dict[str, _Use] = field(init=False)

    def __post_init__(self) -> None:
        self._existing = defaultdict(lambda: _Use.none(self.nodes))
        self._new = defaultdict(lambda: _Use.none(self.nodes))

    def take(self, match: VolumeMatch) -> None:
        """A claim gets volumes that exist."""
        use = self._existing[class_of_claim(match.claim)]
        has_one = match.chosen != NO_VOLUME
        use.requested[has_one] += in_bytes(requested(match.claim))
        use.capacity[has_one] += match.sizes()[match.chosen[has_one]]
        use.is_known |= has_one

    def make(self, claim: PersistentVolumeClaim, where: BoolArray, provisioning: Provisioning) -> None:
        """A claim gets a new volume on some nodes."""
        left = provisioning.left(claim)
        if left is None:
            return
        capacity, is_told = left
        told = where & is_told
        use = self._new[class_of_claim(claim)]
        use.requested[told] += in_bytes(requested(claim))
        use.capacity[told] = capacity[told]
        use.is_known |= told

    def scores(self) -> Scores:
        """0 to 100, int64[node]; 0 where nothing is taken of which something is known."""
        is_existing = np.zeros(self.nodes, dtype=bool)
        for use in self._existing.values():
            is_existing |= use.is_known
        found = _mean(self._existing.values(), self.nodes)
        return np.where(is_existing, found, _mean(self._new.values(), self.nodes))


def _mean(uses: Iterable[_Use], nodes: int) -> Scores:
    """The mean over the classes of which something is known on a node, rounded half up."""
    total, classes = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    for use in uses:
        total += np.where(use.is_known, use.score(), 0)
        classes += use.is_known
    mean: Scores = (2 * total + classes) // (2 * np.maximum(classes, 1))
    return mean
