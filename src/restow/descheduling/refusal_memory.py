"""What the scheduler said of pods, for as long as nothing moves: it says the same of every pod alike.

An overfull node has dozens of pods of a few workloads, and where the first of them cannot go the others cannot go
either. Pods are alike if a scheduler sees no difference between them and they leave the same node. Pods with volumes are
never alike: their claims are their own. Whether the nodes that could win would do is asked for each pod: what it uses,
and which constraint wants it gone, is its own too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pods import Pods
from restow.descheduling.evictor import Reason

_Key = tuple[object, ...]


class Prospect(NamedTuple):
    """Where a replacement could land."""

    #: The nodes that could win, in order of their names.
    candidates: IntArray
    #: Those that win if all nodes are looked at.
    best: IntArray
    #: Whether it is scheduled only once the old pod is gone.
    afterwards: bool
    #: What keeps it from all other nodes, where it would come back to its own.
    elsewhere: str = ""


class _Packed(NamedTuple):
    """A prospect with a bit for each node: a plan may have 100,000 of them, with thousands of nodes each."""

    candidates: bytes
    best: bytes
    afterwards: bool
    elsewhere: str

    @staticmethod
    def of(prospect: Prospect, nodes: int) -> _Packed:
        """On a cluster of so many nodes."""
        candidates, best = _bits(prospect.candidates, nodes), _bits(prospect.best, nodes)
        return _Packed(candidates, best, prospect.afterwards, prospect.elsewhere)

    def unpacked(self, nodes: int) -> Prospect:
        """The prospect again."""
        candidates, best = (
            np.flatnonzero(np.unpackbits(np.frombuffer(each, dtype=np.uint8), count=nodes))
            for each in (self.candidates, self.best)
        )
        return Prospect(candidates, best, self.afterwards, self.elsewhere)


def _bits(found: IntArray, nodes: int) -> bytes:
    mask = np.zeros(nodes, dtype=bool)
    mask[found] = True
    return np.packbits(mask).tobytes()


class RefusalMemory:
    """What was found out since the last move, on a cluster of so many nodes."""

    def __init__(self, pods: Pods, nodes: int) -> None:
        self._nodes = nodes
        self._columns = (
            pods.namespace,
            pods.labels,
            pods.owners,
            pods.resources,
            pods.tolerations,
            pods.rules,
            pods.spread,
            pods.images,
            pods.init_images,
            pods.ports,
            pods.schedulers,
            pods.priority,
            pods.flags,
            pods.observed,
        )
        self._volumes = pods.volumes
        self._without = [not volumes for volumes in pods.tables.volumes]
        self._known: dict[_Key, _Packed | Reason] = {}

    def recall(self, pod: int, source: int) -> Prospect | Reason | None:
        """Where a pod alike could land, or why it cannot land anywhere."""
        known = self._known.get(self._key(pod, source)) if self._known else None
        return known.unpacked(self._nodes) if isinstance(known, _Packed) else known

    def keep(self, pod: int, source: int, known: Prospect | Reason) -> None:
        """Remember what was said of a pod."""
        if self._without[self._volumes[pod]]:
            packed = _Packed.of(known, self._nodes) if isinstance(known, Prospect) else known
            self._known[self._key(pod, source)] = packed

    def forget(self) -> None:
        """Something has moved."""
        self._known.clear()

    def _key(self, pod: int, source: int) -> _Key:
        return source, self._volumes[pod], *[column[pod] for column in self._columns]
