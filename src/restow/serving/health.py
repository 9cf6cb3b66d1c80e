"""Whether restow is ready, as it last said of itself, and alive."""

from __future__ import annotations

from restow.serving.watchdog import Watchdog


class Health:
    """Ready only once told so; alive as long as nobody is stuck."""

    def __init__(self) -> None:
        #: Why it is not ready; empty when it is.
        self.waiting_for = "it is starting"
        self.watchdog = Watchdog()

    def ready(self) -> None:
        """Everything that a cycle needs is there."""
        self.waiting_for = ""

    def not_ready(self, reason: str) -> None:
        """A cycle could not be done now; the reason goes on after "not ready:"."""
        self.waiting_for = reason
