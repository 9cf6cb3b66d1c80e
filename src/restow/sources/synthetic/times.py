"""The calendar of synthetic clusters: everything happens before one fixed moment, never at the clock's time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.kube.timestamps import SECOND, format_time, parse_time

if TYPE_CHECKING:
    from random import Random

#: The moment at which a synthetic cluster was "dumped"; planning with ``--now`` of it sees the intended ages.
NOW = "2026-01-01T00:00:00Z"
_NOW = parse_time(NOW)

#: When nodes and controllers were made.
BUILT = "2025-06-01T00:00:00Z"

DAY = 86_400


def ago(seconds: int) -> str:
    """RFC 3339 time of so many seconds before NOW."""
    return format_time(_NOW - seconds * SECOND)


def within_days(days: int, rng: Random) -> str:
    """Draw a time within so many days before NOW."""
    return ago(int(rng.random() * days * DAY))
