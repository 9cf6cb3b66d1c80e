"""The objects of a state other than its pods, brought up to date with a store.

What watches say is compared with what the state has: an event that arrives twice, late or never leads to the same state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from restow.cluster.node_store import ReadNode
from restow.cluster.snapshot import ClusterStore, Key
from restow.cluster.state import ClusterState
from restow.scheduling.cycle.cycle import ObjectChange


class FollowedObjects:
    """The nodes and other objects of a state that was made of what a store holds."""

    def __init__(self, state: ClusterState, store: ClusterStore) -> None:
        self._state = state
        #: As the state has them, by name.
        self.nodes: dict[str, ReadNode] = {
            name: read for name in state.cluster.nodes.names if (read := store.node(name)) is not None
        }

    def changes(self, store: ClusterStore, kind: str, keys: Iterable[Key]) -> Iterator[ObjectChange]:
        """Those of a kind other than Pod that differ from what the state has."""
        known = self._state.cluster.kind(kind)
        for key in sorted(keys):
            before = self.nodes.get(key[1]) if kind == "Node" else known.get(key)
            after = store.node(key[1]) if kind == "Node" else store.other(kind, *key)
            if before != after:
                yield ObjectChange(kind, key, before, after)

    def apply(self, change: ObjectChange) -> int | None:
        """Let the state have a change; returns the index of a node that has come, None for anything else."""
        state, name = self._state, change.key[1]
        if change.kind != "Node":
            state.put(change.kind, change.key, change.after)
            return None
        if change.after is None:
            state.delete_node(state.cluster.nodes.index[name])
            del self.nodes[name]
            return None
        self.nodes[name] = change.after
        if change.before is None:
            return state.create_node(change.after.row)
        state.update_node(state.cluster.nodes.index[name], change.after.row)
        return None
