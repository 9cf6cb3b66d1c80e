"""Dry runs of preemption: which pods a node would have to evict for another one.

A node is tried out without any of its potential victims; if the pod fits then, they return one by one, and those that
do not fit next to it are the victims. Since 1.37 pods of one group may be one victim, with pods on other nodes; only what
those on the node take counts there. What they take of the node is arithmetic. Only *affecting pods*, which some other
plugin looks at, really leave the state and come back; most nodes have none, and those are tried out all at once
(``DryRuns``). Where nothing but resources is at stake, the victims on a node depend on that node alone: they are kept by
node, for all pods of one size and priority (``ResourceTrials``). Source: SelectVictimsOnNode, Kubernetes 1.36 and 1.37.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.journal import NodeChange
from restow.cluster.nodes import NodePart
from restow.cluster.state import ClusterState
from restow.scheduling.framework.caches import LruCache, PerNode, merged
from restow.scheduling.framework.extension_points import (
    PASSES,
    Categories,
    FilterPlugin,
    FilterResult,
    Room,
    UsagePlugin,
)
from restow.scheduling.framework.filtering import Filters
from restow.scheduling.framework.post_filtering import FoundCandidates
from restow.scheduling.framework.prefiltering import PreFilterResult
from restow.scheduling.framework.verdicts import PluginRejection, count_reasons
from restow.scheduling.framework.waiting_pods import KeptNodes
from restow.scheduling.preemption.candidates import KnownCandidates, RankedCandidates
from restow.scheduling.preemption.victim_units import Unit, expanded, separated
from restow.scheduling.preemption.victims import PotentialVictims, VictimSearch, reprieved, without

#: Which of the potential victims have to go, and how many nodes fail for which reason even without them.
Result = tuple[BoolArray, Counter[str]]

#: Priority and resources of a pod.
Size = tuple[int, int]

#: How the trial of a node without potential victims ends; others end with a category.
_NO_VICTIMS = -2
#: With more candidates than this, including past ones, the cache is rebuilt.
CAPACITY = 500_000
#: Trials are kept for this many sizes of pods.
_SIZES = 64
#: Up to this many nodes are tried out one by one.
_FEW = 8


class DryRuns:
    """The trials of all nodes for one pod."""

    def __init__(self, filters: Filters, asked: PreFilterResult) -> None:
        self._state = filters.state
        self._filters = filters
        self._asked = asked
        #: The plugins that look at pods: one that looks at sums only, and the others.
        self._plugins = [each for each in asked.plugins if not filters.is_static(each)]
        self._by_usage = next((each for each in self._plugins if isinstance(each, UsagePlugin)), None)
        self._others = [each for each in self._plugins if each is not self._by_usage]
        self._affecting_pods = self._find_affecting_pods(self._others)

    def run(self, potential: PotentialVictims) -> Result:
        """Try out each node without its potential victims."""
        nodes = potential.nodes
        for plugin in self._others:
            # What it counts must be known before anything is tried.
            plugin.filter(self._asked.pod, nodes)
        group = np.repeat(np.arange(len(nodes)), np.diff(potential.first))
        pods, owner = expanded(potential.pods, potential.units)
        contested = np.bincount(group[owner], weights=self._affecting_pods[pods], minlength=len(nodes)) > 0
        contested |= np.array([self._filters.is_kept(self._asked.pod, node) for node in nodes.tolist()], dtype=bool)
        victims = np.zeros(len(potential.pods), dtype=bool)
        victims[~contested[group]], reasons = self._try_out_all(potential.on(~contested))
        for position in np.flatnonzero(contested).tolist():
            place = potential.of(position)
            everyone = separated(potential.pods[place], potential.units)
            victims[place], category = self._try_out(int(nodes[position]), everyone)
            if category != PASSES:
                reasons.update(self._filters.rejections[category].outcome.reasons)
        return victims, reasons

    def _find_affecting_pods(self, plugins: Sequence[FilterPlugin]) -> BoolArray:
        affecting_pods = np.zeros(len(self._state.exists), dtype=bool)
        for plugin in plugins:
            found = plugin.affecting_pods(self._asked.pod)
            affecting_pods[slice(None) if found is None else found] = True
        return affecting_pods

    def _try_out_all(self, potential: PotentialVictims) -> Result:
        """Try out nodes without affecting pods, where the verdicts of the other plugins do not change."""
        pod, nodes = self._asked.pod, potential.nodes
        victims = np.zeros(len(potential.pods), dtype=bool)
        layers: list[Categories] = []
        for plugin in self._plugins:
            if plugin is self._by_usage:
                usage = without(self._state, potential, (self._state.running[nodes], self._state.requested[:, nodes]))
                result = self._by_usage.filter_usage(pod, nodes, *usage)
                victims = reprieved(self._state, self._by_usage, pod, potential, usage)
            else:
                result = plugin.filter(pod, nodes)
            layers.append(self._filters.numbered(plugin, result))
        categories = merged(layers, len(nodes))
        passes = np.equal(categories, PASSES)
        victims &= np.repeat(passes, np.diff(potential.first))
        return victims, count_reasons(categories[~passes], self._filters.rejections)

    def _try_out(self, node: int, everyone: Sequence[Unit]) -> tuple[list[bool], int]:
        """Try out a node with affecting pods, or one that is kept for other pods: all filters run on the state."""
        asked, state, filters = self._asked, self._state, self._filters
        pods = np.array([pod for unit in everyone for pod in unit], dtype=np.int64)
        if filters.is_kept(asked.pod, node):
            trial = NodeTrial(state, node, None, lambda: filters.run_on(asked, node) == PASSES)
            return trial.run(everyone, pods.tolist(), lambda: filters.run_on(asked, node))
        is_affecting = self._affecting_pods[pods]
        usage = int(state.running[node]), state.requested[:, node]
        room = None if self._by_usage is None else self._by_usage.room(asked.pod, node, *usage)
        trial = NodeTrial(state, node, room, lambda: self._pass_others(node))
        leaving = pods[~is_affecting & (state.node[pods] == node)]
        return trial.run(everyone, pods[is_affecting].tolist(), lambda: self._filter(node, leaving))

    def _pass_others(self, node: int) -> bool:
        nodes: IntArray = np.array([node])
        return all(bool(plugin.filter(self._asked.pod, nodes).passes[0]) for plugin in self._others)

    def _filter(self, node: int, leaving: IntArray) -> int:
        """The category of the first rejection of a node that some pods leave without leaving the state."""
        nodes: IntArray = np.array([node])
        running = self._state.running[nodes] - len(leaving)
        requested = self._state.requested[:, nodes]
        requested -= self._state.request_vectors()[self._state.held[leaving]].sum(axis=0)[:, None]
        for plugin in self._plugins:
            if plugin is self._by_usage:
                result = self._by_usage.filter_usage(self._asked.pod, nodes, running, requested)
            else:
                result = plugin.filter(self._asked.pod, nodes)
            category = int(self._filters.numbered(plugin, result)[0])
            if category != PASSES:
                return category
        return PASSES


class NodeTrial:
    """One node under trial: affecting pods leave the state and come back, other pods only take room."""

    def __init__(self, state: ClusterState, node: int, room: Room | None, passes: Callable[[], bool]) -> None:
        self._state = state
        self._node = node
        #: None if the state alone shows whether there is room.
        self._room = room
        #: Whether the pod passes with the affecting pods that are there.
        self._passes = passes
        #: Where the affecting pods are.
        self._homes: dict[int, int] = {}
        #: The pods that take room here.
        self._residents: set[int] = set()

    def run(
        self, victims: Sequence[Unit], affecting_pods: Iterable[int], filter: Callable[[], int]
    ) -> tuple[list[bool], int]:
        """Which victims have to go, asked in this order, and what is wrong even without all of them (``filter``)."""
        mark = self._state.checkpoint()
        self._homes = {pod: int(self._state.node[pod]) for pod in affecting_pods}
        self._residents = {pod for unit in victims for pod in unit if self._state.node[pod] == self._node}
        for unit in victims:
            self._leave(unit)
        category = filter()
        fits = category == PASSES
        going = [fits and not self._returns(unit) for unit in victims]
        for pod in self._homes:
            if not self._state.exists[pod]:
                self._count_staying(pod, 1)
        self._state.undo(mark)
        return going, category

    def _returns(self, unit: Unit) -> bool:
        """Whether a victim can come back; it is back then."""
        if not self._takes_room(unit):
            return False
        affecting = [pod for pod in unit if pod in self._homes]
        for pod in affecting:
            self._state.place(pod, self._homes[pod])
            self._count_staying(pod, 1)
        if not affecting or self._passes():
            return True
        self._leave(unit)
        return False

    def _takes_room(self, unit: Unit) -> bool:
        """Whether there is room for all pods of a victim; they take it then."""
        if self._room is None:
            return True
        residents = [pod for pod in unit if pod in self._residents]
        for at, pod in enumerate(residents):
            if not self._room.add_pod(pod):
                for back in residents[:at]:
                    self._room.remove_pod(back)
                return False
        return True

    def _leave(self, unit: Unit) -> None:
        for pod in unit:
            if self._room is not None and pod in self._residents:
                self._room.remove_pod(pod)
            if pod in self._homes:
                self._state.remove(pod)
                self._count_staying(pod, -1)

    def _count_staying(self, pod: int, staying: int) -> None:
        """Count a pod that comes or goes among those that stay, even if it is on its way out.

        Spread ignores such pods but subtracts them when they are preempted. Source: PodTopologySpread, RemovePod.
        """
        if self._state.terminating[pod]:
            self._state.changes.append(NodeChange(self._homes[pod], pod, 0, staying))


@dataclass(slots=True)
class _Kept:
    """Candidates for one size, and how much of the log of changes they know."""

    ranked_candidates: RankedCandidates
    read: int
    #: The nodes where budgets have changed since, bool[node].
    stale: BoolArray


class ResourceTrials:
    """The trials on one state of pods that only resources keep out.

    Nodes are tried out once, all together and in arithmetic, and again only where a pod or a nomination came or went. Few
    nodes are tried out one by one: numbers are cheaper there than arrays. Why the others are no candidates is asked only
    where no node is one.
    """

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
        self._ends = self._no_ends()
        state.cluster.nodes.follow(NodePart.POSITION, self._forget)
        search.follow(self._expire)

    def run(self, plugin: UsagePlugin, pod: int, wanted: BoolArray) -> FoundCandidates:
        """The candidates among some nodes, bool[node]."""
        return self.ranked_candidates(self._size(plugin, pod)).among(wanted)

    def failures(
        self, plugin: UsagePlugin, pod: int, wanted: BoolArray, rejections: Sequence[PluginRejection], no_victims: str
    ) -> Counter[str]:
        """Count why the wanted nodes are no candidates, by reason; for when none of them is one."""
        ends = self._ends.of(self._size(plugin, pod))[wanted]
        reasons = count_reasons(ends[ends >= 0], rejections)
        reasons[no_victims] += int(np.count_nonzero(ends == _NO_VICTIMS))
        return reasons

    def ranked_candidates(self, size: Size) -> RankedCandidates:
        """The candidates for pods of a size that was asked about before, on the state as it is."""
        if len(self._known) > CAPACITY:
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
        self._known, self._kept, self._ends = KnownCandidates(), LruCache(_SIZES), self._no_ends()

    def _no_ends(self) -> PerNode:
        return PerNode(self._kept_nodes, len(self._state.cluster.nodes), self._filter_without_victims, _SIZES)

    def _expire(self, nodes: IntArray) -> None:
        """Victims on some nodes violate other budgets than before, or are others; on all nodes, priorities may be others."""
        if len(nodes) == len(self._state.cluster.nodes):
            self._forget()
        for kept in self._kept.values():
            kept.stale[nodes] = True

    def _size(self, plugin: UsagePlugin, pod: int) -> Size:
        size = int(self._state.cluster.pods.priority[pod]), plugin.key(pod)
        self._sample[size] = plugin, pod
        return size

    def _try_out(self, size: Size, nodes: IntArray, ranked_candidates: RankedCandidates) -> None:
        potential = self._search.potential(size[0], nodes)
        is_one_by_one = len(nodes) <= _FEW and not potential.units
        try_out = self._try_out_one_by_one if is_one_by_one else self._try_out_all
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
