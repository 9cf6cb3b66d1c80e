"""Nodes as pressure rules need them: the names by which samples may identify them, the owner of their label, and a watch.

Nodes stay known while the watch is interrupted: a mark is written with the node's uid, so an old list does no harm. A
watch may be silent for a minute; in doubt, the API server is asked for its version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from msgspec import Struct, structs

from restow.client.errors import Forbidden, missing_right
from restow.client.flow_control import BackOff
from restow.client.listing import all_objects
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.client.watching import Changed, Current, Interrupted, Listed, Removed, WatchEvent, follow
from restow.errors import ClientError
from restow.kube.objects import Taint, Unreadable
from restow.plain_text import printable

#: Kinds of addresses by which an ``instance`` may name a node, besides its name.
_ADDRESSES: Final = ("InternalIP", "Hostname")
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane")
#: Seconds of silence after which a watch, which brings a bookmark each minute, is in doubt.
_SILENCE: Final = 75.0
#: Pauses between tries where nodes may not be listed: rights may be changed at any time.
_REFUSED: Final = BackOff(first=1.0, cap=30.0)


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


#: The nodes of a cluster, of which only what marks need is decoded.
NODES: Final = structs.replace(RESOURCES["Node"], type=MarkedNode)


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


async def list_nodes(api: Api) -> tuple[list[MarkedNode], list[str]]:
    """List the nodes of a cluster, as far as samples and marks go; a sentence for each that cannot be read and is left out."""
    nodes = await all_objects(api, NODES)
    unreadable = [each for each in nodes if isinstance(each, Unreadable)]
    sentences = [f"node {each.metadata.name} cannot be read: {each.why}" for each in unreadable]
    return [each for each in nodes if not isinstance(each, Unreadable)], sentences


def refusal(error: ClientError, verbs: Sequence[str]) -> str:
    """Return why nodes cannot be listed or written: the rule that is missing, or the error's own words."""
    return missing_right(error, NODES, verbs) if isinstance(error, Forbidden) else str(error)


class KnownNodes:
    """Filled by ``follow``; keeps the managed fields of ``manager``, and passes sentences to ``warn``."""

    def __init__(self, api: Api, manager: str, warn: Callable[[str], None]) -> None:
        self._api = api
        self._manager = manager
        self._warn = warn
        #: By name.
        self._nodes: dict[str, MarkedNode] = {}
        self._coming: dict[str, MarkedNode] = {}
        #: When the API server last answered, in the event loop's time; None while that is in doubt.
        self._last_contact: float | None = None
        #: Why nodes may not be listed; empty while they may.
        self.refused = ""
        #: Set when the first list is in.
        self.listed = asyncio.Event()

    def all(self) -> list[MarkedNode]:
        """Return all nodes, in no order."""
        return list(self._nodes.values())

    async def follow(self) -> None:
        """Keep the nodes up to date until cancelled; refusals are retried."""
        refusals = 0
        while True:
            try:
                async with aclosing(follow(self._api, NODES)) as news:
                    async for each in news:
                        refusals = 0
                        self._take(each)
            except ClientError as error:
                refusals += 1
                self._refuse(refusal(error, ("list", "watch")))
            except Exception as error:  # noqa: BLE001 - otherwise all marks would depend on an old list of nodes
                refusals += 1
                self._refuse(f"{type(error).__name__}: {error}")
            await asyncio.sleep(_REFUSED.wait(max(1, refusals)))

    async def why_silent(self, seconds: float) -> str:
        """Return why the API server does not answer, or ""; in doubt, it is asked, for ``seconds`` at most."""
        now = asyncio.get_running_loop().time()
        if self.refused or (self._last_contact is not None and now - self._last_contact < _SILENCE):
            return self.refused
        try:
            await self._api.once().within(seconds).read("/version", {}, len)
        except ClientError as error:
            return str(error)
        self._last_contact = now
        return ""

    def _take(self, news: WatchEvent) -> None:
        match news:
            case Interrupted():
                self._last_contact = None
                return
            case Listed(objects, first, last):
                self._list(objects, first=first, last=last)
            case Changed(node):
                self._put(self._nodes, node)
            case Removed(node):
                self._nodes.pop(node.metadata.name, None)
            case Current():
                pass
        self._last_contact, self.refused = asyncio.get_running_loop().time(), ""

    def _list(self, objects: Iterable[MarkedNode | Unreadable], *, first: bool, last: bool) -> None:
        if first:
            self._coming = {}
        for node in objects:
            self._put(self._coming, node)
        if last:
            self._nodes, self._coming = self._coming, {}
            self.listed.set()

    def _put(self, nodes: dict[str, MarkedNode], node: MarkedNode | Unreadable) -> None:
        if isinstance(node, Unreadable):
            self._warn(f"node {printable(node.metadata.name)} is left out, since it cannot be read: {node.why}")
            nodes.pop(node.metadata.name, None)
        else:
            nodes[node.name] = without_other_managers(node, self._manager)

    def _refuse(self, why: str) -> None:
        if why != self.refused:
            self._warn(f"nodes cannot be listed: {why}")
        self._last_contact, self.refused = None, why
