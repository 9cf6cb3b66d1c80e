"""The log of ``restow run``, with klog's levels: what is more verbose than wanted is not made.

A log is an object that is handed on; there is no global one, and nothing is set up by importing. Every line is one
write, so that lines never mix.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from types import FrameType
from typing import Final, Literal, NamedTuple, Protocol

from msgspec import Struct

from restow.kube.duration import MILLISECOND, SECOND
from restow.kube.validation import quote
from restow.plain_text import HIDDEN, names_a_secret, printable, printable_json, public_line, without_secrets

Severity = Literal["I", "W", "E"]


class Ref(NamedTuple):
    """An object of the API in a log: ``namespace/name`` in text, an object in JSON."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Entry(Struct, frozen=True, kw_only=True):
    """One line of a log."""

    severity: Severity
    #: Nanoseconds since the epoch.
    time: int
    #: The file and line that logs, such as ``descheduler/loop.py:12``.
    caller: str
    verbosity: int
    message: str
    #: None for plain sentences, which klog does not quote.
    keys: Mapping[str, object] | None
    error: str | None = None


#     I1121 12:00:00.000000       1 evicting.py:12] "Evicted pod" pod="shop/web-1" reason="" strategy="PodLifeTime"
# {"ts":1795262400000.0,"caller":"executing/evicting.py:12","msg":"Evicted pod","v":1,"pod":{"name":"web-1",...}}
#
# structlog would do both; it takes 4 MB of memory and 0.2 s at start, mostly for tracebacks in colour that are not
# wanted here. Source: klog 2.130, internal/serialize; component-base/logs/json.
def _as_text(entry: Entry) -> str:
    """Return a line, or more than one where a value has several, as klog writes them."""
    seconds, rest = divmod(entry.time, SECOND)
    when = time.strftime("%m%d %H:%M:%S", time.localtime(seconds))
    head = f"{entry.severity}{when}.{rest // 1000:06d} {os.getpid():7d} {entry.caller.rpartition('/')[2]}] "
    if entry.keys is None:
        return f"{head}{public_line(entry.message)}\n"
    pairs = "".join(f" {key}={_text_value(key, value)}" for key, value in _all_keys(entry))
    return f"{head}{quote(without_secrets(entry.message))}{pairs}\n"


def _as_json(entry: Entry) -> str:
    """Return a line of JSON; like upstream's it has a verbosity, or an error, and no severity."""
    line: dict[str, object] = {
        "ts": entry.time / MILLISECOND,
        "caller": entry.caller,
        "msg": without_secrets(entry.message),
    }
    if entry.severity != "E":
        line["v"] = entry.verbosity
    for key, value in _all_keys(entry):
        line[key] = _json_value(key, value)
    return printable_json(json.dumps(line, ensure_ascii=False, separators=(",", ":"))) + "\n"


def _as_sentence(entry: Entry) -> str:
    """Return a line for people who wait for a command to end: what happened, and why."""
    error = f": {entry.error}" if entry.error is not None else ""
    return f"{public_line(entry.message + error)}\n"


#: For klog's readers, for programs, and for people who have called a command.
Format = Literal["text", "json", "sentences"]

_FORMS: Final[dict[Format, Callable[[Entry], str]]] = {"text": _as_text, "json": _as_json, "sentences": _as_sentence}
#: Modules that log on behalf of others.
_PASSING_ON: Final = {__name__, "restow.daemon.log_lines", "logging"}


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

    def enabled_for(self, v: int) -> bool:
        """Whether lines of a verbosity are written."""
        return v <= self._verbosity

    def set_verbosity(self, v: int) -> None:
        """Write lines up to a verbosity, but never fewer than the log was created with."""
        self._verbosity = max(v, self._asked)

    def info(self, message: str, /, v: int = 0, **keys: object) -> None:
        """Log an event with its keys; without keys, a plain sentence."""
        if self.enabled_for(v):
            self._write("I", message, keys or None, v)

    def warning(self, sentence: str, /) -> None:
        """Log a sentence that needs attention."""
        self._write("W", sentence, None, 0)

    def error(self, message: str, /, error: object, **keys: object) -> None:
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
            # The reader of the log is gone; that is no reason to stop in the middle of an eviction.
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


def _all_keys(entry: Entry) -> Iterator[tuple[str, object]]:
    if entry.error is not None:
        yield "err", entry.error
    yield from (entry.keys or {}).items()


def _text_value(key: str, value: object) -> str:
    match value:
        case _ if names_a_secret(key):
            return quote(HIDDEN)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case None:
            return "<nil>"
        case str() | Ref() | BaseException():
            return _string(without_secrets(str(value)))
        case _:
            return printable_json(json.dumps(_json_value(key, value), ensure_ascii=False))


def _string(text: str) -> str:
    if "\n" not in text:
        return quote(text)
    lines = "".join(f"\t{printable(line)}\n" for line in text.split("\n"))
    return f"<\n{lines} >"


def _json_value(key: str, value: object) -> object:
    match value:
        case _ if names_a_secret(key):
            return HIDDEN
        case Ref():
            return {"name": value.name} | ({"namespace": value.namespace} if value.namespace else {})
        case None | bool() | int() | float() if not isinstance(value, float) or math.isfinite(value):
            return value
        case Mapping():
            return {str(inner): _json_value(str(inner), each) for inner, each in value.items()}
        case list() | tuple():
            return [_json_value("", each) for each in value]
        case _:
            return without_secrets(str(value))
