"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
#: Seconds between two looks.
_LOOK = 0.03


def wait_until(what: str, look: Callable[[], T], timeout: float = 30.0, *, every: float = _LOOK) -> T:
    """What ``look`` returns once that is true; it is called again ``every`` so many seconds.

    Raises TimeoutError with ``what`` and the last value seen.
    """
    deadline = time.monotonic() + timeout
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout:.0f} s in vain: {what}; last seen: {seen!r}")
        time.sleep(every)
    return seen
