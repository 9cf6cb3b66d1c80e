"""The forms of a log line: klog's text, the JSON of Kubernetes' zap encoder, and the bare sentence.

    I1121 12:00:00.000000       1 evicting.py:12] "Evicted pod" pod="shop/web-1" reason="" strategy="PodLifeTime"
    {"ts":1795262400000.0,"caller":"executing/evicting.py:12","msg":"Evicted pod","v":1,"pod":{"name":"web-1",...}}

structlog would do both; it takes 4 MB of memory and 0.2 s at start, mostly for tracebacks in colour that are not wanted
here. Source: klog 2.130, internal/serialize; component-base/logs/json.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Mapping

from restow.kube.duration import MILLISECOND, SECOND
from restow.kube.field_errors import quote
from restow.plain_text import printable, printable_json
from restow.redaction import HIDDEN, names_a_secret, public_line, without_secrets
from restow.running.log_entries import Entry, Ref


def as_text(entry: Entry) -> str:
    """Return a line, or more than one where a value has several, as klog writes them."""
    seconds, rest = divmod(entry.time, SECOND)
    when = time.strftime("%m%d %H:%M:%S", time.localtime(seconds))
    head = f"{entry.severity}{when}.{rest // 1000:06d} {os.getpid():7d} {entry.caller.rpartition('/')[2]}] "
    if entry.keys is None:
        return f"{head}{public_line(entry.message)}\n"
    pairs = "".join(f" {key}={_text_value(key, value)}" for key, value in _all_keys(entry))
    return f"{head}{quote(without_secrets(entry.message))}{pairs}\n"


def as_json(entry: Entry) -> str:
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


def as_sentence(entry: Entry) -> str:
    """Return a line for people who wait for a command to end: what happened, and why."""
    error = f": {entry.error}" if entry.error is not None else ""
    return f"{public_line(entry.message + error)}\n"


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
