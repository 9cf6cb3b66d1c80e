"""What a ``ClusterState`` records of changes: its journal, and the objects that are neither nodes nor pods.

The journal has changes of nodes for subscribers, and what undoing each change needs. Of other objects each kind has a
version, which shows that it changed without reading its objects; states share what none of them has written, and the
first change of a kind copies its objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from restow.cluster.nodes import NodeRow
from restow.cluster.pods import PodRow
from restow.cluster.snapshot import Key


class NodeChange(NamedTuple):
    """One change of a node."""

    node: int
    #: NO_POD where the node itself changed.
    pod: int
    #: How many pods more are on the node: 1, -1, or 0 where a pod began or ceased to terminate.
    present: int
    #: The same among the pods that are not terminating.
    staying: int
    #: Whether a pod came or went because an earlier change was taken back.
    undone: bool = False


class PodMove(NamedTuple):
    """Where a pod was, and how, before it moved."""

    pod: int
    node: int
    existed: bool
    terminating: bool


class Creation(NamedTuple):
    """A pod came."""

    pod: int


class Deletion(NamedTuple):
    """A pod went, and what was known of it."""

    pod: int
    row: PodRow
    node: int
    terminating: bool


class Update(NamedTuple):
    """What was known of a pod before that changed."""

    pod: int
    row: PodRow
    node: int
    terminating: bool


class NodeCreation(NamedTuple):
    """A node came."""

    node: int


class NodeUpdate(NamedTuple):
    """What was known of a node before that changed."""

    node: int
    row: NodeRow


class NodeDeletion(NamedTuple):
    """A node went, and what was known of it."""

    row: NodeRow


class ObjectEdit(NamedTuple):
    """An object of a kind other than Node and Pod came, changed or went, and what it was before; None where it was not."""

    kind: str
    key: Key
    before: Any


Entry = PodMove | Creation | Deletion | Update | NodeCreation | NodeUpdate | NodeDeletion | ObjectEdit


class OtherObjects:
    """What one state has; it may write what it does not share."""

    __slots__ = ("_own", "_versions", "kinds")

    def __init__(self, kinds: Mapping[str, Mapping[Key, Any]]) -> None:
        #: By kind; ``Cluster.others`` of the state.
        self.kinds: dict[str, Mapping[Key, Any]] = dict(kinds)
        #: The kinds whose objects no other state shares.
        self._own: dict[str, dict[Key, Any]] = {}
        self._versions: Counter[str] = Counter()

    def version(self, kind: str) -> int:
        """Increases each time an object of a kind comes, changes or goes."""
        return self._versions[kind]

    def replace(self, kind: str, key: Key, changed: Any) -> Any:
        """An object is this from now on, or gone (None); returns what it was, None where there was none."""
        if kind not in self._own:
            self._own[kind] = self.kinds[kind] = dict(self.kinds.get(kind, {}))
        known = self._own[kind]
        before = known.get(key)
        if changed is None:
            known.pop(key, None)
        else:
            known[key] = changed
        self._versions[kind] += 1
        return before

    def shared(self) -> OtherObjects:
        """The objects for another state: from now on each of the two copies what it changes."""
        shared = OtherObjects(self.kinds)
        shared._versions = self._versions.copy()
        self._own = {}
        return shared
