"""Watch one kind: a list, then its changes, and a new list each time the server has forgotten our resourceVersion.

``watch`` is one stream. It ends when the server closes it, which it does every few minutes, or raises: Gone when the
version is too old, Unreachable when the connection breaks, even in the middle of a line. ``follow`` makes one stream
after the other of it: temporary failures (no response, too many requests, server errors, an expired token) are retried
with growing pauses, and reported as ``Interrupted``; permanent ones (no right, no such kind) are raised.

A kind without changes is silent after an outage, and something may have been missed. So the first stream after
connections that failed in a row is a short one. The server may send a bookmark before it ends it; one that has seen no
change of the kind since it was started does not. If nothing arrives, the kind is listed again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from restow.client.errors import (
    Gone,
    MalformedReply,
    NoCredentials,
    ServerTrouble,
    Status,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    Untrusted,
    refusal_of,
)
from restow.client.flow_control import STREAMS
from restow.client.listing import EVERYTHING, Selection, as_served, pages
from restow.client.resources import ApiResource
from restow.client.sessions import MIB, ONE_OBJECT
from restow.client.transport import Api
from restow.errors import ClientError
from restow.kube.decoding import decode_or_name
from restow.kube.excerpts import excerpt

#: Seconds that a stream is asked to last, between these two so that not all of them end at once. Source: client-go v0.36.
_SHORTEST, _LONGEST = 300, 600
#: Seconds of grace for the server to end it.
_GRACE = 30.0
#: A stream that ends sooner (seconds) and brought nothing counts as a failure.
_TOO_SHORT = 1.0
#: Seconds that the first stream after an outage is asked to last.
_FIRST = 6
#: What may pass.
_PASSING = (Unreachable, TooManyRequests, ServerTrouble, Unauthorized, NoCredentials, MalformedReply, Untrusted)
#: Spreads ends, keeps no secret.
_chance = random.Random()  # noqa: S311


class Listed(Struct, frozen=True):
    """A page of a fresh list; after the ``last`` one, objects that were not listed since ``first`` are gone."""

    objects: Sequence[Any]
    first: bool
    last: bool


class Changed(Struct, frozen=True):
    """An object is new, or has this new state; the raw fields of a pod keep the bytes of its event."""

    object: Any


class Removed(Struct, frozen=True):
    """An object is gone; this was its last state."""

    object: Any


class Current(Struct, frozen=True):
    """Nothing is missing up to this moment."""


class Interrupted(Struct, frozen=True):
    """A watch broke off and will be tried again."""

    error: ClientError
    #: Seconds until the next try.
    pause: float


Change = Changed | Removed | Current
WatchEvent = Listed | Change | Interrupted


class _Event(Struct, frozen=True):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: Raw


class _VersionOnly(Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Versioned(Struct, frozen=True):
    metadata: _VersionOnly = _VersionOnly()


_event = msgspec.json.Decoder(_Event)
_versioned = msgspec.json.Decoder(_Versioned)
_status = msgspec.json.Decoder(Status)


async def watch(
    api: Api, resource: ApiResource, since: str, selection: Selection = EVERYTHING, *, seconds: int | None = None
) -> AsyncGenerator[tuple[str, Change], None]:
    """Each change after version ``since``, with its version, until the server ends the stream: after ``seconds``, or minutes.

    Shortly before that it sends a bookmark, and one each minute. Source: the watch cache of apiserver v0.36.
    """
    seconds = seconds or _chance.randint(_SHORTEST, _LONGEST)
    params = selection.params() | {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": since,
        "timeoutSeconds": str(seconds),
    }
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(resource.type)
    async with (
        api.stream(resource.path(selection.namespace), params, seconds + _GRACE) as pieces,
        aclosing(_lines(pieces)) as lines,
    ):
        async for line in lines:
            yield _read(line, decoder, resource)


def _read(line: bytes, decoder: msgspec.json.Decoder[Any], resource: ApiResource) -> tuple[str, Change]:
    try:
        event = _event.decode(line)
        if event.type == "ERROR":
            raise refusal_of(_status.decode(event.object))
        version = _versioned.decode(event.object).metadata.resource_version
        if event.type == "BOOKMARK":
            return version, Current()
        found = decode_or_name(decoder, event.object)
        return version, Removed(found) if event.type == "DELETED" else Changed(found)
    except (msgspec.ValidationError, RecursionError) as error:
        raise MalformedReply(
            f"watch of {resource.plural}: the response does not match the API: {excerpt(error)}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreachable(f"watch of {resource.plural}: not JSON: {error}") from error


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Whole lines; Unreachable if the stream ends in the middle of one, TooLarge for one that is too long."""
    unfinished: list[bytes] = []
    length = 0
    async for piece in pieces:
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            line = b"".join((*unfinished, piece[start:end]))
            unfinished.clear()
            length = 0
            start = end + 1
            if line.strip():
                yield line
        if start < len(piece):
            unfinished.append(piece[start:])
            length += len(piece) - start
            if length > ONE_OBJECT:
                raise TooLarge(
                    f"the watch sent an event of more than {ONE_OBJECT // MIB} MiB, the most that restow reads"
                )
    if b"".join(unfinished).strip():
        raise Unreachable("the stream ended in the middle of an event")


@dataclass(slots=True)
class _Place:
    """The version up to which everything was received."""

    #: The version that was seen last; None before the first list and when the server has forgotten it.
    version: str | None = None
    #: In a row.
    failures: int = field(default=0)
    #: Whether the server had forgotten it, and nothing was received since.
    was_forgotten: bool = field(default=False)

    def advance(self, version: str) -> None:
        """Something was received, with its version."""
        self.version, self.failures, self.was_forgotten = version, 0, False

    def fail(self, error: ClientError) -> Interrupted:
        self.failures += 1
        return Interrupted(error, STREAMS.wait(self.failures, getattr(error, "retry_after", None)))


async def follow(
    api: Api, resource: ApiResource, selection: Selection = EVERYTHING
) -> AsyncGenerator[WatchEvent, None]:
    """Every object, then every change, until closed; Forbidden, NotFound and other refusals are raised.

    Close it (``contextlib.aclosing``) when stopping early, or the connection stays open.
    """
    place = _Place()
    while True:
        try:
            async with aclosing(_once(api, resource, selection, place)) as events:
                async for each in events:
                    yield each
            continue
        except Gone as error:
            # Only a second 410 in a row is worth waiting for.
            again, place.was_forgotten, place.version = place.was_forgotten, True, None
            if not again:
                continue
            interrupted = place.fail(error)
        except _PASSING as error:
            if isinstance(error, MalformedReply):
                # The same version would give the same answer.
                place.version = None
            interrupted = place.fail(error)
        yield interrupted
        await asyncio.sleep(interrupted.pause)


async def _once(
    api: Api, resource: ApiResource, selection: Selection, place: _Place
) -> AsyncGenerator[WatchEvent, None]:
    """The list, if there is no version to continue from, and one stream."""
    was_away = place.version is not None and place.failures > 1
    resource = await as_served(api, resource)
    if place.version is None:
        version = ""
        async with aclosing(pages(api, resource, selection)) as listed:
            async for page in listed:
                version = page.resource_version
                yield Listed(page.objects, page.first, page.last)
                # Not kept while the next page comes, and not as long as the stream lasts.
                del page
        place.version = version
    started = asyncio.get_running_loop().time()
    received = False
    seconds = _FIRST if was_away else None
    async with aclosing(watch(api, resource, place.version, selection, seconds=seconds)) as events:
        async for version, change in events:
            place.advance(version)
            received = True
            yield change
    if asyncio.get_running_loop().time() - started >= _TOO_SHORT:
        place.failures = 0
        if was_away and not received:
            place.version = None
    elif not received:
        raise Unreachable(f"the watch of {resource.plural} ended as soon as it started")
