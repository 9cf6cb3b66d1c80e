"""One table of the comparison: its name, its headings, and what measures its rows one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Row = tuple[str, ...]


@dataclass(slots=True, frozen=True)
class LiveTable:
    """``measure`` gets a directory for its files."""

    name: str
    headings: Row
    measure: Callable[[Path], Iterator[Row]]


def mebibytes(size: int) -> str:
    """For people: ``61 MiB``."""
    return f"{size / (1 << 20):,.0f} MiB"


def seconds(duration: float) -> str:
    """For people: ``3.4 s``, ``331 s``."""
    return f"{duration:,.1f} s" if duration < 60 else f"{duration:,.0f} s"
