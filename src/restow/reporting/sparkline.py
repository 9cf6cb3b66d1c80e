"""Many nodes in one line of characters: ``▂▇█▁▁▂``, an empty node to a full one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVELS: Final = "▁▂▃▄▅▆▇█"
MOST_BUCKETS: Final = 40


def sparkline(fractions: Sequence[float]) -> str:
    """Return one character a value; values outside 0 to 1 show as the nearest end."""
    top = len(LEVELS) - 1
    return "".join(LEVELS[min(max(round(each * top), 0), top)] for each in fractions)


def bucketed(values: Sequence[float], most: int = MOST_BUCKETS) -> list[float]:
    """Return the values, or the means of ``most`` neighbouring groups of nearly equal size where there are more."""
    if len(values) <= most:
        return list(values)
    edges = [index * len(values) // most for index in range(most + 1)]
    return [sum(values[low:high]) / (high - low) for low, high in pairwise(edges)]
