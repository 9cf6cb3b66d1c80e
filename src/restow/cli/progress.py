"""Progress on stderr, only on a terminal and only for work that takes longer than half a second; and how long each phase took."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from restow.cli.streams import warn
from restow.redaction import public_line

if TYPE_CHECKING:
    from rich.status import Status

_PATIENCE = 0.5


class Timings:
    """Seconds by phase, in the order in which the phases began."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time the block."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin

    def lines(self) -> list[str]:
        """Return the phases as people read them: ``load 1.20 s``."""
        return [f"{phase} {seconds:.2f} s" for phase, seconds in self.seconds.items()]


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show ``what`` with a spinner while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    shown: list[Status] = []
    timer = threading.Timer(_PATIENCE, lambda: shown.append(_spinner(what)))
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
def told(phase: str, verbosity: int) -> Iterator[None]:
    """Time the only phase of a command, and tell how long it took if that was asked for."""
    clock = Timings()
    with clock.phase(phase):
        yield
    if verbosity:
        warn(clock.lines())
