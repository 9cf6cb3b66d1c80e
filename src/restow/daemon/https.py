"""The HTTPS server of a daemon."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

from aiohttp.typedefs import Middleware

from restow.daemon import log_lines
from restow.daemon.logs import Log
from restow.daemon.settings import HttpsSettings
from restow.serving.health import Health
from restow.serving.pages import Handler, Reviewer, add_page, pages
from restow.serving.server import serving
from restow.serving.tls import context_of_files, context_of_pem, self_signed


@asynccontextmanager
async def https(
    settings: HttpsSettings | None,
    health: Health,
    metrics: Callable[[], str] | None,
    webhooks: Mapping[str, Reviewer],
    log: Log,
    *,
    more: Mapping[str, Handler] = MappingProxyType({}),
    guard: Middleware | None = None,
) -> AsyncIterator[int | None]:
    """Serve health, metrics, webhooks and ``more`` pages while the block runs; yield and log the port.

    ``guard`` authorizes requests. Without settings nothing is served, and the port is None. InputError if a certificate
    cannot be used or made, OSError if the port cannot be opened.
    """
    if settings is None:
        yield None
        return
    application = pages(health, metrics if settings.metrics else None, webhooks)
    if guard is not None:
        application.middlewares.append(guard)
    for path, handler in more.items():
        add_page(application, path, handler)
    async with serving(application, settings.endpoint, _tls_context(settings, log.warning)) as port:
        log_lines.serving(log, settings.endpoint.address, port)
        yield port


def _tls_context(settings: HttpsSettings, warn: Callable[[str], None]) -> ssl.SSLContext:
    """What TLS is to be spoken with: files that are given, else a certificate made now."""
    if settings.certificates:
        return context_of_files(settings.certificates, settings.tls, warn)
    hosts = ["localhost", "127.0.0.1", "::1", socket.gethostname()]
    return context_of_pem(self_signed(f"restow@{int(time.time())}", hosts), settings.tls)
