"""The nodes of the cluster, from a watch, and whether the API server still answers.

Nodes stay known while the watch is interrupted: a mark is written with the node's uid, so an old list does no harm. A
watch may be silent for a minute; in doubt, the API server is asked for its version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Final

from msgspec import structs

from restow.client.back_off import BackOff
from restow.client.errors import Forbidden, missing_right
from restow.client.following import Changed, Current, Interrupted, Listed, Removed, WatchEvent, follow
from restow.client.listing import all_objects
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.errors import ClientError
from restow.kube.objects import Unreadable
from restow.plain_text import printable
from restow.pressure.nodes import MarkedNode, without_other_managers

#: The nodes of a cluster, of which only what marks need is decoded.
NODES: Final = structs.replace(RESOURCES["Node"], type=MarkedNode)
#: Seconds of silence after which a watch, which brings a bookmark each minute, is in doubt.
_SILENCE: Final = 75.0
#: Pauses between tries where nodes may not be listed: rights may be changed at any time.
_REFUSED: Final = BackOff(first=1.0, cap=30.0)


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
