"""The log of ``restow run``, with klog's levels: what is more verbose than wanted is not made.

A log is an object that is handed on; there is no global one, and nothing is set up by importing. Every line is one
write, so that lines never mix.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import PurePath
from types import FrameType
from typing import Final, Literal, Protocol

from restow.running.log_entries import Entry, Severity
from restow.running.log_formats import as_json, as_sentence, as_text

#: For klog's readers, for programs, and for people who have called a command.
Format = Literal["text", "json", "sentences"]

_FORMS: Final[dict[Format, Callable[[Entry], str]]] = {"text": as_text, "json": as_json, "sentences": as_sentence}
#: Modules that log on behalf of others.
_PASSING_ON: Final = {__name__, "restow.running.log_lines", "restow.running.library_logs", "logging"}


class Stream(Protocol):
    """Where lines go."""

    def write(self, text: str, /) -> object:
        """Write a text."""
        ...

    def flush(self) -> object:
        """Hand on what was written."""
        ...


class Log:
    """Writes lines; ``now`` gives nanoseconds since the epoch."""

    def __init__(
        self, stream: Stream, form: Format = "text", verbosity: int = 0, now: Callable[[], int] = time.time_ns
    ) -> None:
        self._stream = stream
        self._form = _FORMS[form]
        self._asked = self._verbosity = verbosity
        self._now = now

    def tells(self, v: int) -> bool:
        """Whether lines of a verbosity are written."""
        return v <= self._verbosity

    def tell_at_least(self, v: int) -> None:
        """Write lines up to a verbosity from now on, and never fewer than was asked for at the start."""
        self._verbosity = max(v, self._asked)

    def info(self, message: str, /, v: int = 0, **keys: object) -> None:
        """Log an event with its keys."""
        if self.tells(v):
            self._write("I", message, keys, v)

    def say(self, sentence: str, /, v: int = 0) -> None:
        """Log a plain sentence."""
        if self.tells(v):
            self._write("I", sentence, None, v)

    def caution(self, sentence: str, /) -> None:
        """Log a sentence that somebody should look at."""
        self._write("W", sentence, None, 0)

    def failure(self, message: str, /, error: object, **keys: object) -> None:
        """Log what failed, and why."""
        self._write("E", message, keys, 0, str(error))

    def _write(
        self, severity: Severity, message: str, keys: dict[str, object] | None, v: int, error: str | None = None
    ) -> None:
        entry = Entry(
            severity=severity,
            time=self._now(),
            caller=_caller(sys._getframe(2)),  # noqa: SLF001 - how logging itself finds out who logs
            verbosity=v,
            message=message,
            keys=keys,
            error=error,
        )
        try:
            self._stream.write(self._form(entry))
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody reads the log any more; that is no reason to stop in the middle of an eviction.
            return


def _caller(frame: FrameType | None) -> str:
    """Return the file and line that logs, without the package's own folders."""
    while frame is not None and frame.f_globals.get("__name__") in _PASSING_ON:
        frame = frame.f_back
    if frame is None:
        return "unknown:0"
    file = PurePath(frame.f_code.co_filename)
    return f"{'/'.join(file.parts[-2:])}:{frame.f_lineno}"


def once_each(warn: Callable[[str], None]) -> Callable[[str], None]:
    """Say the same thing once."""
    said: set[str] = set()

    def once(sentence: str) -> None:
        if sentence not in said:
            said.add(sentence)
            warn(sentence)

    return once
