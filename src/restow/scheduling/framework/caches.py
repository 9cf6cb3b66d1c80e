"""Answers that are kept for each class of pods, and brought up to date only where something changed.

A placement changes one node, so the next pod of the same class pays for one node, not for all: arrays over nodes
(``PerNode``), and with them the verdicts of *local* plugins, which look at a node and its pods alone, and of the incoming
pod at one thing, its ``key``. An array that was returned never changes: an updated one is a copy, so an answer stays
true for the moment it was given. ``LruCache`` bounds what is kept, however many classes there are. For one node a sum of
Python's numbers takes a tenth of the time of array operations: rules that every placement asks have that form, too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sized
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodePart
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.scheduling.framework.extension_points import (
    PASSES,
    Categories,
    FilterPlugin,
    FilterResult,
    LocalPlugin,
    Scope,
    UsagePlugin,
)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: Arrays over 5,000 nodes take 20 or 40 KB each, so this is some 100 MB at most.
CAPACITY = 2048

Array = npt.NDArray[Any]
#: From this part of the nodes on, it takes no longer to bring an array up to date than to find out what is old of it.
_MANY = 4

#: Up to this many nodes are computed one by one where that is possible.
_FEW = 4

#: The value of a key at one node; None where only array operations give it.
AtNode = Callable[[Any, int], int | None]

#: What numbers the outcomes of a judgement: a category of its own for each node.
Numbering = Callable[[FilterPlugin, FilterResult], Categories]


class LruCache(Generic[K, V]):
    """A dictionary of limited size that forgets what was not asked for longest."""

    __slots__ = ("_capacity", "_values")

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()
        self._capacity = capacity

    def __bool__(self) -> bool:
        return bool(self._values)

    def values(self) -> list[V]:
        """All cached values."""
        return list(self._values.values())

    def get(self, key: K) -> V | None:
        """The value of a key, if it is still there."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Keep a value; the one that was not asked for longest has to go where there is no room."""
        self._values[key] = value
        if len(self._values) > self._capacity:
            self._values.popitem(last=False)


@dataclass(slots=True)
class _Kept:
    """An array over all nodes, and how much of the state's log of changes it knows."""

    values: Array
    read: int
    #: Nodes that changed since they were last computed, bool[node]; None if none did.
    stale: BoolArray | None = None
    #: Whether the array was returned to a caller, so that it must not change.
    is_shared: bool = True


class Watched(Protocol):
    """Something that changes node by node: a ``ClusterState``, for one."""

    @property
    def changes(self) -> Sized:
        """Everything that changed so far."""
        ...

    def changed_nodes(self, since: int) -> IntArray:
        """The nodes where something that arrays depend on changed after the first ``since`` changes."""
        ...


class WatchedCluster(Watched, Protocol):
    """A watched cluster where nodes come and go."""

    @property
    def cluster(self) -> ClusterSnapshot:
        """The cluster as it is."""
        ...


class PerNode:
    """Arrays by key, kept up to date with one state; ``compute(key, nodes)`` gives the values of these nodes.

    There are ``count`` nodes, the last axis of an array. At most ``capacity`` arrays are kept. ``at_node`` gives the same
    values for one node, faster.
    """

    def __init__(
        self,
        state: Watched,
        count: int,
        compute: Callable[[Any, IntArray], Array],
        capacity: int = CAPACITY,
        at_node: AtNode | None = None,
    ) -> None:
        self._state = state
        self._compute = compute
        self._at_node = at_node
        self._capacity = capacity
        self._begin(count)

    def _begin(self, count: int) -> None:
        self._kept: LruCache[Hashable, _Kept] = LruCache(self._capacity)
        self._everywhere: IntArray = np.arange(count)

    @staticmethod
    def following(
        state: WatchedCluster,
        compute: Callable[[Any, IntArray], Array],
        capacity: int = CAPACITY,
        at_node: AtNode | None = None,
    ) -> PerNode:
        """Arrays over the nodes of a state at any time; node positions that change empty the cache."""
        nodes = state.cluster.nodes
        kept = PerNode(state, len(nodes), compute, capacity, at_node)
        nodes.follow(NodePart.POSITION, lambda: kept._begin(len(nodes)))
        return kept

    def of(self, key: Hashable) -> Array:
        """The up-to-date values of a key for all nodes; not to be changed by the caller."""
        kept = self._up_to_date(key)
        kept.is_shared = True
        return kept.values

    def at(self, key: Hashable, nodes: IntArray) -> Array:
        """The up-to-date values of a key for some nodes; what has changed elsewhere is left for later if these are few."""
        if _MANY * len(nodes) > len(self._everywhere):
            of_many: Array = self._up_to_date(key).values.take(nodes, axis=-1)
            return of_many
        kept = self._find(key)
        stale = self._stale(kept)
        if stale is not None:
            late = nodes[stale.take(nodes)]
            if len(late):
                self._update(key, kept, late)
                stale[late] = False
        values: Array = kept.values.take(nodes, axis=-1)
        return values

    def _up_to_date(self, key: Hashable) -> _Kept:
        kept = self._find(key)
        now = len(self._state.changes)
        if kept.stale is not None:
            self._stale(kept)
            self._update(key, kept, kept.stale.nonzero()[0])
            kept.stale = None
        elif kept.read != now:
            self._update(key, kept, self._state.changed_nodes(kept.read))
            kept.read = now
        return kept

    def _find(self, key: Hashable) -> _Kept:
        kept = self._kept.get(key)
        if kept is None:
            kept = _Kept(self._compute(key, self._everywhere), len(self._state.changes))
            self._kept.put(key, kept)
        return kept

    def _stale(self, kept: _Kept) -> BoolArray | None:
        """The nodes that have changed since their values were computed; None where none has."""
        now = len(self._state.changes)
        if kept.read != now:
            if kept.stale is None:
                kept.stale = np.zeros(len(self._everywhere), dtype=bool)
            kept.stale[self._state.changed_nodes(kept.read)] = True
            kept.read = now
        return kept.stale

    def _update(self, key: Hashable, kept: _Kept, nodes: IntArray) -> None:
        if len(nodes) == 0:
            return
        if kept.is_shared:
            kept.values, kept.is_shared = kept.values.copy(), False
        if self._at_node is not None and len(nodes) <= _FEW:
            self._update_one_by_one(self._at_node, key, kept.values, nodes)
        else:
            kept.values[..., nodes] = self._compute(key, nodes)

    def _update_one_by_one(self, at_node: AtNode, key: Hashable, values: Array, nodes: IntArray) -> None:
        for place, node in enumerate(nodes.tolist()):
            value = at_node(key, node)
            if value is None:
                values[..., nodes[place:]] = self._compute(key, nodes[place:])
                return
            values[node] = value


class _NodesAlone:
    """The nodes of a cluster, watched without their pods."""

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self.cluster = cluster

    @property
    def changes(self) -> list[int]:
        """The node of every change since positions last changed."""
        return self.cluster.nodes.written

    def changed_nodes(self, since: int) -> IntArray:
        """The nodes of all changes but the first ``since``, in order."""
        return np.unique(self.changes[since:])


class LocalVerdicts:
    """The verdicts of one local plugin on every node.

    They hold until a pod comes to the node or goes or, where the plugin looks at nodes only (``Scope.NODE``), until the
    node itself changes.
    """

    def __init__(self, state: ClusterState, plugin: LocalPlugin, number: Numbering) -> None:
        self._plugin = plugin
        self._number = number
        #: The pod of each kind that was asked about last; to the plugin all of them are the same.
        self._sample: dict[int, int] = {}
        watched = _NodesAlone(state.cluster) if plugin.scope is Scope.NODE else state
        at_node = partial(self._passes_at, plugin.fits_at) if isinstance(plugin, UsagePlugin) else None
        self._kept = PerNode.following(watched, self._filter, at_node=at_node)

    def of(self, pod: int) -> Categories:
        """The category of every node for a pod on the state as it is; not to be changed, and it does not change."""
        return self._kept.of(self._key(pod))

    def at(self, pod: int, nodes: IntArray) -> Categories:
        """The categories of some nodes."""
        return self._kept.at(self._key(pod), nodes)

    def _key(self, pod: int) -> int:
        key = self._plugin.key(pod)
        self._sample[key] = pod
        return key

    def _filter(self, key: int, nodes: IntArray) -> Categories:
        return self._number(self._plugin, self._plugin.filter(self._sample[key], nodes))

    def _passes_at(self, fits_at: Callable[[int, int], bool], key: int, node: int) -> int | None:
        """The category of a node that passes; where one is rejected, ``_filter`` says for what."""
        return PASSES if fits_at(self._sample[key], node) else None


def merged(layers: list[Categories], count: int) -> Categories:
    """For each of ``count`` nodes the category of the first layer that does not pass it; a new array."""
    result = np.full(count, PASSES, dtype=np.int32)
    for layer in reversed(layers):
        np.copyto(result, layer, where=np.not_equal(layer, PASSES))
    return result
