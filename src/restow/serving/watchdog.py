"""What has to happen, and until when: whoever works says so, and is stuck when it has not happened by then.

A cycle may take hours, so it is not timed as a whole; each of its steps has a bound of its own, beyond which nothing
legitimate takes. Times are the event loop's.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple


class _Due(NamedTuple):
    """What somebody waits for."""

    what: str
    within: float
    #: In the event loop's time.
    until: float


class Watchdog:
    """Asked by ``/livez``."""

    def __init__(self) -> None:
        self._due: dict[str, _Due] = {}

    def expect(self, who: str, what: str, within: float) -> None:
        """Somebody has come one step further; the next, in a few words, comes within so many seconds."""
        self._due[who] = _Due(what, within, _now() + within)

    def rest(self, who: str) -> None:
        """Somebody has nothing to do for now."""
        self._due.pop(who, None)

    def stuck(self) -> str:
        """Who is stuck, and with what; empty if nobody is."""
        now = _now()
        late = (
            f"the {who}: no {each.what} for {each.within:.0f} s" for who, each in self._due.items() if now > each.until
        )
        return next(late, "")


def _now() -> float:
    return asyncio.get_running_loop().time()
