"""What the scheduler said of pods, for as long as nothing moves: it says the same of every pod alike.

An overfull node has dozens of pods of a few kinds, and where the first of them cannot go the others cannot go either.
Pods are alike if a scheduler sees no difference between them and they leave the same node. It sees the same resources,
rules, tolerations and so on by their identifiers. Namespace, labels, owners and images are the pod's own; what they
come to is the same for many: who selects a pod, and where the pods are that it is spread with
(``Schedulers.signature``). Pods with volumes are never alike: their claims are their own. Whether the nodes that could
win would do is asked for each pod: what it uses, and which constraint wants it gone, is its own too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from restow.cluster.pod_classes import Aspect, columns_of
from restow.cluster.pods import Pods
from restow.descheduling.evictor import Reason
from restow.descheduling.landings import PlacementPrediction
from restow.scheduling.framework.recent import Recent

_Key = tuple[Hashable, ...]
_Answer = PlacementPrediction | Reason
#: What a pod may have alone: the signature says what comes of it.
_OWN = ("namespace", "labels", "owners", "images", "init_images", "volume_images")
#: What decides where a replacement lands, beside that.
_SEEN = tuple(column for column in columns_of(Aspect.LANDING) if column not in _OWN)
#: Pods alike of one node come soon after one another; a prediction on 5,000 nodes takes 0.1 MB.
_CAPACITY = 1024


class RefusalMemory:
    """What was found out since the last move."""

    def __init__(self, pods: Pods, signature: Callable[[int], Hashable]) -> None:
        self._pods = pods
        #: What else tells pods apart, on the state as it is.
        self._signature = signature
        self._known: Recent[_Key, _Answer] = Recent(_CAPACITY)
        self._learnt: tuple[int, int, _Answer] | None = None

    def recall(self, pod: int, source: int) -> _Answer | None:
        """Where a pod alike could land, or why it cannot land anywhere."""
        return self._known.get(self._key(pod, source)) if self._known else None

    def learn(self, pod: int, source: int, answer: _Answer) -> None:
        """Take in what was said of a pod; its replacement was tried for that, so ``keep`` follows when that is undone."""
        has_volumes = bool(self._pods.tables.volumes[self._pods.volumes[pod]])
        self._learnt = None if has_volumes else (pod, source, answer)

    def keep(self) -> None:
        """Remember what was learnt last, now that the state is as it was before."""
        if self._learnt is not None:
            pod, source, answer = self._learnt
            self._known.put(self._key(pod, source), answer)
            self._learnt = None

    def forget(self) -> None:
        """Something has moved."""
        self._known = Recent(_CAPACITY)
        self._learnt = None

    def _key(self, pod: int, source: int) -> _Key:
        seen = (int(getattr(self._pods, name)[pod]) for name in _SEEN)
        return source, self._pods.is_replacement(pod), *seen, self._signature(pod)
