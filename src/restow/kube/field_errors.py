"""The texts of Kubernetes' field validation errors.

Policies that Kubernetes code refuses are answered with its own sentences, so that what people searched and found about
them stays true. Source: ``util/validation/field`` and ``util/errors``, apimachinery 0.36.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from restow.kube.excerpts import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}
#: What Go's JSON encoder escapes beyond Python's.
_JSON_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def invalid(path: str, value: str | Sequence[str] | None, detail: str) -> str:
    """``path: Invalid value: "x": detail``; a list of values is shown as JSON, None as ``null``."""
    shown = quote(value) if isinstance(value, str) else _json(value)
    return f"{path}: Invalid value: {shown}: {detail}"


def not_supported(path: str, value: str, supported: Iterable[str]) -> str:
    """``path: Unsupported value: "x": supported values: "a", "b"``."""
    return f"{path}: Unsupported value: {_json(value)}: supported values: {', '.join(map(quote, supported))}"


def aggregate(messages: Iterable[str]) -> str:
    """Several messages as one: repeats are dropped, and two or more stand in brackets."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def child(path: str, name: str) -> str:
    """Return the path of a field of the object at ``path``; the root has the empty path."""
    return f"{path}.{name}" if path else name


def quote(text: str) -> str:
    """Return a Go string literal (``%q``) of the text's excerpt."""
    return f'"{"".join(map(_escape, excerpt(text)))}"'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json(value: str | Sequence[str] | None) -> str:
    short = excerpt(value) if isinstance(value, str) else value
    text = json.dumps(short, ensure_ascii=False, separators=(",", ":")).translate(_JSON_ESCAPES)
    return text if isinstance(value, str) else excerpt(text)
