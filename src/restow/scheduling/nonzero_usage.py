"""What nodes are used by to the eyes of scores: containers that request no CPU or memory count as 100m and 200Mi.

Only scoring asks for it, so it follows the state's log of changes from here instead of weighing on every change.
Sums that no int64 holds wrap around, as Go's do.
Source: NodeInfo.NonZeroRequested, Kubernetes 1.36.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restow.cluster.nodes import CPU, MEMORY
from restow.cluster.state import ClusterState

_ROWS = (CPU, MEMORY)


class NonzeroUsage:
    """CPU (milli) and memory (bytes) of one state, kept up to date."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        tables = state.cluster.pods.tables
        amounts = [each.nonzero for each in tables.resources] + [nonzero for _, nonzero in tables.held]
        self._vectors = [(each.get("cpu", 0), each.get("memory", 0)) for each in amounts]
        self._holds = ~state.cluster.pods.terminal
        self._read = len(state.changes)
        self._requested = self._sums()

    def requested(self) -> npt.NDArray[np.int64]:
        """The sums over the pods that hold resources, int64[CPU and MEMORY, node]; not to be changed."""
        changes = self._state.changes
        if self._read != len(changes):
            column = self._state.held
            with np.errstate(over="ignore"):
                for change in changes[self._read :]:
                    if change.present and self._holds[change.pod]:
                        for row, amount in zip(_ROWS, self._vectors[column[change.pod]], strict=True):
                            self._requested[row, change.node] += change.present * amount
            self._read = len(changes)
        return self._requested

    def _sums(self) -> npt.NDArray[np.int64]:
        state = self._state
        placed = np.flatnonzero(state.holds_resources() & (state.node >= 0))
        vectors = np.array(self._vectors, dtype=np.int64).reshape(-1, len(_ROWS))[state.held[placed]]
        sums = np.zeros((len(_ROWS), len(state.cluster.nodes)), dtype=np.int64)
        for row in _ROWS:
            np.add.at(sums[row], state.node[placed], vectors[:, row])
        return sums
