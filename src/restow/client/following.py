"""Follow one kind: a list, then its changes, and a new list each time the server has forgotten our resourceVersion.

Temporary failures (no response, too many requests, server errors, an expired token) are retried with growing pauses,
and reported as ``Interrupted``. Permanent ones (no right, no such kind) are raised.

A kind without changes is silent after an outage, and something may have been missed. So the first stream after
connections that failed in a row is a short one. The server may send a bookmark before it ends it; one that has seen no
change of the kind since it was started does not. If nothing arrives, the kind is listed again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from restow.client.back_off import STREAMS
from restow.client.errors import (
    Gone,
    MalformedReply,
    NoCredentials,
    ServerTrouble,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    Untrusted,
)
from restow.client.listing import EVERYTHING, Selection, pages
from restow.client.resources import ApiResource
from restow.client.transport import Api
from restow.client.watching import Bookmark, Deleted, Watched, watch
from restow.errors import ClientError

#: A stream that ends sooner (seconds) and brought nothing counts as a failure.
_TOO_SHORT = 1.0
#: Seconds that the first stream after an outage is asked to last.
_FIRST = 6

_PASSING = (Unreachable, TooManyRequests, ServerTrouble, Unauthorized, NoCredentials, MalformedReply, Untrusted)


@dataclass(slots=True, frozen=True)
class Listed:
    """A page of a fresh list; after the ``last`` one, objects that were not listed since ``first`` are gone."""

    objects: Sequence[Any]
    first: bool
    last: bool


@dataclass(slots=True, frozen=True)
class Changed:
    """An object is new, or has this new state; the raw fields of a pod keep the bytes of its event."""

    object: Any


@dataclass(slots=True, frozen=True)
class Removed:
    """An object is gone; this was its last state."""

    object: Any


@dataclass(slots=True, frozen=True)
class Current:
    """Nothing is missing up to this moment."""


@dataclass(slots=True, frozen=True)
class Interrupted:
    """A watch broke off and will be tried again."""

    error: ClientError
    #: Seconds until the next try.
    pause: float


WatchEvent = Listed | Changed | Removed | Current | Interrupted


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
        async for event in events:
            place.advance(event.resource_version)
            received = True
            yield _watch_event(event)
    if asyncio.get_running_loop().time() - started >= _TOO_SHORT:
        place.failures = 0
        if was_away and not received:
            place.version = None
    elif not received:
        raise Unreachable(f"the watch of {resource.plural} ended as soon as it started")


def _watch_event(event: Watched) -> WatchEvent:
    if isinstance(event, Bookmark):
        return Current()
    return Removed(event.object) if isinstance(event, Deleted) else Changed(event.object)
