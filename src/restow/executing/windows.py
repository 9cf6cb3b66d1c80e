"""The times in which a policy allows evictions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from restow.kube.duration import SECOND
from restow.policies.policy import Window


def closed(windows: Sequence[Window], now: float) -> str | None:
    """Why nothing may be evicted at a time (seconds since the epoch); None if it may."""
    if not windows or any(_is_open(each, now) for each in windows):
        return None
    starts = [start for each in windows if (start := _next_start(each, now)) is not None]
    opens = f"the next opens at {min(starts).isoformat(timespec='seconds')}" if starts else "none will open again"
    return f"no window of the policy is open; {opens}"


def _is_open(window: Window, now: float) -> bool:
    # The latest start before the next second: a window is open from its very first moment on.
    at = _moment(window, now) + timedelta(seconds=1)
    start = next(CronSim(window.start, at, reverse=True), None)
    return start is not None and now < start.timestamp() + window.duration / SECOND


def _next_start(window: Window, now: float) -> datetime | None:
    return next(CronSim(window.start, _moment(window, now)), None)


def _moment(window: Window, now: float) -> datetime:
    return datetime.fromtimestamp(now, ZoneInfo(window.time_zone))
