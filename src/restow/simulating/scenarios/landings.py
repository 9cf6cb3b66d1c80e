"""Where evicted pods landed: which pods replaced them, and on which nodes these are."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from restow.simulating.scenarios.observations import Observation, ObservedPod, PodKey
from restow.simulating.scenarios.references import Reference

#: moved: the replacement is on another node. returned: it is on the node that the pod had left. waiting: it had no node
#: when the run ended. unreplaced: none was made.
Landing = Literal["moved", "returned", "waiting", "unreplaced"]


@dataclass(slots=True)
class TrackedEviction:
    """An eviction, and where the pod's replacement landed; ``time`` is nanoseconds since the start of the run."""

    time: int
    pod: ObservedPod
    by: tuple[str, ...]
    #: Whether the pod was itself the replacement of an evicted one.
    is_again: bool
    #: The replacement and its node, as far as there are any.
    replacement: str = ""
    node: str = ""

    @property
    def landing(self) -> Landing:
        """Where the replacement has landed so far."""
        if not self.replacement:
            return "unreplaced"
        if not self.node:
            return "waiting"
        return "returned" if self.node == self.pod.node else "moved"


@dataclass(slots=True)
class LandingTracker:
    """Follows all evictions of a run: which pods replaced the evicted ones, and on which nodes.

    A controller replaces a pod by a new one of another name, so a replacement is recognised by its controller: the next
    pod that this one creates replaces the pod of it that was evicted first and is not replaced yet.
    """

    _histories: list[TrackedEviction] = field(default_factory=list)
    #: By controller, those whose replacements have not come yet.
    _expected: defaultdict[Reference, deque[TrackedEviction]] = field(default_factory=lambda: defaultdict(deque))
    #: The replacements that are there.
    _replacing: dict[PodKey, TrackedEviction] = field(default_factory=dict)

    def take(self, observation: Observation, known: Mapping[PodKey, ObservedPod]) -> None:
        """Apply an observation, given the pods as they were before."""
        for eviction in observation.evictions:
            is_again = eviction.pod.key in self._replacing
            history = TrackedEviction(observation.time, eviction.pod, eviction.by, is_again)
            self._histories.append(history)
            if eviction.replacement:
                self._replaced_first(history, (eviction.pod.namespace, eviction.replacement), known)
            elif eviction.pod.controllers:
                self._expected[eviction.pod.controllers[0]].append(history)
        for key, pod in observation.pods.items():
            if pod is None:
                self._replacing.pop(key, None)
            else:
                self._see(key, pod, is_new=key not in known)

    def _replaced_first(self, history: TrackedEviction, key: PodKey, known: Mapping[PodKey, ObservedPod]) -> None:
        history.replacement = key[1]
        history.node = known[key].node if key in known else ""
        self._replacing[key] = history

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
        return tuple(self._histories)
