"""Whether restow is ready, as it last reported, and alive: no part of it is stuck."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple


class Health:
    """Ready once ``ready`` was called; alive as long as no part is stuck.

    ``lost`` is called for each request: why the program cannot work now, None if it can. ``program`` is its name in the
    pages, the Descheduler's own name by default.
    """

    def __init__(self, lost: Callable[[], str | None] = lambda: None, *, program: str = "Descheduler") -> None:
        self._lost = lost
        self.program = program
        self._reason = "it is starting"
        self.watchdog = Watchdog()

    @property
    def waiting_for(self) -> str:
        """Why it is not ready; empty when it is."""
        return self._reason or self._lost() or ""

    def ready(self) -> None:
        """Report that a cycle can run."""
        self._reason = ""

    def not_ready(self, reason: str) -> None:
        """A cycle could not be done now; the page shows the reason after "not ready:"."""
        self._reason = reason


# A cycle may take hours, so it is not timed as a whole; each of its steps has a bound of its own, beyond which
# nothing legitimate takes. Times are the event loop's.
class _Due(NamedTuple):
    """What a part of the program waits for."""

    what: str
    within: float
    #: In the event loop's time.
    until: float


class Watchdog:
    """Notices when a part of the program makes no progress; ``/livez`` asks it."""

    def __init__(self) -> None:
        self._due: dict[str, _Due] = {}

    def expect(self, who: str, what: str, within: float) -> None:
        """A part of the program has made progress; its next step, named in a few words, is due within some seconds."""
        self._due[who] = _Due(what, within, _now() + within)

    def rest(self, who: str) -> None:
        """A part of the program has nothing to do for now."""
        self._due.pop(who, None)

    def stuck(self) -> str:
        """Which part is stuck, and with what; "" if none is."""
        now = _now()
        late = (
            f"the {who}: no {each.what} for {each.within:.0f} s" for who, each in self._due.items() if now > each.until
        )
        return next(late, "")


def _now() -> float:
    return asyncio.get_running_loop().time()
