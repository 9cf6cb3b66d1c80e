"""The pods that a plan says nothing of, because it decides about some pods only.

A repaired plan moves a few pods of an earlier one. All others stay, whatever strategies say of them, so strategies need not
look at them: they ask what is *due* (``View.due``). That finds the same moves as asking about all of them, and refusing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray


class PodsAside(Struct, frozen=True):
    """The pods that a plan says nothing of, since another one decides about them; False where there are none."""

    #: bool[pod] of the pods that were there before the plan; no replacement is aside.
    _is_aside: BoolArray
    _others: IntArray

    def __bool__(self) -> bool:
        return len(self._is_aside) > 0

    def of(self, pods: IntArray) -> BoolArray:
        """Which of some pods are aside, bool[len(pods)]."""
        found = pods < len(self._is_aside)
        found[found] = self._is_aside[pods[found]]
        return found

    def has_any(self, pods: Sequence[int]) -> bool:
        """Whether one of some pods is aside."""
        return bool(self.of(np.array(pods)).any())

    def others(self, count: int) -> IntArray:
        """Those of the first pods that are not aside, where some are."""
        return np.append(self._others, np.arange(len(self._is_aside), count))

    @staticmethod
    def but(rows: Sequence[int], used: int) -> PodsAside:
        """All pods of the rows in use except those of some rows, in order."""
        others = np.array(rows, dtype=np.int64)
        is_aside = np.ones(used, dtype=bool)
        is_aside[others] = False
        return PodsAside(is_aside, others)


NONE_ASIDE: Final = PodsAside(np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64))
