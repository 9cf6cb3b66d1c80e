"""One API server: bytes out, bytes in, with limits, time-outs, permits and typed errors.

Reads are idempotent, so ``Api.read`` repeats them after what may pass: no answer, half an answer, 429, 5xx. ``Api.send``
never repeats anything but a request refused with 401, of which nothing was done; who writes must decide. Both fail with
the exceptions of ``errors``. A write that only a leader may do asks its ``Permit`` just before its first byte goes out.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

import aiohttp
import msgspec
from aiohttp import BytesPayload
from aiohttp.abc import AbstractStreamWriter
from msgspec import Struct
from yarl import URL

from restow.client import sessions
from restow.client.credentials import Endpoint, Identity
from restow.client.errors import (
    MalformedReply,
    NotPermitted,
    Unauthorized,
    Unreachable,
    Untrusted,
    refusal,
)
from restow.client.flow_control import TokenBucket, patiently
from restow.client.server import ServerTime
from restow.errors import ClientError
from restow.kube.excerpts import LONGEST, excerpt
from restow.plain_text import without_secrets
from restow.version import __version__

T = TypeVar("T")

#: Seconds that a whole request may take by default; the API server itself ends every request but a watch after 60.
TIME_OUT = 65.0
#: Seconds to reach the server.
_CONNECT = 15.0
#: Seconds of silence after which a stream is dead: the server sends a bookmark each minute. The first bookmark of the
#: next stream arrives before the state from the dead one is no longer trusted (``live.reflector``).
_SILENCE = 100.0
#: How often a read is tried in all.
TRIES = 5
#: Paths that the API server passes on to others, whose clocks are not the one that dates objects.
_PASSED_ON = ("/apis/metrics.k8s.io/",)
_USER_AGENT = f"restow/{__version__}"
_JSON = "application/json"

#: Seconds for which a write is still allowed; zero or less when it is not.
Permit = Callable[[], float]


class PermittedBody(BytesPayload):
    """The body of a request that needs a permission, which is checked again when the body is written.

    Between the decision to send and the first byte, the event loop runs other tasks and perhaps a connection is made. A
    process that was paused meanwhile would write as soon as it continues, before any timer ends the request. aiohttp
    holds the headers back until the body comes, so nothing has been sent of a request that ends here.
    """

    def __init__(self, body: bytes, permit: Permit) -> None:
        super().__init__(body)
        self._permit = permit

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Write the bytes; NotPermitted, and nothing is written, if the permission has ended."""
        if self._permit() <= 0:
            raise NotPermitted("the permission to write has expired; nothing was sent")
        await super().write_with_length(writer, content_length)


def always() -> float:
    """The permission of a program that runs without leader election."""
    return float("inf")


class Call(Struct, frozen=True):
    """One HTTP request."""

    method: str
    path: str
    params: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes | None = None
    content_type: str = _JSON


@dataclass(slots=True)
class Api:
    """A client of one server, made by ``connection.connect``."""

    endpoint: Endpoint
    session: aiohttp.ClientSession
    #: None for no limit.
    limit: TokenBucket | None
    #: What time it is for the server.
    server_time: ServerTime = field(default_factory=ServerTime)
    #: Seconds that a request may take, unless it is a stream.
    time_out: float = TIME_OUT
    #: How often a read is tried in all.
    tries: int = TRIES
    #: Bytes of an answer at most, after decompression; TooLarge, which is not asked for again.
    largest: int = sessions.PAGE

    def without_limit(self) -> Api:
        """The same server for what may not wait behind a queue of other requests, such as the renewal of a lease."""
        return replace(self, limit=None)

    def within(self, seconds: float) -> Api:
        """The same server for requests that are not worth more time, or whose sender has to try again in time."""
        return replace(self, time_out=min(self.time_out, seconds))

    def up_to(self, largest: int) -> Api:
        """The same server, for responses of at most ``largest`` bytes."""
        return replace(self, largest=min(self.largest, largest))

    def once(self) -> Api:
        """The same server for reads that are not repeated, since the caller reads again later anyway."""
        return replace(self, tries=1)

    async def read(self, path: str, params: Mapping[str, str], decode: Callable[[bytes], T]) -> T:
        """The decoded answer to a GET, asked for again while there is hope."""
        call = Call("GET", path, params)

        async def attempt() -> T:
            return decoded(await self.send(call), decode, call)

        return await patiently(attempt, self.tries)

    async def send(self, call: Call, *, permit: Permit | None = None) -> bytes:
        """The body of the answer; ``permit`` is asked when the request goes out, and bounds it: NotPermitted, unsent."""
        limits = aiohttp.ClientTimeout(total=self.time_out, sock_connect=_CONNECT)
        async with self._open(call, permit, limits) as response:
            return await sessions.body_of(response, self.largest)

    @asynccontextmanager
    async def stream(self, path: str, params: Mapping[str, str], seconds: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """The response to a GET in pieces as they arrive, for at most ``seconds``."""
        limits = aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT, sock_read=_SILENCE)
        async with self._open(Call("GET", path, params), None, limits) as response:
            yield sessions.pieces_of(response)

    @asynccontextmanager
    async def _open(
        self, call: Call, permit: Permit | None, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A successful response; anything that fails while it is read becomes a typed error."""
        try:
            response = await self._accepted(call, permit, limits)
            async with response:
                yield response
        except aiohttp.ClientError as error:
            if isinstance(error.__cause__, NotPermitted):
                raise error.__cause__ from None
            raise self._failure(error) from error
        except TimeoutError as error:
            raise Unreachable(f"{self.endpoint.server} did not answer in time ({self.endpoint.origin})") from error

    async def _accepted(
        self, call: Call, permit: Permit | None, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        try:
            return await self._once(call, permit, limits)
        except Unauthorized:
            # Nothing was done; the token may just have been replaced.
            self.endpoint.credentials.rejected()
            return await self._once(call, permit, limits)

    async def _once(self, call: Call, permit: Permit | None, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        identity = await self.endpoint.credentials.identity()
        if self.limit is not None:
            await self.limit.take()
        response = await self._agreed(call, identity, permit, limits)
        if response.status < 300:
            if not call.path.startswith(_PASSED_ON):
                self.server_time.answered(response.headers.get("Date"))
            return response
        async with response:
            body = await sessions.body_of(response, sessions.FEW)
            raise refusal(response.status, body, response.headers, self.server_time.now())

    async def _agreed(
        self, call: Call, identity: Identity, permit: Permit | None, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """The answer, if both sides trust each other; certificates may just have been replaced, and nothing was sent."""
        try:
            return await self._request(call, identity, permit, limits)
        except aiohttp.ClientSSLError as error:
            now = await self.endpoint.credentials.identity()
            if now.tls is identity.tls:
                raise self._distrust(error, identity) from error
        return await self._request(call, now, permit, limits)

    async def _request(
        self, call: Call, identity: Identity, permit: Permit | None, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        body = call.body if call.body is None or permit is None else PermittedBody(call.body, permit)
        headers = [
            ("User-Agent", _USER_AGENT),
            ("Accept", _JSON),
            ("Accept-Encoding", self.endpoint.encoding),
            *identity.headers,
        ]
        if call.body is not None:
            headers.append(("Content-Type", call.content_type))
        return await self.session.request(
            call.method,
            URL(self.endpoint.server + call.path, encoded=True),
            params=call.params,
            data=body,
            headers=headers,
            timeout=_within(permit, limits),
            ssl=identity.tls if identity.tls is not None else True,
            server_hostname=self.endpoint.server_name,
            proxy=self.endpoint.proxy,
            # A redirect would send the token to another server.
            allow_redirects=False,
        )

    def _failure(self, error: aiohttp.ClientError) -> ClientError:
        if isinstance(error, aiohttp.ClientSSLError):
            return self._distrust(error, Identity())
        where = f"{self.endpoint.server} ({self.endpoint.origin})"
        if isinstance(error, aiohttp.ClientConnectorError):
            return Unreachable(f"{where} cannot be reached: {_reason(error.os_error)}")
        # What was no HTTP is repeated by the library, lines and all.
        words = " ".join(without_secrets(str(error)).split())[:LONGEST]
        return Unreachable(f"{where}: the connection broke: {words or type(error).__name__}")

    def _distrust(self, error: aiohttp.ClientSSLError, identity: Identity) -> Untrusted:
        where = f"{self.endpoint.server} ({self.endpoint.origin})"
        outdated = f"; newer files cannot be used: {identity.outdated}" if identity.outdated else ""
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            why = f"the server's certificate cannot be verified: {error.certificate_error}"
        else:
            why = f"TLS handshake failed: {error.os_error}"
        return Untrusted(f"{where}: {why}{outdated}")


def decoded(body: bytes, decode: Callable[[bytes], T], call: Call) -> T:
    """The answer to a call; MalformedReply or Unreachable if it is not what it should be, or not the whole of it."""
    try:
        return decode(body)
    except (msgspec.ValidationError, RecursionError) as error:
        raise MalformedReply(
            f"{call.method} {call.path}: the response does not match the API: {excerpt(error)}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreachable(f"{call.method} {call.path}: the response is not complete JSON: {error}") from error


def _reason(error: OSError) -> str:
    """The system's words; asyncio has its own for a refused connection."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    return str(error.strerror or error)


def _within(permit: Permit | None, limits: aiohttp.ClientTimeout) -> aiohttp.ClientTimeout:
    if permit is None:
        return limits
    remaining = permit()
    if remaining <= 0:
        raise NotPermitted("the permission to write has expired; nothing was sent")
    return aiohttp.ClientTimeout(total=min(limits.total or remaining, remaining), sock_connect=limits.sock_connect)
