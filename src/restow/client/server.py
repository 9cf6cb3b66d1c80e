"""The time of the API server, from the ``Date`` of its responses.

Timestamps of objects are written by the API server's clock, so ages are computed with that one: a wrong or changed
clock of ours makes no pod older or younger. Between two responses, a monotonic clock counts. Source of ``Date``: RFC
9110, section 6.6.1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

#: Seconds since any moment; a monotonic clock that also counts while the machine sleeps.
Clock = Callable[[], float]

#: ``Date`` has whole seconds, and an answer may be a moment on its way: an earlier one within this (seconds) agrees.
_AGREES: Final = 2.0


def boot_clock() -> float:
    """Seconds since the machine started, asleep or not."""
    # Linux only; other systems only have the monotonic clock.
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(slots=True)
class ServerTime:
    """The server's clock; ours until the first answer, and where answers have no ``Date``."""

    clock: Clock = boot_clock
    #: Ours, in seconds since the epoch.
    wall_clock: Clock = time.time
    #: What ``clock`` has to be advanced by.
    _advance: float | None = field(init=False, default=None)

    def now(self) -> float:
        """Seconds since the epoch."""
        return self.wall_clock() if self._advance is None else self.clock() + self._advance

    def answered(self, date: str | None) -> None:
        """An answer has just come, with this ``Date``."""
        sent = None if date is None else http_date(date)
        if sent is None:
            return
        # The server's clock has shown this time already, and perhaps a little more: the latest is the best.
        if self._advance is None or not 0 <= self.now() - sent <= _AGREES:
            self._advance = sent - self.clock()


def http_date(text: str) -> float | None:
    """Return the seconds since the epoch that a date of HTTP means; None for anything else."""
    try:
        moment = parsedate_to_datetime(text)
        # A date without a zone is in UTC.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
