"""What a command says while it works: warnings, what it is busy with, and how long each phase takes.

The command line writes warnings to stderr as they come, so that they are seen also where an error follows. A program that
imports restow finds them in the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from restow.plain_text import public_line


@dataclass(slots=True)
class Timings:
    """Seconds by phase, in the order in which the phases began."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time the block; a phase may come several times."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin

    def lines(self) -> list[str]:
        """Return the phases as people read them: ``load 1.20 s``."""
        return [f"{phase} {seconds:.2f} s" for phase, seconds in self.seconds.items()]


class Feedback(Protocol):
    """Takes what a command says while it works."""

    @property
    def timings(self) -> Timings:
        """How long each phase takes."""
        ...

    def warn(self, sentences: Iterable[object]) -> None:
        """Pass on sentences for people, one line each."""
        ...

    def working(self, what: str) -> AbstractContextManager[None]:
        """Show what the block does, on a terminal."""
        ...

    def simulating(self, duration: int) -> AbstractContextManager[Callable[[int], None]]:
        """Show how much of a run of ``duration`` nanoseconds is over; the block calls the function with that."""
        ...


@dataclass(slots=True)
class Collected:
    """Keeps the warnings, and shows nothing; a ``Feedback``."""

    warnings: list[str] = field(default_factory=list)
    timings: Timings = field(default_factory=Timings)

    def warn(self, sentences: Iterable[object]) -> None:
        """Keep them, each as one line."""
        self.warnings += [public_line(str(each)) for each in sentences]

    def working(self, what: str) -> AbstractContextManager[None]:  # noqa: ARG002 - a ``Feedback``
        """Show nothing."""
        return nullcontext()

    def simulating(self, duration: int) -> AbstractContextManager[Callable[[int], None]]:  # noqa: ARG002 - as above
        """Show nothing."""
        return nullcontext(lambda _: None)
