"""Arrays over all nodes that are judged once for a class of pods and then only where something changed.

This is what makes scheduling by shape fast: a placement changes one node, so the next pod of the same class pays for
one node, not for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.cluster.state import ClusterState

Array = npt.NDArray[Any]


@dataclass(slots=True)
class _Kept:
    """An array over all nodes, and how much of the state's log of changes it knows."""

    values: Array
    read: int


class PerNode:
    """Arrays by key, kept up to date with one state; ``compute(key, nodes)`` gives the values of these nodes."""

    def __init__(self, state: ClusterState, compute: Callable[[Any, IntArray], Array]) -> None:
        self._state = state
        self._compute = compute
        self._kept: dict[Hashable, _Kept] = {}
        self._everywhere: IntArray = np.arange(len(state.cluster.nodes))

    def of(self, key: Hashable) -> Array:
        """The up-to-date values of a key for all nodes; not to be changed by the caller."""
        changes = self._state.changes
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(self._compute(key, self._everywhere), len(changes))
        elif kept.read != len(changes):
            changed = {change.node for change in changes[kept.read :]}
            nodes = np.fromiter(changed, dtype=np.int64, count=len(changed))
            kept.values[nodes] = self._compute(key, nodes)
            kept.read = len(changes)
        return kept.values
