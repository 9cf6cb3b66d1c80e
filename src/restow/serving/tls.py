"""The server's side of TLS: which certificate is shown, and that new ones are taken up while it runs.

OpenSSL asks at the beginning of each handshake. Then it is looked whether the files are still those that were loaded -
which costs two calls of the operating system - so that a renewed certificate is shown from the next connection on, and
no task has to watch anything. Files that do not go together yet (one of them is written first) leave the old pair.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import NamedTemporaryFile

from restow.errors import InputError

_Stamp = tuple[int, int, int]


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


class _Renewing:
    """The context of a pair of files."""

    def __init__(self, pair: KeyPair, settings: TlsSettings, warn: Callable[[str], None]) -> None:
        self.names = pair.names
        self._pair = pair
        self._settings = settings
        self._warn = warn
        self._stamps = self._seen()
        self._context = self._loaded()

    def context(self) -> ssl.SSLContext:
        """Return the context of the files as they are now, or as they last made sense."""
        try:
            stamps = self._seen()
        except OSError:
            return self._context
        if stamps != self._stamps:
            self._stamps = stamps
            try:
                self._context = self._loaded()
            except OSError as error:
                self._warn(f"{self._pair.certificate}: the certificate that was loaded before stays: {error}")
        return self._context

    def _loaded(self) -> ssl.SSLContext:
        context = self._settings.context()
        context.load_cert_chain(self._pair.certificate, self._pair.key)
        return context

    def _seen(self) -> tuple[_Stamp, _Stamp]:
        return _stamp(self._pair.certificate), _stamp(self._pair.key)


def _stamp(path: Path) -> _Stamp:
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


def context_of_files(
    pairs: Sequence[KeyPair], settings: TlsSettings, warn: Callable[[str], None] = lambda _: None
) -> ssl.SSLContext:
    """Return a context that shows the pair of the name that a client asks for, the first pair if there is no such name.

    InputError if a pair cannot be loaded.
    """
    renewing = [_loaded(pair, settings, warn) for pair in pairs]

    def choose(connection: ssl.SSLObject, name: str | None, _listening: ssl.SSLContext) -> None:
        chosen = next((each for each in renewing if name and _matches(each.names, name)), renewing[0])
        connection.context = chosen.context()

    context = settings.context()
    context.sni_callback = choose
    return context


def _loaded(pair: KeyPair, settings: TlsSettings, warn: Callable[[str], None]) -> _Renewing:
    try:
        return _Renewing(pair, settings, warn)
    except OSError as error:
        raise InputError(
            f"the certificate {pair.certificate} with the key {pair.key} cannot be used: {error.strerror or error}"
        ) from error


def _matches(names: Sequence[str], asked: str) -> bool:
    """Whether a name is among names of which some begin with ``*.``, which stands for one label."""
    return any(fnmatchcase(asked, name) and asked.count(".") == name.count(".") for name in names)


def context_of_pem(pem: str, settings: TlsSettings) -> ssl.SSLContext:
    """Return a context that shows a certificate that is in no file, given together with its key."""
    context = settings.context()
    with _as_file(pem.encode()) as path:
        context.load_cert_chain(path)
    return context


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Give a path to bytes, since OpenSSL is only told of paths: in memory, or for a moment on disk where it must be."""
    if not hasattr(os, "memfd_create"):
        with NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
        return
    memory = os.memfd_create("certificate")
    try:
        os.write(memory, content)
        yield f"/proc/self/fd/{memory}"
    finally:
        os.close(memory)
