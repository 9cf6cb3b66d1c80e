"""Logarithms for random numbers, and powers for temperatures, that are the same on every machine.

The C library and NumPy may round `log` and `exp` differently from one machine to the next, and one last digit changes
which tries are accepted. These use only operations that IEEE 754 rounds exactly.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

#: Entries of the table: the top 12 bits of a random number choose one.
ENTRIES = 4096
_LN2 = 0.6931471805599453
_BITS = 24


def _binary_logarithm(mantissa: int) -> int:
    """Return log2(mantissa / 2**62) in units of 2**-_BITS, for a mantissa of at least 2**62 and less than 2**63."""
    result = 0
    for _ in range(_BITS):
        mantissa = mantissa * mantissa >> 62
        result <<= 1
        if mantissa >= 1 << 63:
            mantissa >>= 1
            result += 1
    return result


@cache
def negative_logarithms() -> NDArray[np.float64]:
    """Return -ln(u) for ENTRIES evenly spaced u between 0 and 1, the middles of their intervals."""
    table = np.empty(ENTRIES, np.float64)
    for entry in range(ENTRIES):
        numerator, exponent = 2 * entry + 1, ENTRIES.bit_length()
        length = numerator.bit_length() - 1
        binary = _binary_logarithm(numerator << (62 - length)) / (1 << _BITS) + length - exponent
        table[entry] = -binary * _LN2
    return table


def between(first: float, last: float, part: float) -> float:
    """Return first * (last / first) ** part, by square roots, for a part between 0 and 1."""
    if part >= 1:
        return last
    value, root = first, last / first
    for _ in range(40):
        root = math.sqrt(root)
        part *= 2
        if part >= 1:
            value *= root
            part -= 1
    return value
