"""The marks of nodes: which exist, which are ours, and how to write one without overwriting those of others.

A label is written by server-side apply: its field manager shows every later process which labels are restow's. Taints
have no owners of their own, since their list has one; a soft taint with our key and value counts as ours. A patch
contains the node's uid, or it would create a node that has just been deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from restow.client import objects
from restow.client.objects import PatchKind, adding_taint, removing_taint
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Permit
from restow.kube.objects import Taint
from restow.pressure.nodes import MarkedNode, bears_taint, comparable, labels_of

#: Who writes the marks, in ``managedFields``.
FIELD_MANAGER: Final = "restow-pressure"
_NODE: Final = RESOURCES["Node"]
_EFFECT: Final = "PreferNoSchedule"

#: What happens to a mark: it is set, kept or cleared; it belongs to another program; or there is none.
Change = Literal["set", "keep", "clear", "foreign", "none"]


@dataclass(slots=True, frozen=True)
class Mark:
    """The key and value of label and taint."""

    key: str = "status"
    value: str = "presure"

    @property
    def taint(self) -> Taint:
        """The mark as a taint."""
        return Taint(self.key, self.value, _EFFECT)


class _Applied(Struct, frozen=True, rename="camel"):
    """A Node as it is sent in an apply request, and returned."""

    metadata: dict[str, Any]
    api_version: str = "v1"
    kind: str = "Node"


def is_labelled(node: MarkedNode, mark: Mark) -> bool:
    """Whether a node has our label; one that another program wrote is not ours."""
    return labels_of(node, FIELD_MANAGER).get(mark.key) == mark.value


def is_tainted(node: MarkedNode, mark: Mark) -> bool:
    """Whether a node has the taint, no matter which program set it."""
    return bears_taint(node, mark.key, mark.value)


def label_change(node: MarkedNode, mark: Mark, *, wanted: bool) -> Change:
    """Return what happens to a node's label."""
    if is_labelled(node, mark):
        return "keep" if wanted else "clear"
    value = (node.metadata.labels or {}).get(mark.key)
    if is_foreign(node, mark) and (wanted or value == mark.value):
        return "foreign"
    return "set" if wanted else "none"


def taint_change(node: MarkedNode, mark: Mark, *, wanted: bool) -> Change:
    """Return what happens to a node's taint."""
    if is_tainted(node, mark):
        return "keep" if wanted else "clear"
    return "set" if wanted else "none"


def is_foreign(node: MarkedNode, mark: Mark) -> bool:
    """Whether another program has written a label with the mark's key, with any value."""
    return mark.key in (node.metadata.labels or {}) and mark.key not in labels_of(node, FIELD_MANAGER)


def labels_wanted(node: MarkedNode, mark: Mark, *, wanted: bool) -> Mapping[str, str]:
    """Return all labels of ours that a node should have; others of ours are removed."""
    return {mark.key: mark.value} if wanted and not is_foreign(node, mark) else {}


async def write_labels(api: Api, node: MarkedNode, labels: Mapping[str, str], permit: Permit) -> int:
    """Make these the labels that are ours; returns the node's new version.

    Conflict if another program owns one of them by now, or if the node is a new one with the same name.
    """
    body = _Applied({"name": node.name, "uid": node.uid, "labels": labels})
    applied = await objects.apply(api, _NODE, "", node.name, body, manager=FIELD_MANAGER, permit=permit)
    return comparable(applied.metadata.get("resourceVersion", ""))


async def write_taint(api: Api, node: MarkedNode, mark: Mark, permit: Permit, *, wanted: bool) -> int:
    """Add or remove the taint; returns the node's version then. ``objects.is_outdated`` where the taints changed."""
    taints = node.spec.taints or ()
    fields = {name: value for name, value in msgspec.structs.asdict(mark.taint).items() if value}
    own = {"op": "test", "path": "/metadata/uid", "value": node.uid}
    change = (
        adding_taint(fields, is_tainted=bool(taints)) if wanted else removing_taint(taints.index(mark.taint), fields)
    )
    answer = await objects.patch(api, _NODE, "", node.name, [own, *change], kind=PatchKind.JSON, permit=permit)
    return msgspec.json.decode(answer, type=MarkedNode).version
