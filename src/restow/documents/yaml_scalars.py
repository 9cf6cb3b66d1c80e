"""What a plain YAML scalar means to the Go programs that read the same file.

They read YAML 1.1 with their own edges: ``yes``, ``on`` and ``y`` are booleans, ``0o17`` and ``017`` are octal,
``1_000`` is a number, base-60 numbers and timestamps are text. Then they write JSON and read that, where 5.0 has
become 5. PyYAML's resolver differs in most of these, so it is not used.
Source: sigs.k8s.io/yaml 1.6, with its YAML 2 parser.
"""

from __future__ import annotations

import math
import re

#: What a document is made of.
Scalar = str | int | float | bool | None

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
_NAN = (".nan", ".NaN", ".NAN")
_INFINITE = (".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF")

_WORDS: dict[str, Scalar] = (
    dict.fromkeys(_TRUE, True)
    | dict.fromkeys(_FALSE, False)
    | dict.fromkeys(_NULL, None)
    | dict.fromkeys(_NAN, math.nan)
    | dict.fromkeys(_INFINITE, math.inf)
)

_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}

_MIN_INTEGER = -(2**63)
_MAX_INTEGER = 2**64 - 1
#: From here on JSON writes a float with an exponent, which no integer field reads.
_EXPONENT_FROM = 1e21
#: No 64-bit integer has more digits in any base; a longer literal is a float.
_MAX_DIGITS = 64


def resolve(text: str) -> Scalar:
    """Return the value of an unquoted scalar; not-a-number and infinities are floats."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    number = _integer(text)
    return number if number is not None else _float(text)


def _integer(text: str) -> int | None:
    match = _INTEGER.fullmatch(text.replace("_", ""))
    if match is None or match.lastgroup is None:
        return None
    digits = match[match.lastgroup]
    if len(digits) > _MAX_DIGITS:
        return None
    number = int(f"{match['sign']}{digits}", _BASES[match.lastgroup])
    return number if _MIN_INTEGER <= number <= _MAX_INTEGER else None


def _float(text: str) -> Scalar:
    plain = text.replace("_", "")
    number = float(plain) if _FLOAT.fullmatch(plain) else math.inf
    if math.isinf(number):
        return text
    return int(number) if number.is_integer() and abs(number) < _EXPONENT_FROM else number
