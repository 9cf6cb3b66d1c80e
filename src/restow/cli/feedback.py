"""What a command says on stderr while it works: warnings, and on a terminal a spinner for work that takes over half a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from restow.application.feedback import Timings
from restow.cli.streams import warn
from restow.redaction import public_line

if TYPE_CHECKING:
    from rich.status import Status

#: Seconds without a spinner.
_DELAY = 0.5


class Terminal:
    """Writes to stderr; a ``Feedback``."""

    def __init__(self) -> None:
        self.timings = Timings()

    def warn(self, sentences: Iterable[object]) -> None:
        """Write a line for each sentence."""
        warn(sentences)

    def working(self, what: str) -> AbstractContextManager[None]:
        """Show ``what`` with a spinner while the block runs."""
        return working(what)

    def simulating(self, duration: int) -> AbstractContextManager[Callable[[int], None]]:
        """Show how much of a run is over."""
        from restow.cli.simulation_progress import simulating

        return simulating(duration)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show ``what`` with a spinner while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    shown: list[Status] = []
    timer = threading.Timer(_DELAY, lambda: shown.append(_spinner(what)))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for status in shown:
            status.stop()


def _spinner(what: str) -> Status:
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True).status(Text(public_line(what)))
    status.start()
    return status


@contextmanager
def timed(phase: str, verbosity: int) -> Iterator[None]:
    """Time the only phase of a command; with ``-v`` print how long it took."""
    clock = Timings()
    with clock.phase(phase):
        yield
    if verbosity:
        warn(clock.lines())
