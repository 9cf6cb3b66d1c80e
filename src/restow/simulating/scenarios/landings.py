"""Where evicted pods landed: which pods replaced them, and on which nodes.

A controller replaces a pod by a new one of another name, so a replacement is recognised by its controller: the next pod
that this one creates replaces the pod of it that was evicted first and is not replaced yet.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from restow.simulating.scenarios.observations import Observation, ObservedEviction, ObservedPod, PodKey
from restow.simulating.scenarios.references import Reference

#: moved: the replacement is on another node. returned: it is on the node that the pod had left. waiting: it had no node
#: when the run ended. unreplaced: none was made.
Landing = Literal["moved", "returned", "waiting", "unreplaced"]


@dataclass(slots=True, frozen=True)
class TrackedEviction:
    """An eviction and its result; ``time`` is nanoseconds since the start of the run."""

    time: int
    pod: ObservedPod
    by: tuple[str, ...]
    landing: Landing
    #: The replacement and its node, as far as there are any.
    replacement: str
    node: str
    #: Whether the pod was itself the replacement of an evicted one.
    is_again: bool


@dataclass(slots=True)
class _EvictionHistory:
    time: int
    eviction: ObservedEviction
    is_again: bool
    replacement: str = ""
    node: str = ""

    def finish(self) -> TrackedEviction:
        pod = self.eviction.pod
        return TrackedEviction(
            self.time, pod, self.eviction.by, self._landing(), self.replacement, self.node, self.is_again
        )

    def _landing(self) -> Landing:
        if not self.replacement:
            return "unreplaced"
        if not self.node:
            return "waiting"
        return "returned" if self.node == self.eviction.pod.node else "moved"


@dataclass(slots=True)
class LandingTracker:
    """Follows all evictions of a run."""

    _histories: list[_EvictionHistory] = field(default_factory=list)
    #: By controller, those whose replacements have not come yet.
    _expected: defaultdict[Reference, deque[_EvictionHistory]] = field(default_factory=lambda: defaultdict(deque))
    #: The replacements that are there.
    _replacing: dict[PodKey, _EvictionHistory] = field(default_factory=dict)

    def take(self, observation: Observation, known: Mapping[PodKey, ObservedPod]) -> None:
        """Apply an observation, given the pods as they were before."""
        for eviction in observation.evictions:
            history = _EvictionHistory(observation.time, eviction, eviction.pod.key in self._replacing)
            self._histories.append(history)
            if eviction.pod.controllers:
                self._expected[eviction.pod.controllers[0]].append(history)
        for key, pod in observation.pods.items():
            if pod is None:
                self._replacing.pop(key, None)
            else:
                self._see(key, pod, is_new=key not in known)

    def _see(self, key: PodKey, pod: ObservedPod, *, is_new: bool) -> None:
        expected = self._expected.get(pod.controllers[0]) if is_new and pod.controllers else None
        if expected:
            self._replacing[key] = expected.popleft()
            self._replacing[key].replacement = pod.name
        history = self._replacing.get(key)
        if history is not None and not history.node:
            history.node = pod.node

    def finish(self) -> tuple[TrackedEviction, ...]:
        """Return the evictions in their order."""
        return tuple(each.finish() for each in self._histories)
