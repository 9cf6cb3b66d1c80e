"""Follows every kind of a cluster, and has each change written.

Nothing is written before every kind was listed once, or refused: a recording begins with the whole cluster. A kind that
cannot be followed is marked in the recording, from then until everything of it is known again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import Raw, structs

from restow.client.errors import ApiError, Forbidden, NotFound
from restow.client.listing import pages
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.client.watching import Changed, Current, Interrupted, Listed, Removed, WatchEvent, follow
from restow.errors import ClientError
from restow.kube.decoding import name_of, path_first
from restow.live.reading import METRICS, OPTIONAL, REQUIRED, refusal_sentence
from restow.live.reflector import REFUSED
from restow.recordings.lines import RECORDED
from restow.recordings.redaction import Redactor
from restow.recordings.writing import Key, RecordingWriter

#: Seconds from one flush to the next, and until a kind that the API server does not serve is requested again.
_FLUSH: Final = 5.0
_ASKED_AGAIN: Final = 60.0

Warn = Callable[[str], None]


@dataclass(slots=True)
class Recorder:
    """Records kinds of a cluster until its task is cancelled; ``warn`` gets a sentence for what cannot be recorded."""

    api: Api
    writer: RecordingWriter
    redactor: Redactor
    warn: Warn
    #: Called once, when everything is known.
    begun: Callable[[], None]
    #: Seconds from one reading of metrics.k8s.io to the next; 0 is never.
    usage_interval: float
    kinds: Sequence[str] = RECORDED
    _unsettled: set[str] = field(default_factory=set)
    #: The keys of a list whose last page has not come.
    _listed: dict[str, set[Key]] = field(default_factory=dict)
    #: How often in a row each kind was refused.
    _refusals: Counter[str] = field(default_factory=Counter)
    _unreadable: set[tuple[str, Key]] = field(default_factory=set)

    async def run(self) -> None:
        """Record; ClientError where nodes or pods cannot be listed at the beginning."""
        kinds = (*self.kinds, *METRICS) if self.usage_interval else tuple(self.kinds)
        self._unsettled = set(kinds)
        try:
            async with asyncio.TaskGroup() as group:
                for kind in kinds:
                    group.create_task(self._keep(kind), name=f"record {kind}")
                group.create_task(self._flush(), name="record flush")
        except BaseExceptionGroup as errors:
            # What went wrong first has ended the others.
            raise errors.exceptions[0] from None

    def now(self) -> int:
        """The API server's time, in milliseconds since the epoch."""
        return round(self.api.server_time.now() * 1000)

    async def _flush(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH)
            if not self._unsettled:
                self.writer.flush(self.now())

    async def _keep(self, kind: str) -> None:
        """Follow a kind until cancelled; refusals are retried."""
        while True:
            try:
                await (self._poll(kind) if kind in METRICS else self._follow(kind))
            except ClientError as error:
                if isinstance(error, NotFound) and kind in OPTIONAL:
                    self._settle(kind)
                    await asyncio.sleep(_ASKED_AGAIN)
                    continue
                self._refuse(kind, error)
            await asyncio.sleep(REFUSED.wait(self._refusals[kind]))

    def _refuse(self, kind: str, error: ClientError) -> None:
        why = refusal_sentence(kind, error) if isinstance(error, Forbidden | NotFound) else str(error)
        if kind in REQUIRED and kind in self._unsettled and isinstance(error, ApiError):
            raise ClientError(why) from error
        if not self._refusals[kind]:
            self.warn(f"{kind} is not recorded: {why}")
        self._refusals[kind] += 1
        if kind not in METRICS:
            self.writer.lose(self.now(), kind)
        self._settle(kind)

    def _settle(self, kind: str) -> None:
        """Nothing more will be known of a kind soon; the recording begins after the last one."""
        if kind in self._unsettled:
            self._unsettled.discard(kind)
            if not self._unsettled:
                self.writer.begin(self.now())
                self.begun()

    async def _follow(self, kind: str) -> None:
        resource = structs.replace(RESOURCES[kind], type=Raw)
        async with aclosing(follow(self.api, resource)) as events:
            async for event in events:
                self._take(kind, event)

    async def _poll(self, kind: str) -> None:
        while True:
            async with aclosing(pages(self.api, structs.replace(RESOURCES[kind], type=Raw))) as listed:
                async for page in listed:
                    self._take(kind, Listed(page.objects, page.first, page.last))
            await asyncio.sleep(self.usage_interval)

    def _take(self, kind: str, event: WatchEvent) -> None:
        match event:
            case Interrupted():
                self.writer.lose(self.now(), kind)
                return
            case Listed():
                self._list(kind, event)
                if not event.last:
                    return
            case Changed(changed):
                self._put(kind, changed)
            case Removed(removed):
                key = self._key(removed)
                self.writer.remove(self.now(), kind, key)
            case Current():
                pass
        if self._refusals.pop(kind, 0):
            self.warn(f"{kind} is recorded now")
        self.writer.find(self.now(), kind)
        self._settle(kind)

    def _list(self, kind: str, page: Listed) -> None:
        keys = set() if page.first else self._listed.pop(kind, set())
        keys |= {self._put(kind, each) for each in page.objects}
        if not page.last:
            self._listed[kind] = keys
            return
        for key in [each for each in self.writer.objects(kind) if each not in keys]:
            self.writer.remove(self.now(), kind, key)

    def _put(self, kind: str, data: Raw) -> Key:
        """Write an object, and return its key; what cannot be read is reported once, and left out."""
        key = self._key(data)
        try:
            text = msgspec.json.encode(self.redactor.redacted(kind, bytes(data)))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            if (kind, key) not in self._unreadable:
                self._unreadable.add((kind, key))
                self.warn(f"{kind} {'/'.join(filter(None, key))} is not recorded: {path_first(error)}")
            return key
        self.writer.put(self.now(), kind, key, text)
        return key

    @staticmethod
    def _key(data: Raw) -> Key:
        found = name_of(data)
        # An object of an API server has a name.
        assert found is not None
        return found.namespace, found.name
