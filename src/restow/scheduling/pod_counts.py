"""How many pods of a kind are on each node, kept up to date as pods come and go.

Spread constraints and affinity terms ask one question over and over: how many pods of this namespace with these labels
are on each node? A *tracker* is the set of those pods; it is found once through the label index, counted once, and from
then on follows the state's log of changes. A change costs as much as there are trackers that its pod belongs to, so
15,000 trackers are as cheap as one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.cluster.state import ClusterState

Counts = npt.NDArray[np.int64]


@dataclass(slots=True, frozen=True)
class Tracker:
    """One set of pods, counted per node; read-only for everyone but ``PodCounts``."""

    #: All pods of the set, wherever they are, sorted.
    members: IntArray
    #: Members on each node, int64[node]: those that hold resources...
    present: Counts
    #: ...and those among them that are not terminating.
    staying: Counts


class PodCounts:
    """The trackers of one state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._trackers: dict[Hashable, Tracker] = {}
        self._of_pod: dict[int, list[Tracker]] = defaultdict(list)
        self._read = len(state.changes)

    def tracker(self, key: Hashable, members: Callable[[], IntArray]) -> Tracker:
        """The up-to-date tracker of a key; ``members`` finds its pods at the first question."""
        self._catch_up()
        known = self._trackers.get(key)
        if known is None:
            known = self._trackers[key] = self._track(members())
        return known

    def counts(self, pod: int) -> bool:
        """Whether a pod belongs to any tracker, so that it matters to those who count where it is."""
        return bool(self._of_pod.get(pod))

    def validate(self) -> None:
        """Recount every tracker from nothing and compare; AssertionError where one differs."""
        self._catch_up()
        for key, tracker in self._trackers.items():
            fresh = self._counted(tracker.members)
            assert np.array_equal(fresh.present, tracker.present), f"present of {key} differs from the pods"
            assert np.array_equal(fresh.staying, tracker.staying), f"staying of {key} differs from the pods"

    def _track(self, members: IntArray) -> Tracker:
        tracker = self._counted(members)
        # Pods that are over hold nothing wherever they are, though the state's log tells when they come and go.
        for pod in members[~self._state.cluster.pods.terminal[members]].tolist():
            self._of_pod[pod].append(tracker)
        return tracker

    def _counted(self, members: IntArray) -> Tracker:
        state = self._state
        placed = members[state.holds_resources()[members] & (state.node[members] >= 0)]
        staying = placed[~state.terminating[placed]]
        count = len(state.cluster.nodes)
        return Tracker(
            members=members,
            present=np.bincount(state.node[placed], minlength=count),
            staying=np.bincount(state.node[staying], minlength=count),
        )

    def _catch_up(self) -> None:
        changes = self._state.changes
        if self._read == len(changes):
            return
        for change in changes[self._read :]:
            for tracker in self._of_pod.get(change.pod, ()):
                tracker.present[change.node] += change.present
                tracker.staying[change.node] += change.staying
        self._read = len(changes)
