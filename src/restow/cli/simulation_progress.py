"""How far a simulation is, in virtual and in real time: on a terminal, once it takes longer than people like to wait."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from restow.descheduling.container_states import short_duration
from restow.kube.timestamps import SECOND

if TYPE_CHECKING:
    from rich.status import Status

#: Seconds before the first word, and from one to the next.
_PATIENCE: Final = 0.5
_PAUSE: Final = 0.1


@contextmanager
def simulating(duration: int) -> Iterator[Callable[[int], None]]:
    """Takes how much of a run of ``duration`` is over, in nanoseconds, and shows it on stderr as long as it lasts."""
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
        if now - self._begin < _PATIENCE or now - self._shown < _PAUSE:
            return
        self._shown = now
        line = progress_line(done, self._duration, now - self._begin)
        if self.status is None:
            from rich.console import Console

            self.status = Console(stderr=True).status(line)
            self.status.start()
        self.status.update(line)


def progress_line(done: int, duration: int, seconds: float) -> str:
    """Say how much of a run is over, and how long it took: ``3h20m of 24h simulated in 12s``."""
    spans = (short_duration(each // SECOND) for each in (done, duration))
    return f"{' of '.join(spans)} simulated in {short_duration(round(seconds))}"
