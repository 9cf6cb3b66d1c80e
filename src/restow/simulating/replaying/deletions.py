"""Which pods their controllers may have deleted themselves, by what a recording shows of both.

What a controller does happens again in a replay by itself. A pod that its controller had no reason to delete was deleted by
somebody else. Controllers of other kinds than these are taken to have a reason always.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from restow.recordings.reading import Document
from restow.simulating.replaying.documents import (
    RecordedObjects,
    controller_of,
    is_over,
    is_terminating,
    metadata_of,
    spec_of,
    status_of,
)

#: Milliseconds by which watches of two kinds may be apart.
_APART: Final = 5_000
#: Controllers that delete a pod because they have too many, or a new template.
_COUNTED: Final = ("ReplicaSet", "ReplicationController", "StatefulSet")


@dataclass(slots=True)
class OwnedPods:
    """The pods of each controller as the recording goes on."""

    objects: RecordedObjects
    #: By uid of the controller, those that are there and not on their way out, by uid.
    _active: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def take(self, now: Document | None, known: Document | None) -> None:
        """Take in what an object is now; ``known`` is what is known of it if it has gone."""
        if known is None or known["kind"] != "Pod":
            return
        pods, uid = self._active[controller_of(known).get("uid", "")], metadata_of(known).get("uid", "")
        if is_terminating(now) or is_over(now):
            pods.discard(uid)
        else:
            pods.add(uid)

    def may_delete(self, at: int, pod: Document) -> bool:
        """Whether the controller of a pod may delete it now, for what it is and has at a time in milliseconds."""
        owner = controller_of(pod)
        # That it was given a smaller size may be seen a moment later than what it did about it.
        seen = list(self.objects.between(owner["uid"], at, at + _APART))
        if owner["kind"] not in _COUNTED or not seen or any(map(is_terminating, seen)):
            return True
        wanted = min(spec_of(each).get("replicas", 1) for each in seen if each is not None)
        return len(self._active[owner["uid"]]) > wanted or any(_is_outdated(pod, each) for each in seen)


def _is_outdated(pod: Document, owner: Document | None) -> bool:
    """Whether a StatefulSet has another revision than a pod."""
    wanted = "" if owner is None else status_of(owner).get("updateRevision", "")
    return bool(wanted) and (metadata_of(pod).get("labels") or {}).get("controller-revision-hash", wanted) != wanted
