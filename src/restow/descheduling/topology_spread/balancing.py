"""How many pods the full domains of a topology must give up.

Domains are sorted by size. A pointer at the emptiest and one at the fullest close in on each other: the fullest gives
the emptiest as many pods as lie above the average, as the emptiest lacks to the average, or as half of what their
difference exceeds the allowed skew by, whichever is least. Source: Descheduler 0.36,
plugins/removepodsviolatingtopologyspreadconstraint, balanceDomains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil


def surrenders(sizes: Sequence[int], max_skew: int) -> Iterator[tuple[int, int]]:
    """Return how many pods each domain gives up, in the order in which upstream finds them; ``sizes`` is ascending.

    Upstream continues until the pointers meet. Two conditions end it earlier with the same result: if the emptiest domain that
    has received nothing may receive nothing, no larger one may; and if no domain is above the average, none gives up pods.
    That matters if each of thousands of nodes is a domain.
    """
    counts = list(sizes)
    average = sum(counts) / len(counts)
    low, high = 0, len(counts) - 1
    while low < high:
        if counts[high] <= average:
            high -= 1
            if counts[high] <= average:
                return
        moved = _moved(counts[low], counts[high], average, max_skew)
        if moved > 0:
            counts[low] += moved
            counts[high] -= moved
            yield high, moved
        elif counts[low] == sizes[low]:
            return
        else:
            low += 1


def _moved(low: int, high: int, average: float, max_skew: int) -> int:
    skew = high - low
    if skew <= max_skew:
        return 0
    return min(ceil(high - average), ceil(average - low), ceil((skew - max_skew) / 2))
