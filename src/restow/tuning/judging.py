"""How much less an objective is than with another policy, future by future, and between what it surely lies.

The interval of the median difference is that of the sign test: between the k-th smallest and the k-th largest difference,
with the largest k that leaves chance at most 5 %. It supposes nothing about how differences are spread, only that the
futures are others than those that the policy was chosen by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

#: How probable it is at most that the median is outside of the interval.
_RISK: Final = 0.05


class Improvement(Struct, frozen=True):
    """By how much an objective is less: the median over futures, and its interval."""

    median: float
    low: float | None
    high: float | None
    #: How probable it is at least that the median lies between ``low`` and ``high``; None with fewer than 6 futures.
    confidence: float | None


def improvement(before: Sequence[float], after: Sequence[float]) -> Improvement:
    """Compare an objective in the same futures, one by one."""
    differences = sorted(round(old - new, 6) for old, new in zip(before, after, strict=True))
    count = len(differences)
    median = round((differences[(count - 1) // 2] + differences[count // 2]) / 2, 6)
    risk, left = 0.0, 0
    for each in range(count // 2):
        more = risk + 2 * math.comb(count, each) / 2**count
        if more > _RISK:
            break
        risk, left = more, each + 1
    if not left:
        return Improvement(median, None, None, None)
    return Improvement(median, differences[left - 1], differences[count - left], round(1 - risk, 4))
