"""Numbers as Go programs read them from text.

Python's own ``float`` and ``int`` take more: ``1_000``, white space around, digits of every script.
"""

from __future__ import annotations

import re
from typing import Final

from restow.kube.excerpts import excerpt

_FLOAT: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)


def parse_float(text: str) -> float:
    """Read a decimal number as ``strconv.ParseFloat`` does; ValueError for anything else.

    >>> parse_float("1e3"), parse_float("-.5"), parse_float("+Inf")
    (1000.0, -0.5, inf)
    """
    if not _FLOAT.fullmatch(text):
        raise ValueError(f'"{excerpt(text)}" is not a number')
    return float(text)
