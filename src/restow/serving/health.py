"""Whether restow is ready, as it last said of itself, and alive: nobody is stuck."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple


class Health:
    """Ready only once told so; alive as long as nobody is stuck.

    ``lost`` is asked each time: why the program cannot do its work now, None if it can. ``program`` is what its pages call
    it, the Descheduler's own name by default.
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
        """Everything that a cycle needs is there."""
        self._reason = ""

    def not_ready(self, reason: str) -> None:
        """A cycle could not be done now; the reason goes on after "not ready:"."""
        self._reason = reason


# A cycle may take hours, so it is not timed as a whole; each of its steps has a bound of its own, beyond which
# nothing legitimate takes. Times are the event loop's.
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
