"""Whether restow is ready, as it last said of itself, and alive."""

from __future__ import annotations

from collections.abc import Callable

from restow.serving.watchdog import Watchdog


class Health:
    """Ready only once told so; alive as long as nobody is stuck.

    ``lost`` is asked each time: why pods cannot be protected now, None if they can.
    """

    def __init__(self, lost: Callable[[], str | None] = lambda: None) -> None:
        self._lost = lost
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
