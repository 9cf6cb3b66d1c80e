"""The HTTPS server: starts with everything or not at all, and stops when its block is left."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web

#: How long a request under way may take to end when the server stops.
_SECONDS_TO_END: Final = 3.0
#: As the Descheduler.
_SECONDS_IDLE: Final = 90.0


@dataclass(slots=True, frozen=True)
class Endpoint:
    """Where to listen: port 0 is any free port. ``share_port`` lets other processes listen there too."""

    address: str
    port: int
    share_port: bool = False


@asynccontextmanager
async def serving(application: web.Application, endpoint: Endpoint, tls: ssl.SSLContext) -> AsyncIterator[int]:
    """Serve while the block runs; gives the port. OSError with a sentence where it is not possible to listen."""
    runner = web.AppRunner(
        application,
        access_log=None,
        handle_signals=False,
        keepalive_timeout=_SECONDS_IDLE,
        shutdown_timeout=_SECONDS_TO_END,
    )
    await runner.setup()
    try:
        site = web.TCPSite(
            runner, endpoint.address, endpoint.port, ssl_context=tls, reuse_port=endpoint.share_port or None
        )
        try:
            await site.start()
        except (OSError, OverflowError) as error:
            raise OSError(
                f"cannot listen on {endpoint.address}, port {endpoint.port} (--bind-address, --secure-port): "
                f"{getattr(error, 'strerror', None) or error}"
            ) from error
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
