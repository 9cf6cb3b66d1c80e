"""A proxy before a real API server that makes trouble on command, and passes on everything else.

    with FaultProxy(plane) as proxy:
        kubeconfig = proxy.kubeconfig
        with proxy.trouble(calls("create", "pods/eviction"), Refused(503), times=2) as trouble:
            ...
        assert trouble.happened == 2

It speaks TLS with the API server's own certificate, and hands on the caller's token. It runs in a thread.
"""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import aiohttp
from aiohttp import web
from yarl import URL

from builders import Object
from e2e.beside import beside
from e2e.control_plane import ControlPlane
from e2e.faults import (
    AnswerLost,
    Asked,
    Fault,
    Forgotten,
    Held,
    Late,
    Mute,
    NeverSent,
    Paged,
    Refused,
    Silent,
    Slow,
    Truncated,
    Where,
)
from e2e.identities import write_kubeconfig
from e2e.ports import HOST, free_ports
from restow.client.sessions import Sockets

#: Headers of a connection rather than of a message, and those that a client sets itself.
_NOT_PASSED_ON = {"host", "connection", "keep-alive", "transfer-encoding", "upgrade", "content-length", "te", "trailer"}
_LARGEST = 64 << 20
#: Seconds for its start and its end.
_PATIENCE = 60.0


@dataclass(slots=True)
class Trouble:
    """A fault for some of the calls."""

    where: Where
    fault: Fault
    #: So many more times; None for ever.
    times: int | None
    #: The share of these calls that it befalls.
    share: float
    happened: int = field(default=0, init=False)
    over: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def befalls(self, asked: Asked) -> bool:
        """Whether it does; that counts as once."""
        if self.times == 0 or not self.where(asked) or random.random() >= self.share:
            return False
        self.happened += 1
        if self.times is not None:
            self.times -= 1
        return True


class FaultProxy:
    """A context manager; all calls of it may come from any thread."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._port = free_ports(1)[0]
        self._troubles: list[Trouble] = []
        self._watches: set[asyncio.Transport] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault proxy")
        self._sockets = Sockets()
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None

    @property
    def server(self) -> str:
        """The URL to use instead of the API server's."""
        return f"https://{HOST}:{self._port}"

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(_PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(_PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE)
        self._loop.close()

    @property
    def kubeconfig(self) -> Path:
        """An administrator's."""
        (known,) = json.loads(self._plane.kubeconfig.read_text())["users"]
        return self.kubeconfig_for(known["user"], "proxied-admin")

    def kubeconfig_for(self, user: Object, name: str = "proxied") -> Path:
        """A kubeconfig, called NAME.kubeconfig, that comes this way; ``user`` is ``{"token": ...}`` or ``tokenFile``."""
        authority = self._plane.layout.certificates.authority.certificate
        return write_kubeconfig(self._plane.layout.kubeconfig(name), self.server, authority, user)

    @contextmanager
    def trouble(self, where: Where, fault: Fault, *, times: int | None = None, share: float = 1.0) -> Iterator[Trouble]:
        """Makes trouble as long as the block lasts; of several the first that befalls a call counts."""
        made = Trouble(where, fault, times, share)
        self._troubles.append(made)
        try:
            yield made
        finally:
            self._troubles.remove(made)
            self._loop.call_soon_threadsafe(made.over.set)

    @contextmanager
    def cutting_watches(self, every: float) -> Iterator[None]:
        """Breaks all watches off, again and again after so many seconds, as long as the block lasts."""

        def cut(over: threading.Event) -> None:
            while not over.wait(every):
                self._loop.call_soon_threadsafe(self._cut_watches)

        with beside(cut):
            yield

    def cut_watches(self) -> None:
        """Breaks all watches off, once."""
        self._loop.call_soon_threadsafe(self._cut_watches)

    def _cut_watches(self) -> None:
        for transport in list(self._watches):
            transport.abort()

    async def _start(self) -> None:
        certificates = self._plane.layout.certificates
        towards = ssl.create_default_context(cafile=str(certificates.authority.certificate))
        # A connection a call: none is found dead after the server's restart.
        connector = aiohttp.TCPConnector(limit=0, ssl=towards, force_close=True, socket_factory=self._sockets.make)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        application = web.Application(client_max_size=_LARGEST)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True, access_log=None)
        await self._runner.setup()
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificates.serving.certificate, certificates.serving.key)
        await web.TCPSite(self._runner, HOST, self._port, ssl_context=tls).start()

    async def _stop(self) -> None:
        assert self._runner is not None
        assert self._session is not None
        self._cut_watches()
        await self._runner.cleanup()
        await self._session.close()
        await self._sockets.end()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked = Asked.of(request.method, request.path, request.query, request.headers.get("Authorization", ""))
        trouble = next((each for each in list(self._troubles) if each.befalls(asked)), None)
        fault = None if trouble is None else trouble.fault
        match fault:
            case Mute() if trouble is not None:
                return await _say_nothing(request, trouble)
            case Refused():
                return _refusal(fault)
            case Forgotten():
                return web.Response(body=fault.line, content_type="application/json")
            case NeverSent():
                return _broken(request)
            case Silent():
                # Ends with the connection.
                await asyncio.Event().wait()
            case Late(seconds):
                await asyncio.sleep(seconds)
            case Held() if trouble is not None:
                await trouble.over.wait()
        try:
            return await self._pass_on(request, asked, fault)
        except (aiohttp.ClientError, ConnectionError, TimeoutError):
            # The server is not there, or the caller is not.
            return _broken(request)

    async def _pass_on(self, request: web.Request, asked: Asked, fault: Fault | None) -> web.StreamResponse:
        assert self._session is not None
        url = URL(f"{self._plane.layout.server}{request.rel_url}", encoded=True)
        if isinstance(fault, Paged):
            url = url.update_query(limit=str(fault.limit))
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _NOT_PASSED_ON}
        timeout = aiohttp.ClientTimeout(total=None)
        body = await request.read()
        async with self._session.request(
            request.method, url, headers=headers, data=body or None, timeout=timeout
        ) as answer:
            if isinstance(fault, AnswerLost):
                await answer.read()
                return _broken(request)
            return await self._answer(request, asked, fault, answer)

    async def _answer(
        self, request: web.Request, asked: Asked, fault: Fault | None, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in _NOT_PASSED_ON}
        response = web.StreamResponse(status=answer.status, headers=kept)
        response.content_length = answer.content_length
        await response.prepare(request)
        assert request.transport is not None
        transport = request.transport
        if asked.verb == "watch":
            self._watches.add(transport)
        try:
            await _copy(answer, response, transport, fault)
        finally:
            self._watches.discard(transport)
        return response


async def _copy(
    answer: aiohttp.ClientResponse, response: web.StreamResponse, transport: asyncio.Transport, fault: Fault | None
) -> None:
    """The body, as well as the fault lets it through."""
    left = fault.size if isinstance(fault, Truncated) else None
    async for piece in answer.content.iter_any():
        if isinstance(fault, Slow):
            await _dribble(piece, response, fault)
        elif left is None or len(piece) <= left:
            await response.write(piece)
            left = None if left is None else left - len(piece)
        else:
            await response.write(piece[:left])
            transport.abort()
            return


async def _dribble(piece: bytes, response: web.StreamResponse, fault: Slow) -> None:
    for start in range(0, len(piece), fault.size):
        await response.write(piece[start : start + fault.size])
        await asyncio.sleep(fault.pause)


async def _say_nothing(request: web.Request, trouble: Trouble) -> web.Response:
    await web.StreamResponse().prepare(request)
    await trouble.over.wait()
    return _broken(request)


def _refusal(fault: Refused) -> web.Response:
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    return web.Response(body=fault.body, status=fault.status, headers=headers, content_type="application/json")


def _broken(request: web.Request) -> web.Response:
    """Whatever is answered goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
