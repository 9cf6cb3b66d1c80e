"""The verdicts of *local* plugins, kept for each kind of pods.

A local plugin looks at a node and the pods on it alone, and of the incoming pod at one thing (its ``key``), so that
its verdicts hold until a node changes - or for good, where it looks at the node only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.nodes import NodePart
from restow.cluster.state import ClusterState
from restow.scheduling.framework.extension_points import (
    PASSES,
    Categories,
    FilterPlugin,
    FilterResult,
    LocalPlugin,
    Scope,
)
from restow.scheduling.framework.lru_cache import LruCache
from restow.scheduling.framework.per_node import PerNode

#: What numbers the outcomes of a judgement: a category of its own for each node.
Numbering = Callable[[FilterPlugin, FilterResult], Categories]


class LocalVerdicts(Protocol):
    """The verdicts of one plugin on every node."""

    def of(self, pod: int) -> Categories:
        """The category of every node for a pod on the state as it is; not to be changed, and it does not change."""
        ...

    def at(self, pod: int, nodes: IntArray) -> Categories:
        """The categories of some nodes."""
        ...


def local_verdicts(state: ClusterState, plugin: LocalPlugin, number: Numbering) -> LocalVerdicts:
    """The verdicts of a local plugin on one state."""
    kind = _Lasting if plugin.scope is Scope.NODE else _Following
    return kind(state, plugin, number)


class _Following:
    """Verdicts that follow what happens on the nodes."""

    def __init__(self, state: ClusterState, plugin: LocalPlugin, number: Numbering) -> None:
        self._plugin = plugin
        self._number = number
        #: The pod of each kind that was asked about last; to the plugin all of them are the same.
        self._sample: dict[int, int] = {}
        self._kept = PerNode.following(state, self._filter)

    def of(self, pod: int) -> Categories:
        key = self._plugin.key(pod)
        self._sample[key] = pod
        return self._kept.of(key)

    def at(self, pod: int, nodes: IntArray) -> Categories:
        key = self._plugin.key(pod)
        self._sample[key] = pod
        return self._kept.at(key, nodes)

    def _filter(self, key: int, nodes: IntArray) -> Categories:
        return self._number(self._plugin, self._plugin.filter(self._sample[key], nodes))


@dataclass(slots=True)
class _Judged:
    """The verdict on every node, and how many changes of nodes it knows."""

    categories: Categories
    read: int


class _Lasting:
    """Verdicts that nothing on the nodes can change: they hold until the nodes themselves do."""

    def __init__(self, state: ClusterState, plugin: LocalPlugin, number: Numbering) -> None:
        self._plugin = plugin
        self._number = number
        self._nodes = state.cluster.nodes
        self._known: LruCache[int, _Judged] = LruCache()
        self._nodes.follow(NodePart.POSITION, self._forget)

    def of(self, pod: int) -> Categories:
        key = self._plugin.key(pod)
        known = self._known.get(key)
        if known is None:
            categories = self._judge(pod, np.arange(len(self._nodes)))
            known = _Judged(categories, len(self._nodes.written))
            self._known.put(key, known)
        elif known.read != len(self._nodes.written):
            changed = np.unique(self._nodes.written[known.read :])
            known.categories = known.categories.copy()
            known.categories[changed] = self._judge(pod, changed)
            known.read = len(self._nodes.written)
        return known.categories

    def _judge(self, pod: int, nodes: IntArray) -> Categories:
        return self._number(self._plugin, self._plugin.filter(pod, nodes))

    def _forget(self) -> None:
        self._known = LruCache()

    def at(self, pod: int, nodes: IntArray) -> Categories:
        categories: Categories = self.of(pod)[nodes]
        return categories


def merged(layers: list[Categories], count: int) -> Categories:
    """For each of ``count`` nodes the category of the first layer that does not pass it; a new array."""
    result = np.full(count, PASSES, dtype=np.int32)
    for layer in reversed(layers):
        np.copyto(result, layer, where=np.not_equal(layer, PASSES))
    return result
