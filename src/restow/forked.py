"""A computation in a copy of this process, on another processor.

A copy begins at once and has everything that its parent has, so what it is to work on need not be sent. Only its result is:
as bytes, through a pipe. A copy that fails in any way, or is killed, has no result; then the parent does the work itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

_FAILED = 1


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_possible() -> bool:
    """Whether a copy can work while its parent does.

    A copy has no threads but its own, and what others had locked stays locked in it. Timers have locked nothing: they wait.
    """
    others = (each for each in threading.enumerate() if each is not threading.current_thread())
    return sys.platform == "linux" and cores() > 1 and all(isinstance(each, threading.Timer) for each in others)


@contextmanager
def forked(compute: Callable[[], bytes]) -> Iterator[Callable[[], bytes | None]]:
    """Begin a computation in a copy, and give what waits for its result; None if it has none, or no copy can be made.

    A copy that has not given its result by the end of the block is killed.
    """
    reading, writing = os.pipe()
    try:
        child = _copy()
    except OSError:
        os.close(reading)
        os.close(writing)
        yield lambda: None
        return
    if child == 0:
        os.close(reading)
        _answer(compute, writing)
    os.close(writing)
    copy = _Copy(child, reading)
    try:
        yield copy.result
    finally:
        copy.end()


def _copy() -> int:
    with warnings.catch_warnings():
        # Python 3.12 warns of other threads, which are looked at before.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _answer(compute: Callable[[], bytes], writing: int) -> NoReturn:
    """Write the result and end, without doing anything that the parent will do: flush, clean up, report."""
    with suppress(BaseException):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with open(writing, "wb", buffering=0) as pipe:
            left = memoryview(compute())
            while left:
                left = left[pipe.write(left) :]
        os._exit(0)
    os._exit(_FAILED)


class _Copy:
    """A copy that works, from its parent's side."""

    def __init__(self, child: int, reading: int) -> None:
        self._child: int | None = child
        self._pipe = open(reading, "rb")  # noqa: SIM115 - it has no path, and end() closes it

    def result(self) -> bytes | None:
        """Wait for the result; None if it has none."""
        result = self._pipe.read()
        return result if self._wait() == 0 else None

    def end(self) -> None:
        """Leave nothing behind."""
        self._pipe.close()
        if self._child is not None:
            os.kill(self._child, signal.SIGKILL)
            self._wait()

    def _wait(self) -> int | None:
        child, self._child = self._child, None
        return None if child is None else os.waitpid(child, 0)[1]
