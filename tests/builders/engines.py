"""An engine that makes all pieces in this process, one after the other; as a package would add it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from builders.entry_points import entry_points, offering
from restow.engines.registry import ENTRY_POINTS, Engine
from restow.engines.work import EngineTask, ResultListener


class _Args(Struct, frozen=True):
    """Nothing."""


def _make(_args: _Args, task: EngineTask, listener: ResultListener) -> None:
    for number in task.numbers:
        listener.finished(number, task.work.make(number, int))


@contextmanager
def here() -> Iterator[tuple[str, str]]:
    """Options of a command that choose it, while it is installed."""
    with entry_points(offering("here", Engine("here", _Args, _make)), only=ENTRY_POINTS):
        yield ("--engine", "here")
