"""The HTTP or HTTPS server: it starts completely or not at all, stops when its block is left, and limits its connections."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

#: How long a request under way may take to end when the server stops.
_SECONDS_TO_END: Final = 3.0
#: As the Descheduler.
_SECONDS_IDLE: Final = 90.0
#: Time for the rest of a request that was answered before its end, so that the client reads the response. With
#: aiohttp's ten seconds, a slow sender would keep connections ten times as long as a webhook request may wait.
_SECONDS_TO_LINGER: Final = 0.5
#: Connections that wait to be accepted.
_BACKLOG: Final = 128

#: A kubelet and a few Prometheus servers need ten at most.
_MOST: Final = 100
#: The share of the process's descriptors that is theirs at most.
_SHARE: Final = 4
#: Seconds for the handshake, and again for the first request.
SECONDS_TO_ASK: Final = 10.0
#: Seconds until the next try where there is no descriptor left.
_PAUSE: Final = 1.0


@dataclass(slots=True, frozen=True)
class ListenAddress:
    """Where to listen: port 0 is any free port. ``share_port`` lets other processes listen there too."""

    address: str
    port: int
    share_port: bool = False
    #: Which flags say so: for errors.
    origin: str = "--bind-address, --secure-port"


@asynccontextmanager
async def serving(
    application: web.Application, endpoint: ListenAddress, tls: ssl.SSLContext | None
) -> AsyncIterator[int]:
    """Serve while the block runs, over plain HTTP without ``tls``; gives the port. OSError with a sentence where it is not possible to listen."""
    runner = web.AppRunner(
        application,
        access_log=None,
        handle_signals=False,
        keepalive_timeout=_SECONDS_IDLE,
        lingering_time=_SECONDS_TO_LINGER,
        shutdown_timeout=_SECONDS_TO_END,
    )
    connections = Connections(lambda: _handler(runner), tls, most_connections())
    application.middlewares.insert(0, _noting(connections))
    await runner.setup()
    try:
        async with _listening(endpoint) as sockets:
            accepting = [asyncio.create_task(connections.accept(each)) for each in sockets]
            try:
                yield int(sockets[0].getsockname()[1])
            finally:
                for each in accepting:
                    each.cancel()
                await asyncio.wait(accepting)
    finally:
        await runner.cleanup()
        await connections.end()


def _handler(runner: web.AppRunner) -> asyncio.Protocol:
    """Return what answers on one connection."""
    assert runner.server is not None, "the runner is set up"
    return runner.server()


def _noting(connections: Connections) -> Middleware:
    """A middleware that notes a request when it has come, however long its answer takes."""

    @web.middleware
    async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
        connections.asks(request.transport)
        return await handler(request)

    return note


@asynccontextmanager
async def _listening(endpoint: ListenAddress) -> AsyncIterator[list[socket.socket]]:
    """Sockets that wait for connections."""
    with ExitStack() as closing:
        try:
            sockets = [closing.enter_context(each) for each in await _bound(endpoint)]
            for each in sockets:
                each.setblocking(False)
                each.listen(_BACKLOG)
        except (OSError, OverflowError) as error:
            raise OSError(
                f"cannot listen on {endpoint.address}, port {endpoint.port} ({endpoint.origin}): "
                f"{getattr(error, 'strerror', None) or error}"
            ) from error
        yield sockets


async def _bound(endpoint: ListenAddress) -> list[socket.socket]:
    """Sockets for all that an address means, as asyncio understands it."""
    server = await asyncio.get_running_loop().create_server(
        asyncio.Protocol,
        endpoint.address,
        endpoint.port,
        reuse_port=endpoint.share_port or None,
        start_serving=False,
    )
    try:
        return [each.dup() for each in server.sockets]
    finally:
        server.close()


# Each connection takes a descriptor, as those to the API server do. When there are too many, the oldest is closed: a
# kubelet or Prometheus connects again, and is answered even while another client opens connections in vain.
def most_connections() -> int:
    """Return how many connections may be open, so that most descriptors of this process are left to others."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if limit == resource.RLIM_INFINITY else max(1, min(_MOST, limit // _SHARE))


class Connections:
    """Accepts and ends connections; ``make`` gives the protocol of each."""

    def __init__(self, make: Callable[[], asyncio.Protocol], tls: ssl.SSLContext | None, most: int) -> None:
        self._make = make
        self._tls = tls
        self._most = most
        #: In the order of their beginning, with the task of the handshake.
        self._open: dict[socket.socket, asyncio.Task[None]] = {}
        self._transports: dict[socket.socket, asyncio.Transport] = {}
        #: The transports on which something was asked.
        self._asked: set[asyncio.BaseTransport | None] = set()

    async def accept(self, listening: socket.socket) -> None:
        """Accept connections until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError:
                # No descriptor is left, or the client has gone already.
                await asyncio.sleep(_PAUSE)
                continue
            self._forget_closed()
            if len(self._open) >= self._most:
                self._end(next(iter(self._open)))
            self._begin(accepted)
            # Connections that wait in a row are accepted without a pause; the ends of others take their turns.
            await asyncio.sleep(0)

    def asks(self, transport: asyncio.BaseTransport | None) -> None:
        """Note that something was asked on a transport."""
        self._asked.add(transport)

    async def end(self) -> None:
        """End every connection."""
        tasks = list(self._open.values())
        for each in list(self._open):
            self._end(each)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, accepted: socket.socket) -> None:
        def close(_: asyncio.Task[None]) -> None:
            if accepted not in self._transports:
                accepted.close()

        self._open[accepted] = handshake = asyncio.create_task(self._shake_hands(accepted))
        handshake.add_done_callback(close)

    async def _shake_hands(self, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        # A client that does not speak TLS, or refuses our certificate, has gone.
        with suppress(OSError):
            self._transports[accepted], _ = await loop.connect_accepted_socket(
                self._make, accepted, ssl=self._tls, ssl_handshake_timeout=SECONDS_TO_ASK if self._tls else None
            )
            loop.call_later(SECONDS_TO_ASK, self._end_if_silent, accepted)

    def _end_if_silent(self, accepted: socket.socket) -> None:
        if self._transports.get(accepted) not in self._asked:
            self._end(accepted)

    def _end(self, accepted: socket.socket) -> None:
        handshake = self._open.pop(accepted, None)
        transport = self._transports.pop(accepted, None)
        self._asked.discard(transport)
        if transport is not None:
            transport.abort()
        elif handshake is not None:
            handshake.cancel()

    def _forget_closed(self) -> None:
        for each in [each for each in self._open if each.fileno() < 0]:
            self._end(each)
