"""How a daemon reaches its cluster, and how it is reached: its connection to the API server, and its own HTTPS server.

The command line makes settings from flags; tests and other programs make them directly, and check them themselves.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Final

from aiohttp.typedefs import Middleware
from msgspec import Struct

from restow.client.connection import connect
from restow.client.transport import Api
from restow.daemon import log_lines
from restow.daemon.logs import Log
from restow.serving.certificate import self_signed
from restow.serving.health import Health
from restow.serving.pages import Handler, Reviewer, add_page, pages
from restow.serving.server import ListenAddress, serving
from restow.serving.tls import KeyPair, TlsSettings, context_of_files, context_of_pem

#: Where restow keeps its own objects by default, as the Descheduler.
NAMESPACE: Final = "kube-system"


class ApiSettings(Struct, frozen=True, kw_only=True):
    """How the API server is reached."""

    #: None looks for one, and for the pod's service account.
    kubeconfig: str | None = None
    #: Requests per second and at once, for all but watches, as ``client.connection.connect`` takes them.
    qps: float = 0.0
    burst: int = 0


class HttpsSettings(Struct, frozen=True, kw_only=True):
    """What is served, and where."""

    endpoint: ListenAddress
    tls: TlsSettings
    #: None: a certificate is made at the start.
    certificates: Sequence[KeyPair] = ()
    metrics: bool = True


@asynccontextmanager
async def connected(settings: ApiSettings, log: Log) -> AsyncIterator[Api]:
    """Give the API server that settings name, and log which it is; InputError for a configuration that cannot be used."""
    async with connect(settings.kubeconfig, qps=settings.qps, burst=settings.burst) as api:
        for warning in api.endpoint.warnings:
            log.warning(warning)
        log.info(f"The cluster is {api.endpoint.server} ({api.endpoint.origin})")
        yield api


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
