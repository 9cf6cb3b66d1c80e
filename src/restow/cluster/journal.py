"""The journal of a state: changes of nodes for subscribers, and what undoing each change needs."""

from __future__ import annotations

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
