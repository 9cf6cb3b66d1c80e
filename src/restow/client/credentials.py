"""Who we are, as headers and a TLS context: fixed, or in a file that is rotated.

``Credentials`` are asked before every request, because tokens are replaced while a daemon runs, and are told when the
server did not accept them. ``exec_plugin`` and ``oidc`` are the two that ask others.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from restow.client.errors import NoCredentials

#: Seconds for which a token file is believed. Source: cachingTokenSource, client-go v0.36.
_TOKEN_FILE_AGE = 60.0


@dataclass(slots=True, frozen=True)
class Identity:
    """What goes with a request; secrets are not in its text."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    #: None for a server without TLS.
    tls: ssl.SSLContext | None = None


class Credentials(Protocol):
    """The source of an identity."""

    async def identity(self) -> Identity:
        """The identity as it is now; NoCredentials where there is none."""

    def rejected(self) -> None:
        """The server answered 401: forget what is remembered."""


@dataclass(slots=True, frozen=True)
class Fixed:
    """Nothing that changes: no credentials, a token, a password, a certificate."""

    known: Identity

    async def identity(self) -> Identity:
        """Always the same."""
        return self.known

    def rejected(self) -> None:
        """Nothing to forget."""


@dataclass(slots=True)
class TokenFile:
    """A token in a file that somebody else replaces, as the kubelet does with a service account's."""

    path: Path
    tls: ssl.SSLContext | None
    _token: str = field(init=False, default="", repr=False)
    _read_at: float = field(init=False, default=float("-inf"))

    async def identity(self) -> Identity:
        """The token, read again once a minute; the last one as long as the file cannot be read."""
        now = asyncio.get_running_loop().time()
        if now - self._read_at >= _TOKEN_FILE_AGE:
            self._read()
            self._read_at = now
        return Identity((bearer(self._token),), self.tls)

    def rejected(self) -> None:
        """Read the file again before the next request."""
        self._read_at = float("-inf")

    def _read(self) -> None:
        try:
            token = self.path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            if not self._token:
                raise NoCredentials(f"{self.path}: the token file cannot be read: {error}") from error
            return
        if not token and not self._token:
            raise NoCredentials(f"{self.path}: the token file is empty")
        self._token = token or self._token


@dataclass(slots=True, frozen=True)
class Impersonating:
    """Credentials that act for another user, as ``as`` in a kubeconfig asks."""

    own: Credentials
    headers: tuple[tuple[str, str], ...]

    async def identity(self) -> Identity:
        """Our own identity with the headers that name the other user."""
        known = await self.own.identity()
        return Identity(known.headers + self.headers, known.tls)

    def rejected(self) -> None:
        """Tell our own credentials."""
        self.own.rejected()


def bearer(token: str) -> tuple[str, str]:
    """The header that carries a token."""
    return "Authorization", f"Bearer {token}"
