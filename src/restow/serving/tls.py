"""The server's side of TLS: which certificate is shown, and that new ones are taken up while it runs.

OpenSSL asks at the beginning of each handshake, so a renewed certificate is shown from the next connection on.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from restow.errors import InputError
from restow.memory_files import memory_file
from restow.renewed import Renewed


@dataclass(slots=True, frozen=True)
class KeyPair:
    """Files of a certificate (with its chain) and of its key, and the names that they are shown for; none: any name."""

    certificate: Path
    key: Path
    names: tuple[str, ...] = ()


@dataclass(slots=True, frozen=True)
class TlsSettings:
    """What is negotiated: a version of ``ssl``, and the suites of TLS 1.2 as OpenSSL reads them."""

    minimum: ssl.TLSVersion
    ciphers: str

    def context(self) -> ssl.SSLContext:
        """Return a server's context that has no certificate yet."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self.minimum
        context.set_ciphers(self.ciphers)
        context.set_alpn_protocols(["http/1.1"])
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
        return context


def _renewed(pair: KeyPair, settings: TlsSettings, warn: Callable[[str], None]) -> Renewed[ssl.SSLContext]:
    """The context of a pair of files."""

    def load() -> ssl.SSLContext:
        context = settings.context()
        context.load_cert_chain(pair.certificate, pair.key)
        return context

    def complain(trouble: str) -> None:
        warn(f"{pair.certificate}: the previously loaded certificate stays in use: {trouble}")

    try:
        return Renewed((pair.certificate, pair.key), load, complain)
    except OSError as error:
        raise InputError(
            f"the certificate {pair.certificate} with the key {pair.key} cannot be used: {error.strerror or error}"
        ) from error


def context_of_files(
    pairs: Sequence[KeyPair], settings: TlsSettings, warn: Callable[[str], None] = lambda _: None
) -> ssl.SSLContext:
    """Return a context that shows the pair of the name that a client asks for, the first pair if there is no such name.

    InputError if a pair cannot be loaded.
    """
    renewing = [(pair.names, _renewed(pair, settings, warn)) for pair in pairs]

    def choose(connection: ssl.SSLObject, name: str | None, _listening: ssl.SSLContext) -> None:
        _, chosen = next((each for each in renewing if name and _matches(each[0], name)), renewing[0])
        connection.context = chosen.current()

    context = settings.context()
    context.sni_callback = choose
    return context


def _matches(names: Sequence[str], asked: str) -> bool:
    """Whether a name is among names of which some begin with ``*.``, which stands for one label."""
    return any(fnmatchcase(asked, name) and asked.count(".") == name.count(".") for name in names)


def context_of_pem(pem: str, settings: TlsSettings) -> ssl.SSLContext:
    """Return a context that shows a certificate that is in no file, given together with its key."""
    context = settings.context()
    with memory_file(pem.encode()) as path:
        context.load_cert_chain(path)
    return context
