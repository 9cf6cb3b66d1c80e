"""Recordings: of objects that a test writes, and of a simulated cluster in which things happen."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

import msgspec

from builders.metadata import Object
from restow.kube.duration import MILLISECOND, SECOND
from restow.kube.manifests import document_of, kind_of
from restow.kube.objects import KINDS
from restow.recordings.reading import RecordedSpan, read_recording
from restow.recordings.redaction import Redactor
from restow.recordings.writing import RecordingLimits, RecordingWriter

#: 2026-01-01T00:00:00Z, in milliseconds.
BEGIN: Final = 1_767_225_600_000
NO_LIMITS: Final = RecordingLimits(1 << 40, 1 << 50)


class ARecording:
    """A recording that is written object by object, at times in seconds since its beginning."""

    def __init__(self, directory: Path, limits: RecordingLimits = NO_LIMITS) -> None:
        self.directory = directory
        self.warnings: list[str] = []
        self.writer = RecordingWriter(directory, limits, self.warnings.append)
        self._redactor = Redactor(b"key")

    def put(self, seconds: float, *objects: Object) -> None:
        """Objects are as written from a time on."""
        for each in objects:
            text = self._redactor.redacted(each["kind"], json.dumps(each).encode())
            self.writer.put(_at(seconds), each["kind"], _key(each), msgspec.json.encode(text))

    def remove(self, seconds: float, thing: Object) -> None:
        """An object goes."""
        self.writer.remove(_at(seconds), thing["kind"], _key(thing))

    def begin(self, seconds: float = 0) -> None:
        """What was put before is the beginning."""
        self.writer.begin(_at(seconds))

    def end(self, seconds: float) -> RecordedSpan:
        """Close it, and read all of it."""
        self.writer.close(_at(seconds))
        return read_recording(str(self.directory), None, None)


def _at(seconds: float) -> int:
    return BEGIN + round(seconds * 1000)


def _key(thing: Object) -> tuple[str, str]:
    return thing["metadata"].get("namespace") or "", thing["metadata"]["name"]


def recorded(scene: Any, seconds: int, directory: Path) -> RecordedSpan:
    """The recording of a simulated cluster (``simulating.scenes.Scene``) from now on, for so many seconds."""
    limits, redactor = NO_LIMITS, Redactor(b"key")
    writer = RecordingWriter(directory, limits, lambda sentence: None)
    store, clock = scene.store, scene.clock

    def put(manifest: Any) -> None:
        kind = kind_of(manifest)
        if kind in KINDS:
            text = redactor.redacted(kind, msgspec.json.encode(document_of(manifest)))
            key = manifest.metadata.namespace, manifest.metadata.name
            writer.put(clock.now // MILLISECOND, kind, key, msgspec.json.encode(text))

    def on_event(event: Any) -> None:
        if event.new is not None:
            put(event.new)
        else:
            metadata = event.old.metadata
            writer.remove(clock.now // MILLISECOND, event.kind, (metadata.namespace, metadata.name))

    for kind in store.kinds():
        for each in store.list(kind):
            put(each)
    writer.begin(clock.now // MILLISECOND)
    store.subscribe_all(on_event)
    for _ in range(seconds // 30):
        clock.run(clock.now + 30 * SECOND)
        writer.flush(clock.now // MILLISECOND)
    writer.close(clock.now // MILLISECOND)
    return read_recording(str(directory), None, None)


def lines_of(directory: Path) -> list[Object]:
    """All lines of all segments of a recording."""
    return [json.loads(line) for file in sorted(directory.glob("*.gz")) for line in gzip.open(file)]
