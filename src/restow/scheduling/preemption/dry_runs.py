"""Dry runs of preemption: which pods a node would have to evict for another one.

A node is tried out without any of its potential victims; if the pod fits then, they return one by one, and those that
do not fit next to it are the victims. What they take of the node is arithmetic. Only *affecting pods*, which some other
plugin looks at, really leave the state and come back; most nodes have none, and those are tried out all at once.
Source: SelectVictimsOnNode, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.journal import NodeChange
from restow.cluster.state import ClusterState
from restow.scheduling.framework.extension_points import PASSES, Categories, FilterPlugin, Room, UsagePlugin
from restow.scheduling.framework.filtering import Filters
from restow.scheduling.framework.local_verdicts import merged
from restow.scheduling.framework.prefiltering import PreFilterResult
from restow.scheduling.preemption.victims import PotentialVictims, reprieved, without

#: Which of the potential victims have to go, and how many nodes fail for which reason even without them.
Result = tuple[BoolArray, Counter[str]]


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
        contested = np.bincount(group, weights=self._affecting_pods[potential.pods], minlength=len(nodes)) > 0
        contested |= np.array([self._filters.is_kept(self._asked.pod, node) for node in nodes.tolist()], dtype=bool)
        victims = np.zeros(len(potential.pods), dtype=bool)
        reasons: Counter[str] = Counter()
        victims[~contested[group]] = self._try_out_all(potential.on(~contested), reasons)
        for position in np.flatnonzero(contested).tolist():
            place = potential.of(position)
            victims[place], category = self._try_out(int(nodes[position]), potential.pods[place])
            if category != PASSES:
                reasons.update(self._filters.rejections[category].outcome.reasons)
        return victims, reasons

    def _find_affecting_pods(self, plugins: Sequence[FilterPlugin]) -> BoolArray:
        affecting_pods = np.zeros(len(self._state.exists), dtype=bool)
        for plugin in plugins:
            found = plugin.affecting_pods(self._asked.pod)
            affecting_pods[slice(None) if found is None else found] = True
        return affecting_pods

    def _try_out_all(self, potential: PotentialVictims, reasons: Counter[str]) -> BoolArray:
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
        for category, count in zip(*np.unique(categories, return_counts=True), strict=True):
            if category != PASSES:
                for reason in self._filters.rejections[category].outcome.reasons:
                    reasons[reason] += int(count)
        victims &= np.repeat(np.equal(categories, PASSES), np.diff(potential.first))
        return victims

    def _try_out(self, node: int, pods: IntArray) -> tuple[list[bool], int]:
        """Try out a node with affecting pods, or one that is kept for other pods: all filters run on the state."""
        asked, state, filters = self._asked, self._state, self._filters
        everyone: list[int] = pods.tolist()
        if filters.is_kept(asked.pod, node):
            trial = NodeTrial(state, node, None, lambda: filters.run_on(asked, node) == PASSES)
            return trial.run(everyone, [True] * len(everyone), lambda: filters.run_on(asked, node))
        affecting_pods: list[bool] = self._affecting_pods[pods].tolist()
        usage = int(state.running[node]), state.requested[:, node]
        room = None if self._by_usage is None else self._by_usage.room(asked.pod, node, *usage)
        trial = NodeTrial(state, node, room, lambda: self._pass_others(node))
        return trial.run(everyone, affecting_pods, lambda: self._filter(node, pods[~self._affecting_pods[pods]]))

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

    def run(
        self, pods: Sequence[int], affecting_pods: Sequence[bool], filter: Callable[[], int]
    ) -> tuple[list[bool], int]:
        """Which pods have to go, asked in this order, and what is wrong even without all of them (``filter``)."""
        mark = self._state.checkpoint()
        for pod, is_affecting in zip(pods, affecting_pods, strict=True):
            self._leave(pod, is_affecting=is_affecting)
        category = filter()
        fits = category == PASSES
        victims = [
            fits and not self._returns(each, is_affecting=is_affecting)
            for each, is_affecting in zip(pods, affecting_pods, strict=True)
        ]
        for pod in pods:
            if not self._state.exists[pod]:
                self._count_staying(pod, 1)
        self._state.undo(mark)
        return victims, category

    def _returns(self, pod: int, *, is_affecting: bool) -> bool:
        """Whether a pod can come back; it is back then."""
        if self._room is not None and not self._room.add_pod(pod):
            return False
        if not is_affecting:
            return True
        self._state.place(pod, self._node)
        self._count_staying(pod, 1)
        if self._passes():
            return True
        self._leave(pod, is_affecting=True)
        return False

    def _leave(self, pod: int, *, is_affecting: bool) -> None:
        if self._room is not None:
            self._room.remove_pod(pod)
        if is_affecting:
            self._state.remove(pod)
            self._count_staying(pod, -1)

    def _count_staying(self, pod: int, staying: int) -> None:
        """Count a pod that comes or goes among those that stay, even if it is on its way out.

        Spread ignores such pods but subtracts them when they are preempted. Source: PodTopologySpread, RemovePod.
        """
        if self._state.terminating[pod]:
            self._state.changes.append(NodeChange(self._node, pod, 0, staying))
