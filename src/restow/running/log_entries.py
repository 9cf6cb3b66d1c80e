"""What is logged, before it is known in which form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["I", "W", "E"]


class Ref(NamedTuple):
    """An object of the API in a log: ``namespace/name`` in text, an object in JSON."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(slots=True, frozen=True, kw_only=True)
class Entry:
    """One line of a log."""

    severity: Severity
    #: Nanoseconds since the epoch.
    time: int
    #: The file and line that logs, such as ``running/loop.py:12``.
    caller: str
    verbosity: int
    message: str
    #: None for plain sentences, which klog does not quote.
    keys: Mapping[str, object] | None
    error: str | None = None
