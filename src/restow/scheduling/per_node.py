"""Arrays over all nodes that are judged once for a class of pods and then only where something changed.

This is what makes scheduling by shape fast: a placement changes one node, so the next pod of the same class pays for
one node, not for all of them. An array that was handed out never changes: a refreshed one is a copy, so whoever keeps
an answer keeps what was true when it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.cluster.snapshot import Cluster
from restow.scheduling.recent import CAPACITY, Recent

Array = npt.NDArray[Any]


@dataclass(slots=True)
class _Kept:
    """An array over all nodes, and how much of the state's log of changes it knows."""

    values: Array
    read: int


class Watched(Protocol):
    """Something that changes node by node: a ``ClusterState``, for one."""

    @property
    def cluster(self) -> Cluster:
        """The cluster that it is about."""
        ...

    @property
    def changes(self) -> Sized:
        """Everything that changed so far."""
        ...

    def changed_nodes(self, since: int) -> IntArray:
        """The nodes of all changes but the first ``since``."""
        ...


class PerNode:
    """Arrays by key, kept up to date with one state; ``compute(key, nodes)`` gives the values of these nodes.

    Nodes are the last axis of an array. So many arrays are kept as there is ``capacity``.
    """

    def __init__(self, state: Watched, compute: Callable[[Any, IntArray], Array], capacity: int = CAPACITY) -> None:
        self._state = state
        self._compute = compute
        self._kept: Recent[Hashable, _Kept] = Recent(capacity)
        self._everywhere: IntArray = np.arange(len(state.cluster.nodes))

    def of(self, key: Hashable) -> Array:
        """The up-to-date values of a key for all nodes; not to be changed by the caller."""
        now = len(self._state.changes)
        kept = self._kept.get(key)
        if kept is None:
            kept = _Kept(self._compute(key, self._everywhere), now)
            self._kept.put(key, kept)
        elif kept.read != now:
            nodes = self._state.changed_nodes(kept.read)
            values = kept.values.copy()
            values[..., nodes] = self._compute(key, nodes)
            kept.values, kept.read = values, now
        return kept.values
