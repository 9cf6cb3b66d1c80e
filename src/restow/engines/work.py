"""Pieces of work that do not depend on each other, and their results in order.

An engine makes the pieces, anywhere and in any order, and reports each result to a ``ResultListener``. ``Gathering`` is the one that
this package has: it keeps the first result of each piece, so a piece that two workers made counts once, and how many
workers there are makes no difference to what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

#: Says how much of a piece of work is done, in any unit.
Tick = Callable[[int], None]


class Work(Protocol):
    """Pieces of work that do not depend on each other; it is pickled."""

    def __len__(self) -> int:
        """How many pieces there are."""

    def make(self, number: int, tick: Tick) -> Any:
        """Do one piece; an InputError ends all of them."""


class ResultListener(Protocol):
    """Receives the results of pieces; called in one thread."""

    def progressed(self, number: int, done: int) -> None:
        """Take how much of a piece is done."""

    def finished(self, number: int, result: Any) -> None:
        """Take the result of a piece."""

    def said(self, sentence: str) -> None:
        """Take a sentence for people, such as why all pieces wait."""


@dataclass(slots=True, frozen=True)
class EngineTask:
    """Pieces of work for an engine."""

    work: Work
    #: The pieces that are to be made, in order.
    numbers: Sequence[int]
    #: What a result is; results that leave the cluster or the machine as JSON are decoded to it.
    result: Any
    #: The name of the run: the same where one is taken up again.
    name: str
    #: How many pieces are made at a time at most; None: as many as the engine thinks fit.
    workers: int | None = None
    #: Whether a run of that name may have begun, with workers that still run.
    resumes: bool = False
    #: Whether the run can be resumed, so that its workers may continue when this process ends.
    is_kept: bool = False


class ResultJournal(Protocol):
    """Keeps results for a run that is taken up again."""

    @property
    def found(self) -> dict[int, Any]:
        """The results that are there already, by number."""

    def add(self, number: int, result: Any) -> None:
        """Keep one more."""


@dataclass(slots=True)
class Gathering:
    """The results of pieces so far, and how much of all pieces is done; a ``ResultListener``."""

    tick: Tick
    say: Callable[[str], None] = lambda _: None
    journal: ResultJournal | None = None
    #: How much a piece is, as it is counted while it is made.
    size: int = 1
    found: dict[int, Any] = field(default_factory=dict)
    #: How much of the pieces that are not finished is done.
    _done: dict[int, int] = field(default_factory=dict)

    def progressed(self, number: int, done: int) -> None:
        """Add up what is done of all pieces."""
        if number not in self.found:
            self._done[number] = done
            self._tick()

    def finished(self, number: int, result: Any) -> None:
        """Keep the result, unless there is one of that piece."""
        if number in self.found:
            return
        self.found[number] = result
        self._done.pop(number, None)
        self._tick()
        if self.journal is not None:
            self.journal.add(number, result)

    def said(self, sentence: str) -> None:
        """Pass a sentence on."""
        self.say(sentence)

    def _tick(self) -> None:
        self.tick(len(self.found) * self.size + sum(self._done.values()))


def outcome(work: Work, number: int, tick: Tick) -> Any:
    """Return the result of a piece, or the error, for the caller to raise."""
    try:
        return work.make(number, tick)
    except Exception as error:  # noqa: BLE001 - raised where it is asked for
        return error
