"""The lines of a recording: JSON, a change each, in compressed files that each begin with the whole cluster.

A file is a segment. Its first line is a ``SegmentHead``. Then come all objects as they were when it begins, a line that
says that these are all, and the changes. So each segment can be read on its own, and old ones can be deleted. Times are
milliseconds since the epoch, by the API server's clock.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw, Struct

from restow.errors import InputError
from restow.live.reading import READ

API_VERSION: Final = "restow.dev/v1alpha1"
KIND: Final = "RecordingSegment"
#: The kinds that are recorded: those that decisions read, and CronJobs, which make Jobs where a recording is replayed.
RECORDED: Final = (*READ, "CronJob")
#: How the files end.
SUFFIX: Final = ".jsonl.gz"
#: Milliseconds after which a line says that nothing has happened, where nothing has.
ALIVE: Final = 60_000
#: Milliseconds without any line, or without a kind, that are a gap. After less, watches continue where they were.
GAP: Final = 3 * ALIVE


class SegmentHead(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The first line of a segment."""

    begins: int
    api_version: str = ""
    kind: str = ""
    restow_version: str = ""
    #: The minor version of the API server.
    server_minor: int | None = None


class ObjectId(Struct, frozen=True, omit_defaults=True):
    """Which object has gone."""

    kind: str
    name: str
    namespace: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, namespace and name."""
        return self.kind, self.namespace, self.name


class RecordLine(Struct, frozen=True, omit_defaults=True):
    """Any other line; one of nothing but a time says that the recorder was there."""

    at: int
    #: An object that is new, or has this state now.
    put: dict[str, Any] | None = None
    gone: ObjectId | None = None
    #: Whether the lines before it are all that there was when the segment begins.
    complete: bool = False
    #: A kind that cannot be followed from now on, or can again.
    unknown: str = ""
    known: str = ""


class PutLine(Struct, frozen=True):
    """A line with an object as it is written: its text is known already."""

    at: int
    put: Raw


def not_a_recording(name: str, why: str) -> InputError:
    """What is wrong with a file."""
    return InputError(f"{name} is not a recording: {why}")
