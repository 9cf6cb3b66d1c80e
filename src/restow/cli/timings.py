"""How long each phase of a command took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from restow.cli.streams import warn


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
def told(phase: str, verbosity: int) -> Iterator[None]:
    """Time the only phase of a command, and tell how long it took if that was asked for."""
    clock = Timings()
    with clock.phase(phase):
        yield
    if verbosity:
        warn(clock.lines())
