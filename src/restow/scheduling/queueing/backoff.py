"""How long a pod waits after an attempt that failed.

The wait doubles with every rejection, up to a maximum. Errors are counted apart, because trouble with the API server is
not the pod's: the wait after an error goes by how many there were in a row. Waits end at whole seconds, so that all
pods of one second are ordered by priority. Source: backoffQueue, Kubernetes 1.36 with SchedulerPopFromBackoffQ.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Final

#: More are beyond any maximum.
_MOST_DOUBLINGS: Final = 64


@dataclass(slots=True, frozen=True)
class BackoffSettings:
    """``podInitialBackoffSeconds`` and ``podMaxBackoffSeconds``; a maximum of 0 is no wait at all."""

    initial: float = 1
    maximum: float = 10

    def duration(self, failures: int) -> float:
        """Seconds to wait after a number of failures; at least one failure."""
        return min(self.initial * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), self.maximum)

    def ends(self, since: float, failures: int) -> int | None:
        """The second in which the wait of a pod ends that failed last at ``since``; None where it does not wait."""
        if self.maximum == 0 or failures == 0:
            return None
        return floor(since + self.duration(failures))


def is_backing_off(ends: int | None, now: float) -> bool:
    """Whether a wait lasts: until the second in which it ends is over."""
    return ends is not None and ends >= floor(now)
