"""Events of events.k8s.io/v1: written in the background, repeated ones as a series.

If the same event of the same object is repeated within six minutes, one event has a ``series`` with its ``count`` and
``lastObservedTime``. It is written by replacing the event, because the descheduler's role may create and update events
but not patch them. A queue of limited length feeds one writer. An event that does not fit, is refused or is not
accepted in time is lost and counted, for events are never worth waiting for.
Source: client-go v0.36, tools/events.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Literal, Self

import msgspec
from msgspec import Struct

from restow.client import objects
from restow.client.errors import NotFound, ServerTrouble, TooManyRequests, Unreachable
from restow.client.flow_control import patiently
from restow.client.leader_election import micro_time
from restow.client.resources import EVENTS
from restow.client.transport import Api
from restow.plain_text import public_line

#: Seconds for which a repetition still belongs to a series.
_SERIES_AGE = 360.0
#: Events that wait to be written, and series that are remembered.
_QUEUE = 1_000
_REMEMBERED = 4_096
#: Seconds for which one event is tried.
_PATIENCE = 30.0
#: Seconds for all that still waits at the end.
FAREWELL: Final = 10.0
#: The longest note and reason that the API takes, in bytes of UTF-8.
_LONGEST_NOTE = 1_024
#: What is left of 253 characters after a dot and the time in hexadecimal digits.
_LONGEST_NAME = 253 - 17
#: Where events about objects without a namespace are kept.
_CLUSTER_WIDE = "default"


class Regarding(Struct, frozen=True, rename="camel"):
    """The object that an event is about."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    api_version: str = "v1"


class EventSeries(Struct, frozen=True, rename="camel"):
    """How often an event was repeated."""

    count: int
    last_observed_time: str


class Event(Struct, frozen=True, rename="camel"):
    """An events.k8s.io/v1 Event."""

    metadata: dict[str, Any]
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: Regarding
    note: str
    type: Literal["Normal", "Warning"]
    related: Regarding | None = None
    series: EventSeries | None = None
    api_version: str = "events.k8s.io/v1"
    kind: str = "Event"


class Occurrence(Struct, frozen=True):
    """Something that happened to an object."""

    regarding: Regarding
    #: One word, such as the name of the strategy.
    reason: str
    #: What was done, in one word.
    action: str
    #: A sentence for people.
    note: str
    type: Literal["Normal", "Warning"] = "Normal"
    related: Regarding | None = None


#: Why an event is lost: too many waited, the server refused it or did not take it in time, or there was no time left.
Loss = Literal["full", "refused", "unavailable", "stopping"]
#: Called with the reason, in a word and in a sentence, and the number of events.
OnLost = Callable[[Loss, str, int], None]

_Likeness = tuple[Regarding, str, str, str, Regarding | None]


@dataclass(slots=True)
class _Written:
    """An event as it was written last."""

    event: Event
    #: Of its first or last occurrence, in the event loop's time.
    at: float


@dataclass(slots=True)
class EventRecorder:
    """Use as an asynchronous context: leaving it writes what still waits, for ``FAREWELL`` seconds at most."""

    api: Api
    controller: str
    instance: str
    on_lost: OnLost
    _waiting: asyncio.Queue[Occurrence] = field(init=False, default_factory=lambda: asyncio.Queue(_QUEUE))
    _written: OrderedDict[_Likeness, _Written] = field(init=False, default_factory=OrderedDict)
    _writer: asyncio.Task[None] | None = field(init=False, default=None)
    _named: int = field(init=False, default=0)

    async def __aenter__(self) -> Self:
        self._writer = asyncio.create_task(self._write())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            async with asyncio.timeout(FAREWELL):
                await self.flush()
        except TimeoutError:
            self.on_lost("stopping", "restow exited before the API server accepted it", self._waiting.qsize() + 1)
        finally:
            await self._stop()

    def record(self, occurrence: Occurrence) -> None:
        """Say that something happened; returns at once and never fails."""
        try:
            self._waiting.put_nowait(occurrence)
        except asyncio.QueueFull:
            self.on_lost("full", f"{_QUEUE} others are already waiting for the API server", 1)

    async def flush(self) -> None:
        """Return when everything recorded so far is written or lost."""
        await self._waiting.join()

    async def _stop(self) -> None:
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.wait((self._writer,))

    async def _write(self) -> None:
        while True:
            occurrence = await self._waiting.get()
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._write_one(occurrence)
            except TimeoutError:
                self.on_lost("unavailable", f"the API server did not accept it within {_PATIENCE:.0f} s", 1)
            except (Unreachable, TooManyRequests, ServerTrouble) as error:
                self.on_lost("unavailable", str(error), 1)
            except Exception as error:  # noqa: BLE001 - one bad event must not keep others from being written
                self.on_lost("refused", str(error), 1)
            finally:
                self._waiting.task_done()

    async def _write_one(self, occurrence: Occurrence) -> None:
        likeness = _likeness(occurrence)
        now = asyncio.get_running_loop().time()
        written = self._written.pop(likeness, None)
        if written is not None and now - written.at <= _SERIES_AGE:
            event = await self._repeated(written.event)
        else:
            event = await self._patiently(self._first(occurrence), new=True)
        self._written[likeness] = _Written(event, now)
        if len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    async def _repeated(self, event: Event) -> Event:
        count = event.series.count + 1 if event.series is not None else 2
        again = msgspec.structs.replace(event, series=EventSeries(count, micro_time(time.time())))
        try:
            return await self._patiently(again, new=False)
        except NotFound:
            # The server keeps events for an hour only.
            return await self._patiently(msgspec.structs.replace(again, series=None), new=True)

    async def _patiently(self, event: Event, *, new: bool) -> Event:
        """Write, again if the server had no time; the event itself, without what the server adds."""
        namespace, name = event.metadata["namespace"], event.metadata["name"]
        if new:
            await patiently(lambda: objects.create(self.api, EVENTS, namespace, event))
        else:
            await patiently(lambda: objects.replace(self.api, EVENTS, namespace, name, event))
        return event

    def _first(self, occurrence: Occurrence) -> Event:
        self._named += 1
        now = time.time()
        about = occurrence.regarding
        # Unique as long as no two restows say something about one object in the same nanosecond.
        name = f"{about.name[:_LONGEST_NAME].rstrip('-.')}.{int(now * 1e9) + self._named:x}"
        return Event(
            metadata={"name": name, "namespace": about.namespace or _CLUSTER_WIDE},
            event_time=micro_time(now),
            reporting_controller=self.controller,
            reporting_instance=self.instance,
            action=occurrence.action,
            reason=occurrence.reason,
            regarding=about,
            note=_note(occurrence.note),
            type=occurrence.type,
            related=occurrence.related,
        )


def _likeness(occurrence: Occurrence) -> _Likeness:
    """What two occurrences share that are one event."""
    return occurrence.regarding, occurrence.type, occurrence.action, occurrence.reason, occurrence.related


def _note(text: str) -> str:
    """Return a note: one line, within the API's maximum length."""
    note = public_line(text)
    encoded = note.encode()
    if len(encoded) <= _LONGEST_NOTE:
        return note
    return encoded[: _LONGEST_NOTE - 3].decode(errors="ignore") + "..."
