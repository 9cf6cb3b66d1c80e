"""Where an API server is, how to trust it, and who we are to it: as headers and a TLS context, fixed or rotated in files.

``Credentials`` are asked before every request, because tokens are replaced while a daemon runs, and ``rejected`` is
called when the server did not accept them. ``exec_plugin`` and ``oidc`` are the two that ask others. The server is
always verified (``Trust``), unless the kubeconfig itself says ``insecure-skip-tls-verify``.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from restow.client.errors import NoCredentials
from restow.configuration_files import ReloadingFile, memory_file, read_small_file
from restow.errors import InputError

#: Seconds for which a token file is believed. Source: cachingTokenSource, client-go v0.36.
_TOKEN_FILE_AGE = 60.0


@dataclass(slots=True, frozen=True)
class Identity:
    """What goes with a request; secrets are not in its text."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    #: None for a server without TLS.
    tls: ssl.SSLContext | None = None
    #: Why ``tls`` is not made of the files as they are now; empty where it is.
    outdated: str = ""


class Credentials(Protocol):
    """The source of an identity."""

    async def identity(self) -> Identity:
        """The identity as it is now; NoCredentials where there is none."""

    def rejected(self) -> None:
        """The server answered 401: forget what is remembered."""


class Fixed(Struct, frozen=True):
    """Nothing that changes: no credentials, a token, a password, a certificate."""

    known: Identity

    async def identity(self) -> Identity:
        """Always the same."""
        return self.known

    def rejected(self) -> None:
        """Nothing to forget."""


@dataclass(slots=True)
class TokenFile:
    """A token in a file that another program replaces, as the kubelet does with a service account's."""

    path: Path
    #: What was read last; at first what counts until the file can be read, None where that is an error.
    _header: tuple[str, str] | None = field(default=None, repr=False)
    _read_at: float = field(init=False, default=float("-inf"))

    async def identity(self) -> Identity:
        """The token, read again once a minute; the last one as long as the file cannot be read."""
        now = asyncio.get_running_loop().time()
        if now - self._read_at >= _TOKEN_FILE_AGE:
            self._read()
            self._read_at = now
        return Identity(() if self._header is None else (self._header,))

    def rejected(self) -> None:
        """Read the file again before the next request."""
        self._read_at = float("-inf")

    def _read(self) -> None:
        try:
            self._header = self._in_file()
        except NoCredentials:
            if self._header is None:
                raise

    def _in_file(self) -> tuple[str, str]:
        try:
            token = read_small_file(str(self.path)).decode().strip()
        except (OSError, UnicodeDecodeError, InputError) as error:
            raise NoCredentials(f"{self.path}: the token file cannot be read: {error}") from error
        if not token:
            raise NoCredentials(f"{self.path}: the token file is empty")
        return bearer(token, str(self.path))


class WithHeaders(Struct, frozen=True):
    """Credentials with more headers, such as those that name another user, as ``as`` in a kubeconfig asks."""

    own: Credentials
    headers: tuple[tuple[str, str], ...]

    async def identity(self) -> Identity:
        """Our own identity with the headers."""
        known = await self.own.identity()
        return replace(known, headers=known.headers + self.headers)

    def rejected(self) -> None:
        """Pass it on to our own credentials."""
        self.own.rejected()


class OverTls:
    """Credentials with the TLS context of the server, made again when a certificate's file is replaced."""

    def __init__(self, own: Credentials, files: Sequence[Path], make: Callable[[], ssl.SSLContext]) -> None:
        #: Who we are, without the connection.
        self.own = own
        self._tls = ReloadingFile(files, make)

    async def identity(self) -> Identity:
        """Our own identity, with a TLS context if it brings none."""
        known = await self.own.identity()
        return known if known.tls is not None else replace(known, tls=self._tls.current(), outdated=self._tls.trouble)

    def rejected(self) -> None:
        """Pass it on to our own credentials; files are looked at before every request anyway."""
        self.own.rejected()


@dataclass(slots=True, frozen=True)
class Endpoint:
    """One API server and who we are to it."""

    #: URL without a password, and without a slash at its end.
    server: str
    credentials: Credentials
    #: The name that the server's certificate must have, where it is not the one in the URL.
    server_name: str | None = None
    #: URL of a proxy, maybe with a password; None for a direct connection.
    proxy: str | None = field(default=None, repr=False)
    #: How answers may be compressed, as Accept-Encoding has it.
    encoding: str = "gzip"
    #: File and context, or the service account: for errors.
    origin: str = ""
    #: Sentences to print before the first request.
    warnings: tuple[str, ...] = ()


def bearer(token: str, origin: str) -> tuple[str, str]:
    """The header that carries a token; NoCredentials for one that no header can hold."""
    if not (token.isascii() and token.isprintable()):
        raise NoCredentials(f"{origin}: the token contains characters that are not allowed in an HTTP header")
    return "Authorization", f"Bearer {token}"


def basic(name: str, password: str) -> tuple[str, str]:
    """The header that carries a name and a password."""
    return "Authorization", f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


@dataclass(slots=True, frozen=True)
class Certificate:
    """A client certificate with its key, both PEM."""

    chain: bytes = field(repr=False)
    key: bytes = field(repr=False)
    #: File and field, for errors.
    origin: str


class Trust(Struct, frozen=True):
    """What a server's certificate is checked against."""

    #: PEM certificates; None for those of the system.
    authorities: bytes | None = None
    #: The name to look for in the certificate instead of the server's own.
    server_name: str | None = None
    skip_verification: bool = False
    #: File and field of the authorities, for errors.
    origin: str = ""

    def context(self, certificate: Certificate | None = None) -> ssl.SSLContext:
        """A TLS context; InputError names the file and field of a certificate that cannot be read."""
        context = self._verifying()
        # Python 3.13 adds checks of extensions that many clusters' own authorities lack; Go does not ask for them.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self.skip_verification:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate is not None:
            _present(context, certificate)
        return context

    def _verifying(self) -> ssl.SSLContext:
        if self.authorities is None:
            return ssl.create_default_context()
        try:
            # What is around the certificates may be in any encoding.
            return _trusting(self.authorities.decode("ascii", errors="ignore"))
        except (ssl.SSLError, ValueError) as error:
            raise InputError(f"{self.origin}: contains no PEM certificate of an authority ({_why(error)})") from error


def _trusting(authorities: str) -> ssl.SSLContext:
    if not authorities.strip():
        # Python would take nothing for the authorities of the system.
        raise ValueError("the file is empty")
    return ssl.create_default_context(cadata=authorities)


def _present(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Prove who we are by a certificate."""
    try:
        with memory_file(certificate.chain + b"\n" + certificate.key) as file:
            context.load_cert_chain(file, password=_no_password)
    except ssl.SSLError as error:
        raise InputError(
            f"{certificate.origin}: not a PEM certificate with its unencrypted key ({_why(error)})"
        ) from error
    except OSError as error:
        raise InputError(
            f"{certificate.origin}: cannot be passed to OpenSSL: there is neither /proc nor a temporary directory ({error})"
        ) from error


def _no_password() -> str:
    """OpenSSL would ask the terminal for the password of an encrypted key."""
    return ""


def _why(error: Exception) -> str:
    return (error.reason if isinstance(error, ssl.SSLError) and error.reason else str(error)).lower()
