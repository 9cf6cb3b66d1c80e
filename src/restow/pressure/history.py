"""The values of the last hour, one a minute, for the lines of the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from restow.kube.duration import MINUTE
from restow.pressure.evaluation import FloatArray, IntArray

SingleArray: TypeAlias = NDArray[np.float32]

#: Minutes that are kept.
KEPT: Final = 60


@dataclass(slots=True, frozen=True)
class History:
    """The last value in each minute; not-a-number where there was none."""

    #: Of shape (rules, nodes, ``KEPT``), the newest at the end. Half the precision is more than a line shows.
    values: SingleArray
    #: Since the epoch, of the newest column.
    minute: int

    @staticmethod
    def empty(rules: int) -> History:
        """Return the history of no nodes."""
        return History(np.empty((rules, 0, KEPT), dtype=np.float32), 0)

    def followed_by(self, values: FloatArray, positions: IntArray, now: int) -> History:
        """Return this history with the values of a moment; ``positions`` is where each node was before, -1 for a new one."""
        minute = now // MINUTE
        passed = min(max(minute - self.minute, 0), KEPT)
        kept = np.full((*values.shape, KEPT), np.nan, dtype=np.float32)
        old = positions >= 0
        if old.any():
            kept[:, old, : KEPT - passed] = self.values[:, positions[old], passed:]
        is_value = np.isfinite(values)
        kept[..., -1][is_value] = values[is_value]
        return History(kept, max(minute, self.minute))
