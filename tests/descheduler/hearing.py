"""A log whose lines a test reads, and a recorder of events that writes nothing."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import Any

from restow.client.events import Occurrence
from restow.daemon.logs import Log


class Heard:
    """A log of JSON lines, and what is in it."""

    def __init__(self, verbosity: int = 9) -> None:
        self._stream = io.StringIO()
        self.log = Log(self._stream, "json", verbosity, lambda: 0)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """All lines, without time and place."""
        read = [json.loads(line) for line in self._stream.getvalue().splitlines()]
        return [{key: value for key, value in each.items() if key not in {"ts", "caller"}} for each in read]

    @property
    def messages(self) -> list[str]:
        """Of all lines."""
        return [each["msg"] for each in self.entries]

    def of(self, message: str) -> list[dict[str, Any]]:
        """What lines with a message tell beside it."""
        found = [each for each in self.entries if each["msg"] == message]
        return [{key: value for key, value in each.items() if key != "msg"} for each in found]


@dataclass
class Recorded:
    """A ``Recorder`` that keeps everything."""

    occurrences: list[Occurrence] = field(default_factory=list)

    def record(self, occurrence: Occurrence) -> None:
        self.occurrences.append(occurrence)


def sample(metrics: Any, name: str, **labels: str) -> float | None:
    """One figure; None where there is none."""
    value: float | None = metrics.registry.get_sample_value(name, labels)
    return value
