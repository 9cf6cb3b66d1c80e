"""The values that the ``restow:`` section may have, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from restow.documents.findings import Issue
from restow.kube.excerpts import excerpt
from restow.kube.label_syntax import key_problems
from restow.policies.policy import RestowSettings, Window

_SHARE = "must be a whole number of 1 or more, or a percentage from 1% to 100%"
_PERCENTAGE = re.compile(r"0*([1-9][0-9]?|100)%")
_PROBABILITY = "must be certain, likely, possible or a probability above 0, up to 1"
_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
#: Fields of a cron expression: minute, hour, day of the month, month, weekday.
_FIELDS = 5


def check_restow(settings: RestowSettings) -> Iterator[Issue]:
    """Yield what is wrong with the values of the section."""
    if share_of(settings.per_workload, 1) is None:
        yield Issue(("restow", "perWorkload"), f"{_SHARE}, not {excerpt(repr(settings.per_workload))}")
    if isinstance(settings.certainty, float) and not 0 < settings.certainty <= 1:
        yield Issue(("restow", "certainty"), f"{_PROBABILITY}, not {settings.certainty:g}")
    if share_of(settings.fence_share, 1) is None:
        yield Issue(("restow", "fenceShare"), f"{_SHARE}, not {excerpt(repr(settings.fence_share))}")
    if settings.group_label:
        yield from (Issue(("restow", "groupLabel"), each) for each in key_problems(settings.group_label))
    waits = (("waitForReady", settings.wait_for_ready), ("waitForBudget", settings.wait_for_budget))
    yield from (Issue(("restow", name), "must be longer than 0s") for name, wait in waits if wait <= 0)
    if settings.vetoes.migration_cool_down < 0:
        yield Issue(("restow", "vetoes", "migrationCoolDown"), "must be 0s or longer")
    for index, window in enumerate(settings.windows):
        yield from _check_window(window, index)


def share_of(share: int | str, whole: int) -> int | None:
    """Return the number that a number or percentage of a whole means, rounded down, at least 1; None if it is invalid."""
    if isinstance(share, int):
        return share if share >= 1 else None
    percent = _PERCENTAGE.fullmatch(share)
    return max(1, whole * int(percent[1]) // 100) if percent else None


def _check_window(window: Window, index: int) -> Iterator[Issue]:
    path = ("restow", "windows", index)
    if window.duration <= 0:
        yield Issue((*path, "duration"), "must be longer than 0s")
    try:
        ZoneInfo(window.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        yield Issue(
            (*path, "timeZone"),
            f"must be an IANA time zone such as Europe/Berlin, not {excerpt(repr(window.time_zone))}",
        )
    try:
        CronSim(window.start, _ANY_TIME)
    except (CronSimError, ValueError) as error:
        # cronsim makes numbers of any digits, and Python of 4,300 at most.
        yield Issue(
            (*path, "start"),
            f"must be a cron expression such as 0 22 * * 1-5, not {excerpt(repr(window.start))} ({excerpt(error)})",
        )
    else:
        if len(window.start.split()) != _FIELDS:
            yield Issue((*path, "start"), f"must have five fields, not {excerpt(repr(window.start))}")
