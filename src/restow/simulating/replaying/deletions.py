"""Which pods their controllers may have deleted themselves, by what a recording shows of both.

What a controller does happens again in a replay by itself, so the rules are those of the simulated controllers. A pod that its
controller had no reason to delete was deleted by somebody else.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from restow.recordings.reading import Document
from restow.simulating.replaying.deletion_rules import RULES, DeletedPod
from restow.simulating.replaying.documents import (
    RecordedObjects,
    controller_of,
    is_over,
    is_terminating,
    uid_of,
)

#: Milliseconds by which watches of two kinds may be apart.
_APART: Final = 5_000


@dataclass(slots=True)
class OwnedPods:
    """The pods of each controller as the recording goes on."""

    objects: RecordedObjects
    #: By uid of the controller, those that are there and not on their way out, by uid.
    _active: defaultdict[str, dict[str, Document]] = field(default_factory=lambda: defaultdict(dict))

    def take(self, old: Document | None, new: Document | None) -> None:
        """Take in what an object was and is now."""
        if old is not None and old["kind"] == "Pod":
            self._beside(old).pop(uid_of(old), None)
        if new is not None and new["kind"] == "Pod" and not is_terminating(new) and not is_over(new):
            self._beside(new)[uid_of(new)] = new

    def _beside(self, pod: Document) -> dict[str, Document]:
        return self._active[controller_of(pod).get("uid", "")]

    def may_delete(self, at: int, pod: Document) -> bool:
        """Whether the controller of a pod may delete it now, for what it is and has at a time in milliseconds."""
        owner, was = controller_of(pod), self._beside(pod).get(uid_of(pod))
        # That it was given a smaller size may be seen a moment later than what it did about it.
        seen = list(self.objects.between(owner["uid"], at, at + _APART))
        if was is None or not seen:
            return True
        case = DeletedPod(was, self._beside(pod), at, at + _APART, self.objects)
        return any(is_terminating(each) or each is None or RULES[owner["kind"]](case, each) for each in seen)
