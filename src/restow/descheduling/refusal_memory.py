"""What the scheduler said of pods, for as long as nothing moves: it says the same of every pod alike.

An overfull node has dozens of pods of a few workloads, and where the first of them cannot go the others cannot go
either. Pods are alike if a scheduler sees no difference between them and they leave the same node. Pods with volumes are
never alike: their claims are their own. Whether the nodes that could win would do is asked for each pod: what it uses,
and which constraint wants it gone, is its own too.
"""

from __future__ import annotations

from restow.cluster.pods import NO_POD, Pods
from restow.descheduling.evictor import Reason
from restow.descheduling.landings import PlacementPrediction
from restow.scheduling.recent import Recent

_Key = tuple[object, ...]
#: What a scheduler may see of a pod.
_SEEN = (
    "namespace",
    "labels",
    "owners",
    "resources",
    "tolerations",
    "rules",
    "spread",
    "images",
    "init_images",
    "ports",
    "schedulers",
    "priority",
    "flags",
    "volumes",
)
#: Pods alike of one node come soon after one another; a prediction on 5,000 nodes takes 0.1 MB.
_CAPACITY = 1024


class RefusalMemory:
    """What was found out since the last move."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        self._known: Recent[_Key, PlacementPrediction | Reason] = Recent(_CAPACITY)

    def recall(self, pod: int, source: int) -> PlacementPrediction | Reason | None:
        """Where a pod alike could land, or why it cannot land anywhere."""
        return self._known.get(self._key(pod, source)) if self._known else None

    def keep(self, pod: int, source: int, known: PlacementPrediction | Reason) -> None:
        """Remember what was said of a pod."""
        if not self._pods.tables.volumes[self._pods.volumes[pod]]:
            self._known.put(self._key(pod, source), known)

    def forget(self) -> None:
        """Something has moved."""
        self._known = Recent(_CAPACITY)

    def _key(self, pod: int, source: int) -> _Key:
        return source, self._pods.replaces[pod] != NO_POD, *[getattr(self._pods, name)[pod] for name in _SEEN]
