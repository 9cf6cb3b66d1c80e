"""Arrays over all nodes, computed once for a class of pods and then updated only where something changed.

This makes scheduling by shape fast: a placement changes one node, so the next pod of the same class pays for one node,
not for all. Asking about some nodes updates only those of them that have changed.

An array that was returned never changes: an updated one is a copy, so an answer stays true for the moment it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodePart
from restow.cluster.snapshot import ClusterSnapshot
from restow.scheduling.framework.lru_cache import CAPACITY, LruCache

Array = npt.NDArray[Any]
#: From this part of the nodes on, it takes no longer to bring an array up to date than to find out what is old of it.
_MANY = 4


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

    There are ``count`` nodes, the last axis of an array. At most ``capacity`` arrays are kept.
    """

    def __init__(
        self, state: Watched, count: int, compute: Callable[[Any, IntArray], Array], capacity: int = CAPACITY
    ) -> None:
        self._state = state
        self._compute = compute
        self._capacity = capacity
        self._begin(count)

    def _begin(self, count: int) -> None:
        self._kept: LruCache[Hashable, _Kept] = LruCache(self._capacity)
        self._everywhere: IntArray = np.arange(count)

    @staticmethod
    def following(
        state: WatchedCluster, compute: Callable[[Any, IntArray], Array], capacity: int = CAPACITY
    ) -> PerNode:
        """Arrays over the nodes of a state at any time; node positions that change empty the cache."""
        nodes = state.cluster.nodes
        kept = PerNode(state, len(nodes), compute, capacity)
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
        kept.values[..., nodes] = self._compute(key, nodes)
