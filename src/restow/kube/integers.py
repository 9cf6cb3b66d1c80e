"""Integers in labels and taints: int64 in base 10, as Go programs read them."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[+-]?[0-9]+")
_CANONICAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_INT64 = range(-(2**63), 2**63)
#: Of the largest int64. Python refuses to read thousands of digits at all.
_MOST_DIGITS = 19


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
