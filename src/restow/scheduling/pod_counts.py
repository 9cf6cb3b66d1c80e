"""How many pods of a kind are in each topology domain, kept up to date as pods come and go.

Spread constraints and affinity terms ask one question over and over: how many pods of this namespace with these labels
are in each zone, or on each node? A *tracker* is the set of those pods, found once through the label index. It is
counted over a topology when somebody asks, and follows the state's log of changes from then on. A change costs as much
as there are trackers that its pod belongs to, so 15,000 trackers are as cheap as one; of counts over many domains only
those that were asked for last are kept.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.cluster.state import ClusterState
from restow.scheduling.topology import NO_DOMAIN, Domains

Counts = npt.NDArray[np.int32]

#: How many numbers all counts together may have: 100 MB.
_CAPACITY = 25_000_000


@dataclass(slots=True)
class Count:
    """The pods of a tracker by domain."""

    #: The domain of each node, as a list: it is looked up node by node.
    of_node: list[int]
    #: Those that hold resources, int32[domain]; nothing for NO_DOMAIN...
    present: Counts
    #: ...and those among them that are not terminating.
    staying: Counts
    #: Changes whenever a number does.
    version: int = 0


@dataclass(slots=True, eq=False)
class Tracker:
    """One set of pods."""

    #: All pods of the set, wherever they are, sorted.
    members: IntArray
    #: What is kept of it, by topology.
    counts: dict[Domains, Count] = field(default_factory=dict)


class PodCounts:
    """The trackers of one state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._over = state.cluster.pods.terminal
        self._trackers: dict[Hashable, Tracker] = {}
        self._of_pod: dict[int, list[Tracker]] = defaultdict(list)
        self._read = len(state.changes)
        self._kept: OrderedDict[tuple[Tracker, Domains], None] = OrderedDict()
        self._size = 0

    def tracker(self, key: Hashable, members: Callable[[], IntArray]) -> Tracker:
        """The tracker of a key; ``members`` finds its pods at the first question."""
        known = self._trackers.get(key)
        if known is None:
            known = self._trackers[key] = self._track(members())
        return known

    def count(self, tracker: Tracker, domains: Domains) -> Count:
        """The pods of a tracker by domain, on the state as it is; read-only, and it changes with the state."""
        if self._read != len(self._state.changes):
            self._catch_up()
        known = tracker.counts.get(domains)
        if known is None:
            known = tracker.counts[domains] = self._counted(tracker.members, domains)
            self._keep(tracker, domains)
        else:
            self._kept.move_to_end((tracker, domains))
        return known

    def counts(self, pod: int) -> bool:
        """Whether a pod belongs to any tracker, so that it matters to those who count where it is."""
        return bool(self._of_pod.get(pod))

    def validate(self) -> None:
        """Recount every tracker from nothing and compare; AssertionError where one differs."""
        self._catch_up()
        for key, tracker in self._trackers.items():
            for domains, count in tracker.counts.items():
                fresh = self._counted(tracker.members, domains)
                assert np.array_equal(fresh.present, count.present), f"present of {key} differs from the pods"
                assert np.array_equal(fresh.staying, count.staying), f"staying of {key} differs from the pods"

    def _track(self, members: IntArray) -> Tracker:
        tracker = Tracker(members)
        # Pods that are over hold nothing wherever they are, though the state's log tells when they come and go.
        for pod in members[~self._over[members]].tolist():
            self._of_pod[pod].append(tracker)
        return tracker

    def _counted(self, members: IntArray, domains: Domains) -> Count:
        state = self._state
        placed = members[state.exists[members] & (state.node[members] >= 0) & ~self._over[members]]
        found = domains.of_node[state.node[placed]]
        present = np.bincount(found, minlength=domains.count).astype(np.int32)
        staying = present.copy()
        np.subtract.at(staying, found[state.terminating[placed]], 1)
        present[NO_DOMAIN] = staying[NO_DOMAIN] = 0
        return Count(domains.listed, present, staying)

    def _keep(self, tracker: Tracker, domains: Domains) -> None:
        """Make room for a count; those that were not asked for longest are forgotten."""
        self._kept[tracker, domains] = None
        self._size += 2 * domains.count
        while self._size > _CAPACITY and len(self._kept) > 1:
            (oldest, over), _ = self._kept.popitem(last=False)
            del oldest.counts[over]
            self._size -= 2 * over.count

    def _catch_up(self) -> None:
        changes = self._state.changes
        for change in changes[self._read :]:
            for tracker in self._of_pod.get(change.pod, ()):
                for count in tracker.counts.values():
                    domain = count.of_node[change.node]
                    if domain != NO_DOMAIN:
                        count.present[domain] += change.present
                        count.staying[domain] += change.staying
                        count.version += 1
        self._read = len(changes)
