"""A small API server for pods, nodes and other kinds, whose connections break as often as a test likes.

It keeps every change since it began, so a watch may go on from any version that it has not forgotten.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from builders import Object
from restow.client.credentials import Endpoint, Fixed, Identity
from restow.client.resources import RESOURCES
from restow.client.sessions import open_session
from restow.client.transport import Api

#: Seconds that count as none.
_INSTANT = 0.01
_KINDS = {resource.path(): kind for kind, resource in RESOURCES.items()}


@dataclass
class ApiServer:
    """Objects by kind and key, and what happened to them."""

    objects: dict[str, dict[tuple[str, str], Object]] = field(default_factory=lambda: defaultdict(dict))
    #: (version, kind, type, object).
    events: list[tuple[int, str, str, Object]] = field(default_factory=list)
    version: int = 100
    #: Versions up to this one are forgotten (410).
    forgotten: int = 0
    #: Seconds after which a watch is cut off.
    cut_after: float = 60.0
    #: Seconds between two bookmarks of a watch.
    bookmark_after: float = 25.0
    #: Seconds before the end of a watch at which there is one more.
    last_bookmark: float = 2.0
    #: Kinds that are refused, with the status.
    refused: dict[str, int] = field(default_factory=dict)
    #: Kinds whose watches say nothing any more, and kinds whose lists break off after the first page.
    hung: set[str] = field(default_factory=set)
    torn: set[str] = field(default_factory=set)
    #: Objects a page, whatever the client asks for.
    page: int = 3
    lists: int = 0
    url: str = ""
    #: Called whenever something is asked.
    on_request: Callable[[], None] = lambda: None
    #: Set while nothing is answered.
    dead: bool = False
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    def put(self, kind: str, thing: Object) -> None:
        """Create or replace."""
        key = (thing["metadata"].get("namespace", ""), thing["metadata"]["name"])
        self._happen(kind, "MODIFIED" if key in self.objects[kind] else "ADDED", thing)
        self.objects[kind][key] = thing

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        self._happen(kind, "DELETED", self.objects[kind].pop((namespace, name)))

    def forget(self) -> None:
        """Compact: watches of today's versions are too old tomorrow."""
        self.version += 1
        self.forgotten = self.version

    def _happen(self, kind: str, what: str, thing: Object) -> None:
        self.version += 1
        thing["metadata"]["resourceVersion"] = str(self.version)
        self.events.append((self.version, kind, what, json.loads(json.dumps(thing))))
        self._wake()

    def die(self) -> None:
        """Break all connections and answer nothing, until ``dead`` is unset."""
        self.dead = True
        self._wake()

    def _wake(self) -> None:
        for each in self._waiting:
            if not each.done():
                each.set_result(None)
        self._waiting.clear()

    async def _changed(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    async def _changes_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._changed()
        except TimeoutError:
            return False
        return True

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a list or a watch."""
        kind = _KINDS[request.path]
        if self.dead:
            assert request.transport is not None
            request.transport.abort()
            return web.Response(status=503)
        self.on_request()
        if kind in self.refused:
            return _refusal(self.refused[kind], kind)
        if request.query.get("watch"):
            return await self._watch(request, kind)
        self.lists += 1
        return self._list(request, kind)

    def _list(self, request: web.Request, kind: str) -> web.Response:
        start = int(request.query.get("continue") or 0)
        if start and kind in self.torn:
            return _refusal(500, kind)
        items = [self.objects[kind][key] for key in sorted(self.objects[kind])]
        rest = start + self.page < len(items)
        metadata = {"resourceVersion": str(self.version), "continue": str(start + self.page) if rest else ""}
        return web.json_response(
            {"kind": f"{kind}List", "metadata": metadata, "items": items[start : start + self.page]}
        )

    async def _watch(self, request: web.Request, kind: str) -> web.StreamResponse:
        since = int(request.query["resourceVersion"])
        end = now() + float(request.query["timeoutSeconds"])
        if since < self.forgotten:
            return _refusal(410, kind)
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.cut_after):
                while not self.dead and kind not in self.hung and (left := end - now()) > _INSTANT:
                    for version, of, what, thing in self.events:
                        if version > since and of == kind:
                            await response.write(_event(what, thing))
                    since = max(since, self.version)
                    pause = min(
                        self.bookmark_after, left - self.last_bookmark if left > self.last_bookmark + _INSTANT else left
                    )
                    if not await self._changes_within(pause) and kind not in self.hung and end - now() > _INSTANT:
                        await response.write(_event("BOOKMARK", {"metadata": {"resourceVersion": str(since)}}))
                if end - now() <= _INSTANT:
                    return response
                while not self.dead:
                    await self._changed()
        if request.transport is not None:
            request.transport.abort()
        return response


def now() -> float:
    return asyncio.get_running_loop().time()


def _event(what: str, thing: Object) -> bytes:
    return json.dumps({"type": what, "object": thing}).encode() + b"\n"


def _refusal(status: int, kind: str) -> web.Response:
    plural = RESOURCES[kind].plural
    reason = {403: "Forbidden", 404: "NotFound", 410: "Expired"}.get(status, "")
    message = f'{plural} is forbidden: User "jane" cannot list resource "{plural}"' if status == 403 else "no"
    body: dict[str, Any] = {"kind": "Status", "code": status, "reason": reason, "message": message}
    return web.json_response(body, status=status)


@asynccontextmanager
async def an_api_server() -> AsyncIterator[tuple[ApiServer, Api]]:
    """One that runs, and a client of it."""
    server = ApiServer()
    async with serving(server) as api:
        yield server, api


@asynccontextmanager
async def serving(server: ApiServer) -> AsyncIterator[Api]:
    """A client of a server that runs meanwhile."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.01)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    endpoint = Endpoint(server.url, Fixed(Identity()), origin="the test")
    try:
        async with open_session() as session:
            yield Api(endpoint, session, None)
    finally:
        await runner.cleanup()
