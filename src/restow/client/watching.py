"""Changes of one kind as they happen: one stream of a watch, from a version on.

A stream ends when the server closes it, which it does every few minutes, or raises: Gone when the version is too old,
Unreachable when the connection breaks, even in the middle of a line.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from restow.client.bodies import MIB, ONE_OBJECT
from restow.client.errors import MalformedReply, Status, TooLarge, Unreachable, refusal_of
from restow.client.listing import EVERYTHING, Selection
from restow.client.resources import ApiResource
from restow.client.transport import Api
from restow.kube.excerpts import excerpt
from restow.kube.objects.unreadable import decode_or_name

#: Seconds that a stream is asked to last, between these two so that not all of them end at once. Source: client-go v0.36.
_SHORTEST, _LONGEST = 300, 600
#: Seconds of grace for the server to end it.
_GRACE = 30.0
#: Spreads ends, keeps no secret.
_chance = random.Random()  # noqa: S311


@dataclass(slots=True, frozen=True)
class Added:
    """A new object, or one that now matches the selection; an ``Unreadable`` where it is not what the API promises."""

    object: Any
    resource_version: str


@dataclass(slots=True, frozen=True)
class Modified:
    """An object in its new state, or ``Unreadable``."""

    object: Any
    resource_version: str


@dataclass(slots=True, frozen=True)
class Deleted:
    """An object in its last state, or ``Unreadable``."""

    object: Any
    resource_version: str


@dataclass(slots=True, frozen=True)
class Bookmark:
    """Nothing has happened up to this version that was not sent."""

    resource_version: str


Watched = Added | Modified | Deleted | Bookmark


class _Event(Struct, frozen=True):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: Raw


class _VersionOnly(Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Versioned(Struct, frozen=True):
    metadata: _VersionOnly = _VersionOnly()


_OBJECT_EVENTS: Mapping[str, type[Added | Modified | Deleted]] = {
    "ADDED": Added,
    "MODIFIED": Modified,
    "DELETED": Deleted,
}
_event = msgspec.json.Decoder(_Event)
_versioned = msgspec.json.Decoder(_Versioned)
_status = msgspec.json.Decoder(Status)


async def watch(
    api: Api, resource: ApiResource, since: str, selection: Selection = EVERYTHING, *, seconds: int | None = None
) -> AsyncGenerator[Watched, None]:
    """Changes after version ``since`` until the server ends the stream, after ``seconds`` or some minutes.

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


def _read(line: bytes, decoder: msgspec.json.Decoder[Any], resource: ApiResource) -> Watched:
    try:
        event = _event.decode(line)
        if event.type == "ERROR":
            raise refusal_of(_status.decode(event.object))
        version = _versioned.decode(event.object).metadata.resource_version
        if event.type == "BOOKMARK":
            return Bookmark(version)
        return _OBJECT_EVENTS[event.type](decode_or_name(decoder, event.object), version)
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
