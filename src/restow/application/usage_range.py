"""``--usage DURATION``: how far a history reaches back, and in which steps."""

from __future__ import annotations

from typing import Final

from restow.errors import InputError
from restow.kube.duration import SECOND, parse_duration
from restow.kube.excerpts import excerpt

#: A day in five minutes: no series has more samples.
_MOST_SAMPLES: Final = 288
_MINUTE: Final = 60
_LONGEST: Final = 366 * 24 * 3600


def usage_seconds(text: str) -> int:
    """Return how many seconds a range has; InputError where it cannot be used."""
    try:
        seconds = parse_duration(text) // SECOND
    except ValueError as error:
        raise InputError(f"--usage {excerpt(text)}: {error}; write a duration such as 24h") from error
    if not _MINUTE <= seconds <= _LONGEST:
        raise InputError(f"--usage {excerpt(text)}: must be from 1m to {_LONGEST // 3600}h")
    return seconds


def usage_step(seconds: int) -> int:
    """Return the seconds between two samples of a range: whole minutes, as few as keep it small."""
    return -(-seconds // (_MOST_SAMPLES * _MINUTE)) * _MINUTE
