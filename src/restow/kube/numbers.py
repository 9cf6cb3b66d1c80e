"""Numbers as Go programs read them from text, and counts that may be percentages.

Python's own ``float`` and ``int`` take more: ``1_000``, white space around, digits of every script. Sources: Go's
``strconv``; apimachinery's ``intstr``, 0.36, for counts such as ``maxUnavailable: 25%``.
"""

from __future__ import annotations

import re
from typing import Final

from restow.kube.excerpts import excerpt

_FLOAT: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_CANONICAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_INT64 = range(-(2**63), 2**63)
#: Of the largest int64. Python refuses to read thousands of digits at all.
_MOST_DIGITS = 19


def parse_float(text: str) -> float:
    """Read a decimal number as ``strconv.ParseFloat`` does; ValueError for anything else.

    >>> parse_float("1e3"), parse_float("-.5"), parse_float("+Inf")
    (1000.0, -0.5, inf)
    """
    if not _FLOAT.fullmatch(text):
        raise ValueError(f'"{excerpt(text)}" is not a number')
    return float(text)


def parse_integer(text: str) -> int | None:
    """Read an int64 as ``strconv.ParseInt`` does (signs and leading zeros allowed); None for anything else."""
    return _int64(text) if _INTEGER.fullmatch(text) else None


def parse_canonical_integer(text: str) -> int | None:
    """Read an int64 that has no plus sign and no leading zero; None for anything else.

    Source: ``IsDecimalInteger``, apimachinery 0.36.
    """
    return _int64(text) if _CANONICAL_INTEGER.fullmatch(text) else None


def _int64(text: str) -> int | None:
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _MOST_DIGITS:
        return None
    number = int(digits or "0") * (-1 if text.startswith("-") else 1)
    return number if number in _INT64 else None


def share(value: int | str, of: int, *, up: bool) -> int:
    """A count, or a percentage of one, rounded up or down; 0 if it is neither."""
    if isinstance(value, int):
        return value
    text = value.removesuffix("%")
    percent = None if text == value else parse_integer(text)
    if percent is None or percent < 0:
        return 0
    return -(-percent * of // 100) if up else percent * of // 100
