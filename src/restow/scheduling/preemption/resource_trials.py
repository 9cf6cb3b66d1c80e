"""Dry runs of preemption where nothing but resources is at stake: kept by node, for all pods of one size and priority.

The victims on a node then depend on that node alone. So the nodes are tried out once, all together and in arithmetic,
and again only where a pod or a nomination came or went. Few nodes are tried out one by one: numbers are cheaper there
than arrays. Why the others are no candidates is asked only where no node is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodePart
from restow.cluster.state import ClusterState
from restow.scheduling.framework.extension_points import PASSES, Categories, FilterResult, UsagePlugin
from restow.scheduling.framework.lru_cache import LruCache
from restow.scheduling.framework.nominations import KeptNodes
from restow.scheduling.framework.per_node import PerNode
from restow.scheduling.framework.post_filtering import FoundCandidates
from restow.scheduling.framework.verdicts import PluginRejection
from restow.scheduling.preemption.candidates import KnownCandidates, RankedCandidates
from restow.scheduling.preemption.victims import PotentialVictims, VictimSearch, reprieved, without

#: Priority and resources of a pod.
Size = tuple[int, int]

#: How the trial of a node without potential victims ends; others end with a category.
_NO_VICTIMS = -2
#: With more candidates than this, including past ones, the cache is rebuilt.
_CAPACITY = 500_000
#: Trials are kept for this many sizes of pods.
_SIZES = 64
#: Up to this many nodes are tried out one by one.
_FEW = 8


@dataclass(slots=True)
class _Kept:
    """Candidates for one size, and how much of the log of changes they know."""

    ranked_candidates: RankedCandidates
    read: int
    #: The nodes where budgets have changed since, bool[node].
    stale: BoolArray


class ResourceTrials:
    """The trials on one state."""

    def __init__(
        self,
        state: ClusterState,
        kept_nodes: KeptNodes,
        search: VictimSearch,
        number: Callable[[UsagePlugin, FilterResult], Categories],
    ) -> None:
        self._state = state
        self._kept_nodes = kept_nodes
        self._search = search
        self._number = number
        self._sample: dict[Size, tuple[UsagePlugin, int]] = {}
        self._known = KnownCandidates()
        self._kept: LruCache[Size, _Kept] = LruCache(_SIZES)
        self._ends = PerNode.following(kept_nodes, self._filter_without_victims, _SIZES)
        state.cluster.nodes.follow(NodePart.POSITION, self._forget)
        search.follow(self._expire)

    def run(self, plugin: UsagePlugin, pod: int, wanted: BoolArray) -> FoundCandidates:
        """The candidates among some nodes, bool[node]."""
        return self.ranked_candidates(self._size(plugin, pod)).among(wanted)

    def failures(
        self, plugin: UsagePlugin, pod: int, wanted: BoolArray, rejections: Sequence[PluginRejection], no_victims: str
    ) -> Counter[str]:
        """Count why the wanted nodes are no candidates, by reason; for when none of them is one."""
        reasons: Counter[str] = Counter()
        ends = self._ends.of(self._size(plugin, pod))[wanted]
        for end, count in zip(*np.unique(ends, return_counts=True), strict=True):
            if end != PASSES:
                for reason in (no_victims,) if end == _NO_VICTIMS else rejections[end].outcome.reasons:
                    reasons[reason] += int(count)
        return reasons

    def ranked_candidates(self, size: Size) -> RankedCandidates:
        """The candidates for pods of a size that was asked about before, on the state as it is."""
        if len(self._known) > _CAPACITY:
            self._forget()
        self._search.catch_up()
        now = len(self._kept_nodes.changes)
        kept = self._kept.get(size)
        if kept is None:
            nodes = np.arange(len(self._state.cluster.nodes))
            ranked_candidates = RankedCandidates(self._state.cluster.pods, len(nodes), self._known)
            kept = _Kept(ranked_candidates, now, np.zeros(len(nodes), dtype=bool))
            self._kept.put(size, kept)
        elif kept.stale.any():
            kept.stale[self._kept_nodes.changed_nodes(kept.read)] = True
            nodes = np.flatnonzero(kept.stale)
            kept.stale[:] = False
        elif kept.read == now:
            return kept.ranked_candidates
        else:
            nodes = self._kept_nodes.changed_nodes(kept.read)
        kept.read = now
        self._try_out(size, nodes, kept.ranked_candidates)
        return kept.ranked_candidates

    def _forget(self) -> None:
        self._known, self._kept = KnownCandidates(), LruCache(_SIZES)

    def _expire(self, nodes: IntArray) -> None:
        """Candidates on some nodes violate other budgets than before, so other nodes may be better ones."""
        for kept in self._kept.values():
            kept.stale[nodes] = True

    def _size(self, plugin: UsagePlugin, pod: int) -> Size:
        size = int(self._state.cluster.pods.priority[pod]), plugin.key(pod)
        self._sample[size] = plugin, pod
        return size

    def _try_out(self, size: Size, nodes: IntArray, ranked_candidates: RankedCandidates) -> None:
        potential = self._search.potential(size[0], nodes)
        try_out = self._try_out_one_by_one if len(nodes) <= _FEW else self._try_out_all
        ranked_candidates.replace(nodes, self._search.candidates(potential, try_out(size, potential)))

    def _try_out_one_by_one(self, size: Size, potential: PotentialVictims) -> BoolArray:
        """Which of the potential victims have to go."""
        plugin, pod = self._sample[size]
        running, requested = self._kept_nodes.with_nominated(size[0], potential.nodes)
        victims = np.zeros(len(potential.pods), dtype=bool)
        for position, node in enumerate(potential.nodes.tolist()):
            place = potential.of(position)
            room = plugin.room(pod, node, int(running[position]), requested[:, position])
            victims[place] = room.reprieve(potential.pods[place].tolist())
        return victims

    def _try_out_all(self, size: Size, potential: PotentialVictims) -> BoolArray:
        """Try out all nodes at once."""
        plugin, pod = self._sample[size]
        usage = without(self._state, potential, self._kept_nodes.with_nominated(size[0], potential.nodes))
        return reprieved(self._state, plugin, pod, potential, usage)

    def _filter_without_victims(self, size: Size, nodes: IntArray) -> Categories:
        """What is wrong with some nodes even without all potential victims."""
        plugin, pod = self._sample[size]
        potential = self._search.potential(size[0], nodes)
        usage = without(self._state, potential, self._kept_nodes.with_nominated(size[0], nodes))
        ends = self._number(plugin, plugin.filter_usage(pod, nodes, *usage))
        ends[np.diff(potential.first) == 0] = _NO_VICTIMS
        return ends
