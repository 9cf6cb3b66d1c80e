"""HTTP sessions of aiohttp, with what it leaves to us: bodies up to a maximum size, and sockets that are closed at the end.

A few kilobytes of gzip can hold gigabytes, and the server may not be trusted: a Prometheus of a tenant, a token
endpoint. So the sessions do not decompress (``auto_decompress`` of aiohttp); it is done here, and the event loop runs
other tasks between the steps. A body above its limit is not read to its end, and its connection is closed.

aiohttp closes a TLS connection in use by sending close_notify and drops it; asyncio then waits for the other side's
close_notify, half a minute if necessary. And asyncio forgets a connection whose creation is cancelled in the very
iteration of the event loop in which it began. If the event loop ends meanwhile, such sockets stay open. So the sockets
are created here, and shut down in the end: their transports then read the end of the stream, regardless of the other
side, and close them.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import aiohttp
from aiohttp.connector import AddrInfoType

from restow.client.errors import MalformedReply, TooLarge, Unreachable
from restow.kube.excerpts import excerpt

MIB: Final = 1 << 20
#: Bytes of a refusal, and of what a token endpoint answers: a few hundred in practice.
FEW: Final = MIB
#: Bytes of one object, an event of a watch; the API server takes requests of 3 MiB.
ONE_OBJECT: Final = 16 * MIB
#: Bytes of what a Prometheus answers: 64 MiB are some 300,000 series, or a million samples of a history.
QUERY: Final = 64 * MIB
#: Bytes of what an API server answers: a page of 500 large objects, or all PodMetrics, which it does not send in pages.
PAGE: Final = 256 * MIB

#: Seconds for which an idle connection is kept.
_KEEP_ALIVE: Final = 60.0
#: Connections at a time; requests beyond wait for one. The watches keep about thirty, evictions and releases take 16 each.
MOST_CONNECTIONS: Final = 128

#: Seconds for closing all sockets: it takes a few iterations of the event loop and waits for no other program.
_CLOSING: Final = 5.0

#: Bytes that are decompressed between two turns of the event loop, and of input at most in one step.
_STEP: Final = MIB
_INPUT: Final = 16 << 10
_GZIP: Final = 16 + zlib.MAX_WBITS


async def body_of(response: aiohttp.ClientResponse, largest: int) -> bytes:
    """The whole body, decompressed; TooLarge for more than ``largest`` bytes, Unreachable for invalid gzip."""
    # Without compression the size is known beforehand.
    if not _is_gzip(response) and (response.content_length or 0) > largest:
        raise too_large(response, largest)
    pieces, size = [], 0
    async for piece in pieces_of(response):
        size += len(piece)
        if size > largest:
            raise too_large(response, largest)
        pieces.append(piece)
    return b"".join(pieces)


async def pieces_of(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The body in pieces as they come, decompressed; none is larger than a MiB, or than what came at once without gzip."""
    if not _is_gzip(response):
        async for piece in response.content.iter_any():
            yield piece
        return
    try:
        async for piece in _unpacked(response.content.iter_any()):
            yield piece
    except zlib.error as error:
        raise Unreachable(f"{_where(response)} answered what is no gzip: {error}") from error


def too_large(response: aiohttp.ClientResponse, largest: int) -> TooLarge:
    """The error for an answer that is not read any further; its connection is closed."""
    response.close()
    return TooLarge(f"{_where(response)} answered with more than {largest // MIB} MiB, the most that restow reads")


class SmallResponse(aiohttp.ClientResponse):
    """A response whose body is small, for the sessions of other libraries, which read it with its own methods."""

    async def read(self) -> bytes:
        """The body, ``FEW`` bytes at most; TooLarge."""
        if self._body is None:
            self._body = await body_of(self, FEW)
        return self._body


def _is_gzip(response: aiohttp.ClientResponse) -> bool:
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return False
    if encoding in ("gzip", "x-gzip"):
        return True
    raise MalformedReply(f"{_where(response)} answered with the encoding {excerpt(encoding)}, which was not asked for")


async def _unpacked(packed: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    unpacking = zlib.decompressobj(_GZIP)
    async for piece in packed:
        # In slices, for what follows the end of one member is copied.
        for start in range(0, len(piece), _INPUT):
            rest, is_full = piece[start : start + _INPUT], False
            # A step that is full may have left some output behind, even without input.
            while rest or is_full:
                if unpacking.eof:
                    unpacking = zlib.decompressobj(_GZIP)
                unpacked = unpacking.decompress(rest, _STEP)
                if unpacked:
                    yield unpacked
                rest = unpacking.unconsumed_tail or unpacking.unused_data
                is_full = len(unpacked) == _STEP
                await asyncio.sleep(0)


def _where(response: aiohttp.ClientResponse) -> str:
    """Server and path, without a password or a query."""
    url = response.url
    return f"{url.origin()}{url.path}"


class Sockets:
    """Makes sockets (aiohttp's ``socket_factory``) and knows which of them are open."""

    def __init__(self) -> None:
        self._open: set[socket.socket] = set()
        #: Set by ``end``; done when no socket is open.
        self._ended: asyncio.Future[None] | None = None

    def make(self, address: AddrInfoType) -> socket.socket:
        """A socket for an address, not connected yet; OSError after ``end``."""
        if self._ended is not None:
            raise OSError(errno.ESHUTDOWN, os.strerror(errno.ESHUTDOWN))
        family, kind, protocol, *_ = address
        made = _Socket(family, kind, protocol)
        made.on_close = self._closed
        self._open.add(made)
        return made

    async def end(self) -> None:
        """Break off every connection; returns when all sockets are closed."""
        self._ended = asyncio.get_running_loop().create_future()
        for each in self._open:
            # Who was about to connect one closes it.
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        if self._open:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING):
                    await self._ended

    def _closed(self, which: socket.socket) -> None:
        self._open.discard(which)
        if not self._open and self._ended is not None and not self._ended.done():
            self._ended.set_result(None)


class _Socket(socket.socket):
    """Says when it is closed."""

    on_close: Callable[[socket.socket], None]

    def close(self) -> None:
        super().close()
        self.on_close(self)


@asynccontextmanager
async def open_session() -> AsyncIterator[aiohttp.ClientSession]:
    """HTTP without cookies, over ``MOST_CONNECTIONS`` at most, which are closed at the end."""
    sockets = Sockets()
    connector = aiohttp.TCPConnector(limit=MOST_CONNECTIONS, keepalive_timeout=_KEEP_ALIVE, socket_factory=sockets.make)
    try:
        async with aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            # ``body_of`` and ``pieces_of`` do it, up to a size.
            auto_decompress=False,
        ) as session:
            yield session
    finally:
        await sockets.end()
