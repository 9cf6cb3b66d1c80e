"""Writes a recording: a segment after the other, each of which begins with the whole cluster.

The state is kept here, because a new segment begins with it, and because an object whose recorded fields have not changed is
no change. Lines are packed as they come, and flushed now and then so that a reader, or what is left after a crash, has all
but the last seconds. A disk that refuses is reported once; the next attempt begins a new segment, which again has everything.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec import Raw

from restow.errors import InputError
from restow.recordings.lines import ALIVE, API_VERSION, KIND, SUFFIX, ObjectId, PutLine, RecordLine, SegmentHead
from restow.version import __version__

#: Namespace and name.
Key = tuple[str, str]

#: Milliseconds that a segment lasts, and bytes of text that it may have.
_LONGEST: Final = 3_600_000
_LARGEST: Final = 256 << 20
_LEVEL: Final = 6
#: What zlib calls the format of gzip, with the largest window.
_GZIP: Final = 16 + zlib.MAX_WBITS

_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True, frozen=True)
class RecordingLimits:
    """How much of the past is kept."""

    #: Bytes that all segments may take together; the one that is being written always stays.
    size: int
    #: Milliseconds.
    age: int


class RecordingWriter:
    """Writes what happens into a directory; ``warn`` gets a sentence when that fails, and when it works again."""

    def __init__(self, directory: Path, limits: RecordingLimits, warn: Callable[[str], None]) -> None:
        self._directory, self._limits, self._warn = directory, limits, warn
        self._state: dict[str, dict[Key, bytes]] = {}
        self._segment: _Segment | None = None
        self._has_failed = False
        self._unknown: set[str] = set()
        self._began: int | None = None
        self._last = 0
        #: The minor version of the API server, once it is known.
        self.server_minor: int | None = None
        #: How many changes were recorded.
        self.changes = 0

    @property
    def lasted(self) -> int:
        """For how long it was recorded so far, in milliseconds."""
        return 0 if self._began is None else self._last - self._began

    def objects(self, kind: str) -> Mapping[Key, bytes]:
        """What is recorded of the objects of a kind now."""
        return self._state.get(kind, {})

    def put(self, at: int, kind: str, key: Key, text: bytes) -> None:
        """Record an object as it is from a time on, in milliseconds."""
        known = self._state.setdefault(kind, {})
        if known.get(key) != text:
            known[key] = text
            self.changes += self._began is not None
            self._write(at, _encode(PutLine(at, Raw(text))))

    def remove(self, at: int, kind: str, key: Key) -> None:
        """Record that an object has gone."""
        if self._state.get(kind, {}).pop(key, None) is not None:
            self.changes += self._began is not None
            self._write(at, _encode(RecordLine(at, gone=ObjectId(kind, key[1], key[0]))))

    def lose(self, at: int, kind: str) -> None:
        """Record that a kind cannot be followed from now on."""
        if kind not in self._unknown:
            self._unknown.add(kind)
            self._write(at, _encode(RecordLine(at, unknown=kind)))

    def find(self, at: int, kind: str) -> None:
        """Record that a kind is followed again, and that everything until now is known of it."""
        if kind in self._unknown:
            self._unknown.discard(kind)
            self._write(at, _encode(RecordLine(at, known=kind)))

    def begin(self, at: int) -> None:
        """Begin the first segment with what is known: what came before was no change."""
        self._began = self._last = at
        self._guarded(lambda: self._open(at))

    def flush(self, at: int) -> None:
        """Have everything on the disk, say that nothing else has happened, and take a new segment if it is time."""
        self._guarded(lambda: self._flush(at))

    def close(self, at: int) -> None:
        """End the last segment."""
        self._last = at
        self._write(at, _encode(RecordLine(at)))
        segment, self._segment = self._segment, None
        if segment is not None:
            self._guarded(segment.close)

    def abandon(self) -> None:
        """Let the segment that is being written go as it is, as if the process had been killed."""
        segment, self._segment = self._segment, None
        if segment is not None:
            with suppress(OSError):
                segment.stream.close()

    def _flush(self, at: int) -> None:
        segment, self._last = self._segment, at
        if segment is None or at - segment.begins >= _LONGEST or segment.size >= _LARGEST:
            self._open(at)
            return
        if at - segment.last >= ALIVE:
            segment.write(at, [_encode(RecordLine(at))])
        segment.flush()

    def _write(self, at: int, line: bytes) -> None:
        segment = self._segment
        if segment is not None:
            self._guarded(lambda: segment.write(at, [line]))

    def _open(self, at: int) -> None:
        """Begin a segment with all objects, and delete old ones."""
        old, self._segment = self._segment, None
        if old is not None:
            old.close()
        file = _free(self._directory, at)
        segment = _Segment(file.open("xb"), at, at)
        try:
            self._fill(segment, at)
        except OSError:
            # Or a full disk would have another one with every attempt.
            with suppress(OSError):
                segment.stream.close()
            file.unlink(missing_ok=True)
            raise
        self._segment = segment
        self._prune(at)

    def _fill(self, segment: _Segment, at: int) -> None:
        """Write what a segment begins with."""
        head = SegmentHead(at, API_VERSION, KIND, __version__, self.server_minor)
        segment.write(at, [_encode(head)])
        for known in self._state.values():
            segment.write(at, (_encode(PutLine(at, Raw(text))) for text in known.values()))
        segment.write(at, [_encode(RecordLine(at, unknown=each)) for each in sorted(self._unknown)])
        segment.write(at, [_encode(RecordLine(at, complete=True))])
        segment.flush()

    def _prune(self, at: int) -> None:
        """Delete the oldest segments as far as they are beyond the limits; the last one stays."""
        files = segments(self._directory)
        sizes = [each.stat().st_size for each in files]
        for number, file in enumerate(files[:-1]):
            # A segment reaches to the beginning of the next one.
            is_old = at - begins(files[number + 1]) > self._limits.age
            if is_old or sum(sizes[number:]) > self._limits.size:
                file.unlink(missing_ok=True)

    def _guarded(self, write: Callable[[], None]) -> None:
        """Write, and report a disk that refuses, once; the next flush begins a new segment then."""
        try:
            write()
        except OSError as error:
            self.abandon()
            if not self._has_failed:
                self._warn(f"{self._directory}: nothing is recorded: {error.strerror or error}")
            self._has_failed = True
        else:
            if self._has_failed and self._segment is not None:
                self._warn(f"{self._directory}: it is recorded again")
                self._has_failed = False


@contextmanager
def sole_writer(directory: Path) -> Iterator[None]:
    """Let no other process record into a directory meanwhile; InputError where one does. It ends with the process."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        _lock(handle, directory)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, directory: Path) -> None:
    # A file system without locks is no reason to record nothing.
    with suppress(OSError):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"{directory}: another restow record writes into it; name another directory") from error


@dataclass(slots=True)
class _Segment:
    """The file that is being written."""

    stream: BinaryIO
    begins: int
    #: When the last line was written.
    last: int
    #: Bytes of text.
    size: int = 0
    #: A gzip file of the standard library would write its end when it is collected: a segment may be left as it is.
    _packing: zlib._Compress = field(default_factory=lambda: zlib.compressobj(_LEVEL, wbits=_GZIP))

    def write(self, at: int, lines: Iterable[bytes]) -> None:
        for line in lines:
            self.size += len(line) + 1
            self.stream.write(self._packing.compress(line + b"\n"))
            self.last = at

    def flush(self) -> None:
        self.stream.write(self._packing.flush(zlib.Z_SYNC_FLUSH))
        self.stream.flush()

    def close(self) -> None:
        try:
            self.stream.write(self._packing.flush())
        finally:
            self.stream.close()


def segments(directory: Path) -> list[Path]:
    """Return the files of a recording, the oldest first; OSError where the directory cannot be read."""
    return sorted(each for each in directory.iterdir() if each.name.endswith(SUFFIX) and begins(each) >= 0)


def begins(file: Path) -> int:
    """Return when a segment begins, in milliseconds, as its name says; -1 of another file."""
    try:
        moment = datetime.strptime(file.name.removesuffix(SUFFIX), _NAME).replace(tzinfo=UTC)
    except ValueError:
        return -1
    return round(moment.timestamp() * 1000)


#: With microseconds, which end with three zeros: names are in the order of time.
_NAME: Final = "%Y-%m-%dT%H-%M-%S.%fZ"


def _free(directory: Path, at: int) -> Path:
    """The name of a new segment; two may begin at the same moment."""
    while True:
        moment = datetime.fromtimestamp(at / 1000, UTC)
        file = directory / f"{moment.strftime(_NAME)}{SUFFIX}"
        if not file.exists():
            return file
        at += 1
