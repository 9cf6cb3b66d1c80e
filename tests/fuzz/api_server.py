"""The API server of a worker: a real one on loopback, in a thread, that answers what the case of the moment says."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence

from aiohttp import web

from fuzz.cases import Answer

_VERSION = Answer(pieces=(b'{"major":"1","minor":"36","gitVersion":"v1.36.0"}',))
_UNKNOWN = Answer(
    status=404, pieces=(b'{"kind":"Status","status":"Failure","reason":"NotFound","message":"not found","code":404}',)
)
_LONG = 3600.0


class ScriptedServer:
    """Answers by path, one after another; the last list is repeated, and after the last watch comes a silent one."""

    def __init__(self) -> None:
        self.port = 0
        self._answers: Mapping[str, Sequence[Answer]] = {}
        self._asked: Counter[str] = Counter()
        started = threading.Event()
        threading.Thread(target=self._serve, args=(started,), daemon=True).start()
        started.wait()

    def load(self, answers: Mapping[str, Sequence[Answer]]) -> None:
        """Answer like this from now on."""
        self._asked = Counter()
        self._answers = {"/version": (_VERSION,), **answers}

    def is_told(self) -> bool:
        """Whether every scripted watch has been asked for and is over."""
        return all(self._asked[path] > len(some) for path, some in self._answers.items() if path.endswith("?watch"))

    def _serve(self, started: threading.Event) -> None:
        logging.getLogger("aiohttp.server").disabled = True
        asyncio.run(self._listen(started))

    async def _listen(self, started: threading.Event) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        started.set()
        await asyncio.Event().wait()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        watched = bool(request.query.get("watch"))
        key = f"{request.path}?watch" if watched else request.path
        some = self._answers.get(key, () if watched else (_UNKNOWN,))
        at, self._asked[key] = self._asked[key], self._asked[key] + 1
        if not watched:
            return await _told(request, some[min(at, len(some) - 1)])
        return await _told(request, some[at]) if at < len(some) else await _silence(request)


async def _told(request: web.Request, answer: Answer) -> web.StreamResponse:
    assert request.transport is not None
    if answer.raw:
        request.transport.write(b"".join(answer.pieces))
        request.transport.close()
        return web.Response()
    response = web.StreamResponse(status=answer.status)
    for name, value in answer.headers:
        response.headers[name] = value
    await response.prepare(request)
    for piece in answer.pieces:
        await response.write(piece)
    if answer.cut:
        request.transport.abort()
    return response


async def _silence(request: web.Request) -> web.StreamResponse:
    """A watch on which nothing happens, until nobody listens any more."""
    response = web.StreamResponse()
    await response.prepare(request)
    await asyncio.sleep(_LONG)
    return response
