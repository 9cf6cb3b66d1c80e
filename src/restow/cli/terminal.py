"""The terminal of a command: its streams, its questions, its progress, and its exit statuses.

Warnings go to stderr, one line each; a document goes to stdout as UTF-8, a text as far as the encoding goes. Where that is not
UTF-8, the few characters that restow itself draws with become their nearest relatives in ASCII, one for one, so that columns
stay columns; any other becomes a question mark. On a terminal, work that takes over half a second has a spinner; that of a
simulation says how far it is, in virtual and in real time.
"""

from __future__ import annotations

import codecs
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Final, TypeVar

from restow.application.feedback import Timings
from restow.kube.duration import SECOND
from restow.plain_text import public_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

Result = TypeVar("Result")

#: Exit statuses.
DONE, FAILED, UNUSABLE, INTERRUPTED = 0, 1, 2, 130
_PLAIN = str.maketrans("▁▂▃▄▅▆▇█…✓✗⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "_.:-=+*#~+x..........")


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        why = f": {type(error).__name__}: {error}" if error is not None else ""
        warn([f"{record.getMessage()}{why}"])


def degrade_gracefully() -> None:
    """Make stdout and stderr of this process write what they can, instead of failing."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="plain")


def warn(lines: Iterable[object]) -> None:
    """Write to stderr what is no part of the result. Each sentence is one line, even where it quotes several."""
    for line in lines:
        sys.stderr.write(f"{public_line(str(line))}\n")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return "".join(each if each.isascii() else "?" for each in text), error.end


def warn_of_libraries() -> None:
    """Write their warnings to stderr from now on, unless a handler takes them; only asynchronous libraries say anything."""
    logging.lastResort = _Lines(logging.WARNING)


def write(written: str | Iterable[bytes]) -> None:
    """Write text as far as the terminal's encoding goes, and a document as it is."""
    if isinstance(written, str):
        sys.stdout.write(written)
    else:
        write_pieces(written)


def write_bytes(document: bytes) -> None:
    """Write a document that is UTF-8 even where the terminal's encoding is another."""
    write_pieces([document])


def write_json(document: object) -> None:
    """Write a document of ``-o json``, indented, with a final newline."""
    from restow.reporting.json import indented_json

    write_bytes(indented_json(document) + b"\n")


def write_result(result: Result, output: str, table: Callable[[Result, Console], None], page: str) -> None:
    """Write a result as a document, a page or a table; ``page`` is the module whose ``form`` renders the page."""
    if output == "json":
        write_json(result)
    elif output == "html":
        write_bytes(import_module(page).form(result))
    else:
        from restow.reporting.terminal import shown

        write(shown(lambda console: table(result, console)))


def write_pieces(document: Iterable[bytes]) -> None:
    """Write a document that comes in pieces."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(document)
    sys.stdout.buffer.flush()


#: Seconds without a spinner.
_DELAY: Final = 0.5
#: Seconds from one line about a simulation to the next.
_PAUSE: Final = 0.1


class Terminal:
    """Writes to stderr; a ``Feedback``."""

    def __init__(self) -> None:
        self.timings = Timings()
        #: How many warnings there were.
        self.warnings = 0

    def warn(self, sentences: Iterable[object]) -> None:
        """Write a line for each sentence."""
        told = list(sentences)
        self.warnings += len(told)
        warn(told)

    def working(self, what: str) -> AbstractContextManager[None]:
        """Show ``what`` with a spinner while the block runs."""
        return working(what)

    def warn_of_timings(self, verbosity: int) -> None:
        """With ``-v`` print how long each phase took."""
        if verbosity:
            self.warn(self.timings.lines())

    def simulating(self, duration: int) -> AbstractContextManager[Callable[[int], None]]:
        """Show how much of a run of ``duration`` is over, with a spinner while the block runs."""
        return simulating(duration)


def end_in_order() -> None:
    """From now on have Ctrl-C raise KeyboardInterrupt, for what has to be taken away: commands end at once otherwise."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
    """Say how much of a run is over, and how long it takes: ``3h20m of 24h simulated in 12s, 1m14s left``."""
    from restow.descheduling.pod_criteria import short_duration

    spans = (short_duration(each // SECOND) for each in (done, duration))
    left = f", {short_duration(round(seconds * (duration - done) / done))} left" if done else ""
    return f"{' of '.join(spans)} simulated in {short_duration(round(seconds))}{left}"


@contextmanager
def timed(phase: str, verbosity: int) -> Iterator[None]:
    """Time the only phase of a command; with ``-v`` print how long it took."""
    clock = Timings()
    with clock.phase(phase):
        yield
    if verbosity:
        warn(clock.lines())


def can_ask() -> bool:
    """Whether there is a terminal to ask at."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agrees(question: str) -> bool:
    """Ask at the terminal; no answer is a no."""
    sys.stderr.write(f"\n{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
