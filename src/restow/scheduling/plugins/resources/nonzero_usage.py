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

_ROWS = {CPU: "cpu", MEMORY: "memory"}


class NonzeroUsage:
    """CPU (milli) and memory (bytes) of one state, kept up to date."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._read = len(state.changes)
        self._requested = self._sums()
        state.before_rewriting.append(self.requested)

    def requested(self) -> npt.NDArray[np.int64]:
        """The sums over the pods that hold resources, int64[CPU and MEMORY, node]; not to be changed."""
        changes, tables = self._state.changes, self._state.cluster.pods.tables
        if self._read != len(changes):
            with np.errstate(over="ignore"):
                for change in changes[self._read :]:
                    if change.present and self._state.holds[change.pod]:
                        held = int(self._state.held[change.pod])
                        amounts = tables.resources[held].nonzero if held >= 0 else tables.held[-1 - held][1]
                        for row, name in _ROWS.items():
                            self._requested[row, change.node] += change.present * amounts.get(name, 0)
            self._read = len(changes)
        return self._requested

    def _sums(self) -> npt.NDArray[np.int64]:
        state = self._state
        placed = np.flatnonzero(state.holds_resources() & (state.node >= 0))
        known, held = np.unique(state.held[placed], return_inverse=True)
        tables = state.cluster.pods.tables
        amounts = [tables.resources[at].nonzero if at >= 0 else tables.held[-1 - at][1] for at in known.tolist()]
        sums = np.zeros((len(_ROWS), len(state.cluster.nodes)), dtype=np.int64)
        for row, name in _ROWS.items():
            of_value = np.array([each.get(name, 0) for each in amounts], dtype=np.int64)
            np.add.at(sums[row], state.node[placed], of_value[held])
        return sums
