"""What a command says on stderr while it works: warnings, and on a terminal a spinner for work that takes over half a second.

The spinner of a simulation says how far it is, in virtual and in real time.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final

from restow.application.feedback import Timings
from restow.cli.streams import warn
from restow.kube.duration import SECOND
from restow.redaction import public_line

if TYPE_CHECKING:
    from rich.status import Status

#: Seconds without a spinner.
_DELAY: Final = 0.5
#: Seconds from one line about a simulation to the next.
_PAUSE: Final = 0.1


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
        """Show how much of a run of ``duration`` is over, with a spinner while the block runs."""
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
def simulating(duration: int) -> Iterator[Callable[[int], None]]:
    """Show how much of a run of ``duration`` nanoseconds is over; the block calls the function with that."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    progress = _Progress(duration, time.monotonic())
    try:
        yield progress.show
    finally:
        if progress.status is not None:
            progress.status.stop()


class _Progress:
    def __init__(self, duration: int, begin: float) -> None:
        self.status: Status | None = None
        self._duration, self._begin, self._shown = duration, begin, begin

    def show(self, done: int) -> None:
        now = time.monotonic()
        if now - self._begin < _DELAY or now - self._shown < _PAUSE:
            return
        self._shown = now
        line = progress_line(done, self._duration, now - self._begin)
        if self.status is None:
            self.status = _spinner(line)
        self.status.update(line)


def progress_line(done: int, duration: int, seconds: float) -> str:
    """Say how much of a run is over, and how long it took: ``3h20m of 24h simulated in 12s``."""
    from restow.descheduling.container_states import short_duration

    spans = (short_duration(each // SECOND) for each in (done, duration))
    return f"{' of '.join(spans)} simulated in {short_duration(round(seconds))}"


@contextmanager
def timed(phase: str, verbosity: int) -> Iterator[None]:
    """Time the only phase of a command; with ``-v`` print how long it took."""
    clock = Timings()
    with clock.phase(phase):
        yield
    if verbosity:
        warn(clock.lines())
