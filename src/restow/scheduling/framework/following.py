"""AddPod and RemovePod: a plugin is called once, and in order, for every pod that comes to a node or leaves one.

That is how a plugin keeps counts of its own up to date with what is placed, moved, tried out and taken back. A row is
not used for another pod before every follower has read what happened to the pod that had it.
"""

from __future__ import annotations

from collections.abc import Callable

from restow.cluster.journal import NodeChange
from restow.cluster.state import ClusterState


class Follower:
    """Reads the changes of one state from now on; ``note`` is called for each pod that came or went."""

    def __init__(self, state: ClusterState, note: Callable[[NodeChange], None]) -> None:
        self._state = state
        self._note = note
        self._read = len(state.changes)
        state.before_rewriting.append(self.catch_up)

    def skip(self) -> None:
        """Skip everything that has happened so far."""
        self._read = len(self._state.changes)

    def catch_up(self) -> None:
        """Call ``note`` for everything that happened since the last time."""
        changes = self._state.changes
        for position in range(self._read, len(changes)):
            if changes[position].present:
                self._note(changes[position])
        self._read = len(changes)
