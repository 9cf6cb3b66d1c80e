"""The HTTP or HTTPS server: starts with everything or not at all, and stops when its block is left."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from restow.serving.connections import Connections, most_connections

#: How long a request under way may take to end when the server stops.
_SECONDS_TO_END: Final = 3.0
#: As the Descheduler.
_SECONDS_IDLE: Final = 90.0
#: Connections that wait to be accepted.
_BACKLOG: Final = 128


@dataclass(slots=True, frozen=True)
class Endpoint:
    """Where to listen: port 0 is any free port. ``share_port`` lets other processes listen there too."""

    address: str
    port: int
    share_port: bool = False
    #: Which flags say so: for errors.
    origin: str = "--bind-address, --secure-port"


@asynccontextmanager
async def serving(application: web.Application, endpoint: Endpoint, tls: ssl.SSLContext | None) -> AsyncIterator[int]:
    """Serve while the block runs, over plain HTTP without ``tls``; gives the port. OSError with a sentence where it is not possible to listen."""
    runner = web.AppRunner(
        application,
        access_log=None,
        handle_signals=False,
        keepalive_timeout=_SECONDS_IDLE,
        shutdown_timeout=_SECONDS_TO_END,
    )
    connections = Connections(lambda: _handler(runner), tls, most_connections())
    application.on_response_prepare.append(_noting(connections))
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


def _noting(connections: Connections) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    async def note(request: web.Request, _response: web.StreamResponse) -> None:
        connections.asks(request.transport)

    return note


@asynccontextmanager
async def _listening(endpoint: Endpoint) -> AsyncIterator[list[socket.socket]]:
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


async def _bound(endpoint: Endpoint) -> list[socket.socket]:
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
