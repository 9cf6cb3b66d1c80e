"""How long ago things happened to pods, in whole seconds as Go's ``Duration.Seconds`` truncated to an integer.

A time that is absent lies, as Go's zero time does, further back than any duration can tell: 292 years.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restow.cluster.pods import NO_TIME
from restow.kube.duration import SECOND

LONGEST_DURATION = 2**63 - 1
#: The age of what has no time, in seconds.
MISSING = LONGEST_DURATION // SECOND

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def elapsed_since(times: npt.NDArray[np.int64], now: int) -> npt.NDArray[np.int64]:
    """Nanoseconds from each time (nanoseconds since the epoch, or NO_TIME) until now, at most LONGEST_DURATION."""
    earliest, latest = max(now - LONGEST_DURATION, NO_TIME), min(now + LONGEST_DURATION, LONGEST_DURATION)
    return np.where(times == NO_TIME, LONGEST_DURATION, now - np.clip(times, earliest, latest))


def seconds_since(times: npt.NDArray[np.int64], now: int) -> npt.NDArray[np.int64]:
    """Seconds from each time (nanoseconds since the epoch, or NO_TIME) until now, truncated towards zero."""
    elapsed = elapsed_since(times, now)
    return np.where(elapsed < 0, -(-elapsed // SECOND), elapsed // SECOND)


def short_duration(seconds: int) -> str:
    """As ``kubectl`` writes ages, in the two largest units: ``3d4h``, ``10m``, ``45s``."""
    for place, (unit, length) in enumerate(_UNITS):
        if seconds >= length:
            count, rest = divmod(seconds, length)
            smaller, step = _UNITS[min(place + 1, len(_UNITS) - 1)]
            return f"{count}{unit}{rest // step}{smaller}" if rest >= step else f"{count}{unit}"
    return "0s"


def age_text(seconds: int) -> str:
    """The age of a pod for people, such as ``age 3d4h``."""
    if seconds >= MISSING:
        return "no creation time"
    return f"age {short_duration(seconds)}" if seconds >= 0 else "created in the future"
