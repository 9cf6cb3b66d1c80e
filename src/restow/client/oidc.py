"""Tokens of an OpenID provider: used until they expire, then traded for new ones with the refresh token.

A new refresh token is written back to the kubeconfig, as kubectl does, because the old one may be worth nothing
afterwards. Source: client-go v0.36, plugin/pkg/client/auth/oidc.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote_plus

import aiohttp
import msgspec
from msgspec import Struct

from restow.client.credentials import Identity, Trust, basic, bearer
from restow.client.errors import NoCredentials
from restow.client.proxies import proxy_for
from restow.client.sessions import SmallResponse, Sockets
from restow.configuration_files import read_small_file
from restow.errors import ClientError, InputError
from restow.kube.excerpts import excerpt

S = TypeVar("S", bound=Struct)

#: Seconds before its end in which a token is no longer used.
_MARGIN = 30.0
#: Seconds for the provider to answer.
_PATIENCE = 30.0


class _Claims(Struct, frozen=True):
    """What is read of a token."""

    exp: float | None = None


class _Metadata(Struct, frozen=True):
    """What the provider says of itself."""

    token_endpoint: str


class _Granted(Struct, frozen=True):
    """What the provider answers."""

    id_token: str
    refresh_token: str | None = None


@dataclass(slots=True)
class OpenID:
    """The ``oidc`` auth provider of a user."""

    #: The ``config`` section, which changes when tokens do.
    settings: dict[str, str] = field(repr=False)
    #: Writes the changed settings back, if the file may be written.
    save: Callable[[], None]
    origin: str
    _running: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _refused: str | None = field(init=False, default=None)

    async def identity(self) -> Identity:
        """The token, a new one where it has expired; NoCredentials where the provider gives none."""
        async with self._running:
            token = self.settings.get("id-token")
            if not token or token == self._refused or time.time() >= self._end(token) - _MARGIN:
                token = await self._refresh()
            return Identity((bearer(token, f"{self.origin}: id-token"),))

    def rejected(self) -> None:
        """Ask for another token before the next request."""
        self._refused = self.settings.get("id-token")

    def _end(self, token: str) -> float:
        try:
            part = token.split(".")[1]
            claims = msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)), type=_Claims)
        except (IndexError, binascii.Error, msgspec.MsgspecError) as error:
            raise NoCredentials(f"{self.origin}: id-token is not a JSON web token; log in again") from error
        return float("inf") if claims.exp is None else claims.exp

    async def _refresh(self) -> str:
        missing = [name for name in ("idp-issuer-url", "client-id", "refresh-token") if not self.settings.get(name)]
        if missing:
            raise NoCredentials(
                f"{self.origin}: the token has expired and {', '.join(missing)} is missing; log in again"
            )
        granted = await self._ask()
        self.settings["id-token"] = granted.id_token
        self.settings["refresh-token"] = granted.refresh_token or self.settings["refresh-token"]
        # A mounted kubeconfig cannot be changed; the tokens stay in memory.
        with suppress(OSError):
            self.save()
        return granted.id_token

    async def _ask(self) -> _Granted:
        issuer, sockets = self.settings["idp-issuer-url"], Sockets()
        form = {"grant_type": "refresh_token", "refresh_token": self.settings["refresh-token"]}
        try:
            async with self._session(sockets) as session:
                found = session.get(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
                endpoint = await _answer(found, _Metadata, "the well-known metadata cannot be read")
                granted = session.post(endpoint.token_endpoint, data=form, headers=dict([self._client()]))
                return await _answer(granted, _Granted, "failed to refresh access token")
        except (aiohttp.ClientError, TimeoutError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise NoCredentials(f"{self.origin}: {issuer} did not issue a new token ({error}); log in again") from error
        except InputError as error:
            raise NoCredentials(str(error)) from error
        except ClientError as error:
            raise NoCredentials(f"{self.origin}: no new token: {error}") from error
        finally:
            await sockets.end()

    def _session(self, sockets: Sockets) -> aiohttp.ClientSession:
        trust = Trust(self._authorities(), origin=self.origin)
        return aiohttp.ClientSession(
            headers={"Accept": "application/json"},
            connector=aiohttp.TCPConnector(ssl=trust.context(), socket_factory=sockets.make),
            proxy=proxy_for(self.settings["idp-issuer-url"], os.environ),
            auto_decompress=False,
            response_class=SmallResponse,
            timeout=aiohttp.ClientTimeout(total=_PATIENCE),
        )

    def _client(self) -> tuple[str, str]:
        """The header that says who asks. RFC 6749 section 2.3.1: both parts are form-encoded first."""
        return basic(*(quote_plus(self.settings.get(name) or "") for name in ("client-id", "client-secret")))

    def _authorities(self) -> bytes | None:
        data, file = (self.settings.get(f"idp-certificate-authority{end}") for end in ("-data", ""))
        try:
            return base64.b64decode(data) if data else read_small_file(file) if file else None
        except (OSError, binascii.Error) as error:
            raise NoCredentials(f"{self.origin}: idp-certificate-authority cannot be read: {error}") from error


async def _answer(asked: AbstractAsyncContextManager[aiohttp.ClientResponse], cls: type[S], failure: str) -> S:
    """What an endpoint of the provider answers; aiohttp.ClientError where it refuses."""
    async with asked as response:
        if not response.ok:
            raise aiohttp.ClientError(f"{failure}: {response.status} {excerpt(response.reason)}")
        return msgspec.json.decode(await response.read(), type=cls)
