"""Reads a recording: the cluster as it was at a time, and what changed from then on until another one.

A segment whose writer was killed ends in the middle of a line: everything before that counts. Where a segment begins with
another cluster than the one before it had come to, the differences are changes of that moment: the recorder was away.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from restow.errors import InputError
from restow.kube.duration import MILLISECOND, SECOND
from restow.kube.timestamps import format_time
from restow.recordings.lines import API_VERSION, GAP, KIND, SUFFIX, RecordLine, SegmentHead, not_a_recording
from restow.recordings.writing import begins, segments

#: Kind, namespace and name.
ObjectKey = tuple[str, str, str]
Document = dict[str, Any]

#: Bytes of one line at most: an object of the API server has less than two million.
_LONGEST: Final = 16 << 20


@dataclass(slots=True, frozen=True)
class RecordedChange:
    """An object that came, changed or went at a time, in milliseconds since the epoch."""

    at: int
    key: ObjectKey
    old: Document | None
    new: Document | None


@dataclass(slots=True, frozen=True)
class RecordingGap:
    """From when to when nothing is known, in milliseconds; of one kind, or (empty) of all."""

    since: int
    until: int
    kind: str = ""


@dataclass(slots=True, frozen=True)
class RecordedSpan:
    """A part of a recording; times are milliseconds since the epoch."""

    begins: int
    ends: int
    #: All objects as they were when it begins.
    start: tuple[Document, ...]
    changes: tuple[RecordedChange, ...]
    gaps: tuple[RecordingGap, ...]
    server_minor: int | None


def is_recording(path: str) -> bool:
    """Whether a path names a recording: a directory with segments, or one of them."""
    place = Path(path)
    try:
        return bool(segments(place)) if place.is_dir() else path.endswith(SUFFIX) and place.is_file()
    except OSError:
        return False


def recorded_files(path: str, since: int | None = None, until: int | None = None) -> list[Path]:
    """Return the segments of a recording that have what happened in a time, in milliseconds; None is all of it.

    InputError where it cannot be read.
    """
    try:
        files = segments(Path(path)) if Path(path).is_dir() else [Path(path)]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    if not files:
        raise InputError(f"{path}: no recording in this directory; restow record -o {path} writes one")
    known = [(begins(each), each) for each in files]
    if until is not None and until < known[0][0]:
        raise InputError(f"{path}: there is nothing at {_time(until)}; it begins at {_time(known[0][0])}")
    first = max((begun for begun, _ in known if since is not None and begun <= since), default=known[0][0])
    return [each for begun, each in known if begun >= first and (until is None or begun <= until)]


def _within(path: str, at: int | None) -> int | None:
    """A time, or the beginning of the recording where that is in the same second: people see and write seconds."""
    if at is None:
        return None
    begun = begins(recorded_files(path)[0])
    return begun if 0 < begun - at < SECOND // MILLISECOND else at


def read_recording(path: str, since: int | None, until: int | None) -> RecordedSpan:
    """Return what was recorded from a time to another, in milliseconds; None is as early, or as late, as there is.

    InputError for what is no recording, and for times that it does not have.
    """
    since = _within(path, since)
    reader = _Reader(since, until)
    for file in recorded_files(path, since, until):
        reader.read(file)
        if reader.is_over:
            break
    return reader.span(path)


@dataclass(slots=True, frozen=True)
class RecordedMoment:
    """The cluster as it was at a time."""

    #: Milliseconds since the epoch.
    at: int
    objects: tuple[Document, ...]
    #: The kinds that could not be followed then.
    unknown: frozenset[str]


def read_moment(path: str, at: int | None) -> RecordedMoment:
    """Return the cluster at a time, in milliseconds; None is the latest that was recorded.

    InputError for what is no recording, and for a time that it does not have.
    """
    at = _within(path, at)
    reader = _Reader(at, at)
    files = recorded_files(path, at, at) if at is not None else recorded_files(path)[-1:]
    for file in files:
        reader.read(file)
    return reader.moment(path)


@dataclass(slots=True)
class _Reader:
    """Goes through segments in the order of time."""

    since: int | None
    until: int | None
    is_over: bool = False
    #: The time of the first and the last line.
    _first: int | None = None
    _last: int = 0
    _minor: int | None = None
    _state: dict[ObjectKey, Document] = field(default_factory=dict)
    #: The state at ``since``, as soon as that is over.
    _start: tuple[Document, ...] | None = None
    _changes: list[RecordedChange] = field(default_factory=list)
    _gaps: list[RecordingGap] = field(default_factory=list)
    #: Since when kinds are unknown.
    _unknown: dict[str, int] = field(default_factory=dict)

    def read(self, file: Path) -> None:
        """Take in a segment."""
        lines = _lines(file)
        head = _head(next(lines, b""), file)
        self._minor = head.server_minor or self._minor
        coming: dict[ObjectKey, Document] | None = {}
        before, self._unknown = self._unknown, {}
        for text in lines:
            line = _line(text, file)
            if self.until is not None and line.at > self.until:
                self.is_over = True
                return
            if coming is None:
                self._take(line, file)
            elif line.put is not None:
                coming[_key(line.put, file)] = line.put
            elif line.unknown:
                self._unknown[line.unknown] = before.pop(line.unknown, line.at)
            elif line.complete:
                self._begin(line.at, coming)
                self._gaps += (RecordingGap(at, line.at, kind) for kind, at in before.items())
                coming = None

    def _begin(self, at: int, coming: dict[ObjectKey, Document]) -> None:
        """A segment begins with a whole cluster."""
        if self._first is None:
            self._first = self._last = at
            self._state = coming
            return
        if at - self._last > GAP:
            self._gaps.append(RecordingGap(self._last, at))
        for key in self._state.keys() | coming.keys():
            self._change(at, key, coming.get(key))
        self._last = at

    def _take(self, line: RecordLine, file: Path) -> None:
        self._last = max(self._last, line.at)
        if line.put is not None:
            self._change(line.at, _key(line.put, file), line.put)
        elif line.gone is not None:
            self._change(line.at, line.gone.key, None)
        elif line.unknown:
            self._unknown[line.unknown] = line.at
        elif line.known and line.known in self._unknown:
            self._gaps.append(RecordingGap(self._unknown.pop(line.known), line.at, line.known))

    def _change(self, at: int, key: ObjectKey, new: Document | None) -> None:
        old = self._state.get(key)
        if old == new:
            return
        if self.since is None or at > self.since:
            self._pass()
            self._changes.append(RecordedChange(at, key, old, new))
        if new is None:
            del self._state[key]
        else:
            self._state[key] = new

    def _pass(self) -> None:
        """Keep the start, once."""
        if self._start is None:
            self._start = tuple(self._state.values())

    def moment(self, path: str) -> RecordedMoment:
        """Return what is known at the end of what was read; InputError where that is another time."""
        first = self._known(path)
        at = self._last if self.until is None else self.until
        if not first <= at <= self._last + GAP:
            raise InputError(f"{path}: there is nothing at {_time(at)}; {self._recorded()}")
        return RecordedMoment(at, tuple(self._state.values()), frozenset(self._unknown))

    def span(self, path: str) -> RecordedSpan:
        """Return what was read; InputError where there is nothing of it."""
        first = self._known(path)
        since = first if self.since is None else self.since
        until = self._last if self.until is None else self.until
        if since < first or until > self._last + GAP or since >= until:
            raise InputError(f"{path}: there is nothing from {_time(since)} to {_time(until)}; {self._recorded()}")
        self._pass()
        gaps = [*self._gaps, *(RecordingGap(at, until, kind) for kind, at in self._unknown.items())]
        within = tuple(each for each in gaps if each.until > since and _is_long(each, since, until))
        return RecordedSpan(since, until, self._start or (), tuple(self._changes), within, self._minor)

    def _known(self, path: str) -> int:
        """When it begins; InputError where there is nothing."""
        if self._first is None:
            raise not_a_recording(path, "it ends before its first line is complete")
        return self._first

    def _recorded(self) -> str:
        return f"it was recorded from {_time(self._first or 0)} to {_time(self._last)}"


def _is_long(gap: RecordingGap, since: int, until: int) -> bool:
    """Whether a gap matters: after a short one, what happened meanwhile is known, only a little later."""
    return gap.until - gap.since > GAP or (gap.since <= since and gap.until >= until)


def _time(at: int) -> str:
    return format_time(at * MILLISECOND)


def _lines(file: Path) -> Iterator[bytes]:
    """Yield whole lines; one that was being written when the writer ended is left out."""
    try:
        with gzip.open(file) as stream:
            while line := stream.readline(_LONGEST):
                if not line.endswith(b"\n"):
                    return
                yield line
    except EOFError:
        return
    except (OSError, zlib.error) as error:
        raise not_a_recording(str(file), str(error)) from error


def _head(line: bytes, file: Path) -> SegmentHead:
    try:
        head = msgspec.json.decode(line, type=SegmentHead)
    except msgspec.MsgspecError as error:
        raise not_a_recording(str(file), f"its first line is not that of a segment: {error}") from error
    if (head.kind, head.api_version) != (KIND, API_VERSION):
        raise not_a_recording(str(file), f"its first line says neither kind {KIND} nor apiVersion {API_VERSION}")
    return head


def _line(text: bytes, file: Path) -> RecordLine:
    try:
        return _decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise not_a_recording(str(file), str(error)) from error


def _key(document: Document, file: Path) -> ObjectKey:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise not_a_recording(str(file), "it has an object without metadata")
    return str(document.get("kind")), str(metadata.get("namespace") or ""), str(metadata.get("name"))


_decoder: Final = msgspec.json.Decoder(RecordLine)
