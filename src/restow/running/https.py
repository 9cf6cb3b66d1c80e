"""The HTTPS server that flags ask for."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from restow.running.flag_values import key_pair
from restow.running.flags import Flags
from restow.serving.cipher_suites import ciphers, tls_version
from restow.serving.health import Health
from restow.serving.pages import pages
from restow.serving.self_signed import self_signed
from restow.serving.server import Endpoint, serving
from restow.serving.tls import KeyPair, TlsSettings, context_of_files, context_of_pem


@asynccontextmanager
async def https(
    flags: Flags, health: Health, metrics: Callable[[], str], warn: Callable[[str], None]
) -> AsyncIterator[int | None]:
    """Serve health and metrics while the block runs; gives the port, None where ``--secure-port`` switches it off.

    InputError for a certificate that cannot be used or made, OSError where it is not possible to listen.
    """
    if not flags.serves:
        yield None
        return
    application = pages(health, None if flags.disable_metrics else metrics)
    endpoint = Endpoint(flags.bind_address, flags.secure_port, flags.permit_port_sharing)
    async with serving(application, endpoint, tls_context(flags, warn)) as port:
        yield port


def tls_context(flags: Flags, warn: Callable[[str], None]) -> ssl.SSLContext:
    """Return what TLS is to be spoken with: files that are given, else a certificate made now."""
    settings = TlsSettings(tls_version(flags.tls_min_version), ciphers(flags.tls_cipher_suites))
    pairs = [KeyPair(*key_pair(text)) for text in flags.tls_sni_cert_key]
    if flags.tls_cert_file:
        pairs.insert(0, KeyPair(Path(flags.tls_cert_file), Path(flags.tls_private_key_file)))
    if pairs:
        return context_of_files(pairs, settings, warn)
    hosts = ["localhost", "127.0.0.1", "::1", socket.gethostname()]
    return context_of_pem(self_signed(f"restow@{int(time.time())}", hosts), settings)
