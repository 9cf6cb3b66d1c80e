"""Whether those that a daemon depends on have answered of late."""

from __future__ import annotations

import asyncio
from typing import Final

#: Intervals without an answer after which something is wrong.
_INTERVALS: Final = 3


class Status:
    """Asked by ``/status``; ``interval`` is in seconds, times are the event loop's."""

    def __init__(self, interval: float) -> None:
        self._most = _INTERVALS * interval
        self._answered: dict[str, float] = {}
        self._why: dict[str, str] = {}

    def expect(self, who: str) -> None:
        """Somebody is asked from now on."""
        self._answered.setdefault(who, _now())

    def heard(self, who: str, why_not: str) -> None:
        """Somebody was asked: why there was no answer, empty if there was one."""
        self.expect(who)
        self._why[who] = why_not
        if not why_not:
            self._answered[who] = _now()

    def trouble(self) -> str:
        """Return who has not answered for three intervals, and why; empty if all have."""
        now = _now()
        for who, at in self._answered.items():
            if now - at > self._most:
                why = self._why.get(who)
                return f"{who} has not answered for {now - at:.0f} s{f': {why}' if why else ''}"
        return ""


def _now() -> float:
    return asyncio.get_running_loop().time()
