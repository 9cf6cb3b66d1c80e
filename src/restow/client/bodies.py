"""The bodies of responses: decompressed in small steps, and read up to a maximum size.

A few kilobytes of gzip can hold gigabytes, and the server may not be trusted: a Prometheus of a tenant, a token
endpoint. So the sessions do not decompress (``auto_decompress`` of aiohttp); it is done here, and the event loop runs
other tasks between the steps. A body above its limit is not read to its end, and its connection is closed.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from typing import Final

import aiohttp

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
