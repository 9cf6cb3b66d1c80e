"""A stand-in for an API server that fails on command: what the real one cannot be made to do at will.

    double.answers("GET", "/api/v1/pods", a_status(503), a_list(...))

Each path has a queue of answers; the last one is given again and again. Requests are kept as they came. It runs in the
test's own event loop, so with looptime its pauses cost nothing.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from restow.client.credentials import Credentials, Endpoint, Fixed, Identity
from restow.client.flow_control import TokenBucket
from restow.client.sessions import open_session
from restow.client.transport import Api


@dataclass(frozen=True)
class Answer:
    """A reply in pieces: bytes, or a number of seconds to wait."""

    pieces: tuple[bytes | float, ...]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Abort the connection after the last piece instead of ending the body.
    cut: bool = False


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    #: In the event loop's time.
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Double:
    """Answers as it was told."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.url = ""
        self._answers: dict[tuple[str, str], list[Answer]] = defaultdict(list)

    def answers(self, method: str, path: str, *answers: Answer) -> None:
        """Add to the queue of a path."""
        self._answers[method, path].extend(answers)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        now = asyncio.get_running_loop().time()
        self.asked.append(
            Asked(request.method, request.path, dict(request.query), request.headers, await request.read(), now)
        )
        queue = self._answers[request.method, request.path]
        if not queue:
            return web.json_response(a_status_object(404, "NotFound", f"{request.path} not found"), status=404)
        answer = queue.pop(0) if len(queue) > 1 else queue[0]
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        response.content_type = "application/json"
        await response.prepare(request)
        for piece in answer.pieces:
            if isinstance(piece, bytes):
                await response.write(piece)
            else:
                await asyncio.sleep(piece)
        if answer.cut and request.transport is not None:
            request.transport.abort()
        return response


def an_answer(value: Any, status: int = 200, **headers: str) -> Answer:
    """An object as JSON; ``Retry_After`` becomes a header with hyphens."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer((json.dumps(value).encode(),), status, named)


def packed(*parts: bytes) -> Answer:
    """A body in gzip, each part as a member of its own."""
    return Answer((b"".join(map(gzip.compress, parts)),), headers={"Content-Encoding": "gzip"})


def a_status_object(code: int, reason: str = "", message: str = "", **details: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message or f"refused with {code}",
        "details": details,
    }


def a_status(
    code: int, reason: str = "", message: str = "", *, retry_after: int | None = None, **details: Any
) -> Answer:
    """A refusal."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Answer((json.dumps(a_status_object(code, reason, message, **details)).encode(),), code, headers)


def a_list(*names: str, version: str = "10", proceed: str = "") -> Answer:
    """A page of pods."""
    items = [{"metadata": {"name": name, "namespace": "default", "uid": f"u-{name}"}} for name in names]
    return an_answer({"kind": "PodList", "metadata": {"resourceVersion": version, "continue": proceed}, "items": items})


def an_event(type: str, name: str, version: str) -> bytes:
    """A line of a watch of pods."""
    metadata = {"name": name, "namespace": "default", "uid": f"u-{name}", "resourceVersion": version}
    return json.dumps({"type": type, "object": {"metadata": metadata}}).encode() + b"\n"


def an_error_event(code: int, reason: str) -> bytes:
    return json.dumps({"type": "ERROR", "object": a_status_object(code, reason)}).encode() + b"\n"


@asynccontextmanager
async def a_double(tls: ssl.SSLContext | None = None) -> AsyncIterator[Double]:
    """A running double on a port of its own."""
    double = Double()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", double.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    host, port = runner.addresses[0][:2]
    double.url = f"{'http' if tls is None else 'https'}://{host}:{port}"
    try:
        yield double
    finally:
        await runner.cleanup()


@asynccontextmanager
async def an_api(
    url: str, credentials: Credentials | None = None, limit: TokenBucket | None = None
) -> AsyncIterator[Api]:
    """A client of a double."""
    endpoint = Endpoint(url, credentials or Fixed(Identity()), origin="the test")
    async with open_session() as session:
        yield Api(endpoint, session, limit)
