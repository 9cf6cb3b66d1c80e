"""Nodes as pressure rules need them: the names by which samples may identify them, and the owner of their label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct, structs

from restow.kube.objects import Taint

#: Kinds of addresses by which an ``instance`` may name a node, besides its name.
_ADDRESSES: Final = ("InternalIP", "Hostname")
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane")


class NodeAddress(Struct, frozen=True, gc=False):
    """An address of a node."""

    type: str = ""
    address: str = ""


class ManagedFields(Struct, frozen=True, rename="camel"):
    """The fields of an object that one writer owns: an entry of ``managedFields``."""

    manager: str = ""
    fields_v1: Any = None


class NodeMetadata(Struct, frozen=True, rename="camel"):
    """What marks need of a node's metadata."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    managed_fields: tuple[ManagedFields, ...] | None = None


class _Spec(Struct, frozen=True):
    taints: tuple[Taint, ...] | None = None


class _Status(Struct, frozen=True):
    addresses: tuple[NodeAddress, ...] | None = None


class MarkedNode(Struct, frozen=True):
    """A v1 Node, as far as marks go."""

    metadata: NodeMetadata = NodeMetadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def uid(self) -> str:
        """Distinguishes it from an earlier node with the same name."""
        return self.metadata.uid

    @property
    def version(self) -> int:
        """Grows with each change; 0 where the server's versions are no numbers."""
        return comparable(self.metadata.resource_version)


def comparable(version: str) -> int:
    """Return a resource version that can be compared; 0 where it is no number."""
    return int(version) if version.isascii() and version.isdigit() else 0


def markable(nodes: Iterable[MarkedNode]) -> list[MarkedNode]:
    """Return the nodes that rules are about, by name: all but those of the control plane."""
    return sorted((node for node in nodes if not is_control_plane(node)), key=lambda node: node.name)


def index_of(nodes: Iterable[MarkedNode]) -> Mapping[str, int]:
    """Return the position of a node by its name and addresses; what several nodes share is left out."""
    found: dict[str, int] = {}
    shared: set[str] = set()
    for position, node in enumerate(nodes):
        for word in {node.name, *_addresses(node)}:
            if found.setdefault(word, position) != position:
                shared.add(word)
    return {word: position for word, position in found.items() if word not in shared}


def bears_taint(node: MarkedNode, key: str, value: str) -> bool:
    """Whether a node has a soft taint of this key and value."""
    return Taint(key, value, "PreferNoSchedule") in (node.spec.taints or ())


def labels_of(node: MarkedNode, manager: str) -> Mapping[str, str]:
    """Return the labels of a node that a field manager owns."""
    fields = (each.fields_v1 for each in node.metadata.managed_fields or () if each.manager == manager)
    owned = {key.removeprefix("f:") for each in fields for key in _inner(each, "f:metadata", "f:labels")}
    return {key: value for key, value in (node.metadata.labels or {}).items() if key in owned}


def without_other_managers(node: MarkedNode, manager: str) -> MarkedNode:
    """Return a node with the fields of one manager only: those of the others take much memory."""
    kept = tuple(each for each in node.metadata.managed_fields or () if each.manager == manager)
    return structs.replace(node, metadata=structs.replace(node.metadata, managed_fields=kept))


def _inner(fields: Any, *steps: str) -> Mapping[str, Any]:
    for step in steps:
        fields = fields.get(step) if isinstance(fields, dict) else None
    return fields if isinstance(fields, dict) else {}


def _addresses(node: MarkedNode) -> Iterator[str]:
    return (each.address for each in node.status.addresses or () if each.type in _ADDRESSES and each.address)


def is_control_plane(node: MarkedNode) -> bool:
    """Whether a node is of the control plane."""
    return any(role in (node.metadata.labels or {}) for role in _CONTROL_PLANE)
