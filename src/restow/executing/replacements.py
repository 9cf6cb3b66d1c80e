"""Which new pod replaces which evicted one.

A replacement is a pod of the same controller that was not there when the eviction was asked for. A StatefulSet's has
the same name. Where several pods of one controller are on their way, each new pod is the replacement of one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from restow.cluster.pods_now import PodNow
from restow.executing.task import Task

_NAMED = "StatefulSet"


@dataclass(slots=True)
class Replacements:
    """Of all evictions on their way."""

    #: By the controller's uid: the pods that were there before, and those that are somebody's replacement.
    _known: dict[str, set[str]] = field(default_factory=dict)
    _expecting: dict[str, set[int]] = field(default_factory=dict)

    def expect(self, task: Task, pods: Sequence[PodNow]) -> None:
        """Call it before asking for an eviction, with the controller's pods as they are; twice does no harm."""
        assert task.owner is not None
        expecting = self._expecting.setdefault(task.owner.uid, set())
        if not expecting:
            self._known[task.owner.uid] = {pod.uid for pod in pods}
        expecting.add(task.number)

    def find(self, task: Task, pods: Sequence[PodNow]) -> PodNow | None:
        """The replacement, which is nobody else's from then on; None if it has not come."""
        assert task.owner is not None
        known = self._known[task.owner.uid]
        for pod in pods:
            is_ours = task.owner.kind != _NAMED or pod.name == task.move.pod.name
            if is_ours and pod.uid not in known and not pod.is_terminating:
                known.add(pod.uid)
                return pod
        return None

    def finish(self, task: Task) -> None:
        """Nobody waits for this one any more."""
        if task.owner is not None and task.owner.uid in self._expecting:
            expecting = self._expecting[task.owner.uid]
            expecting.discard(task.number)
            if not expecting:
                del self._expecting[task.owner.uid], self._known[task.owner.uid]
