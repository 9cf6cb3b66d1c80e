"""When a CronJob is due: five fields, or a word such as ``@hourly``, in a time zone; or ``@every 90m``.

Source: robfig/cron's ParseStandard, which Kubernetes 1.36 uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from restow.kube.duration import parse_duration
from restow.kube.timestamps import SECOND

_WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_FIELDS: Final = 5
#: No schedule has longer fields; more digits than Python reads would be an error of another kind.
_LONGEST: Final = 500


@dataclass(slots=True, frozen=True)
class CronSchedule:
    """The times at which a CronJob is due; times are nanoseconds since the epoch."""

    #: Five fields; empty for a schedule with a fixed interval in nanoseconds.
    fields: str
    zone: tzinfo
    interval: int = 0

    def last(self, since: int, now: int) -> int | None:
        """The last time after ``since``, and at ``now`` at the latest; None if there is none."""
        if self.interval:
            times = (now - since) // self.interval
            return since + times * self.interval if times > 0 else None
        # What is searched for lies before the given moment.
        found = _nanoseconds(next(CronSim(self.fields, self._moment(now + SECOND), reverse=True)))
        return found if since < found <= now else None

    def next(self, since: int, now: int) -> int:
        """The first time after ``now``; counted from ``since`` where it is due in intervals."""
        if self.interval:
            return since + max(1, (now - since) // self.interval + 1) * self.interval
        return _nanoseconds(next(CronSim(self.fields, self._moment(now))))

    def _moment(self, time: int) -> datetime:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=time // SECOND)).astimezone(self.zone)


def read_schedule(text: str, zone: str | None) -> CronSchedule:
    """The schedule of a text in a time zone (None: UTC); ValueError if one of them cannot be read, or is never due."""
    try:
        known = ZoneInfo(zone) if zone else UTC
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"unknown time zone {zone}") from error
    if text.startswith(_EVERY):
        interval = parse_duration(text.removeprefix(_EVERY))
        # Source: robfig/cron's Every, which knows no fractions of seconds.
        return CronSchedule("", known, max(interval // SECOND, 1) * SECOND)
    fields = _WORDS.get(text, text)
    if len(fields.split()) != _FIELDS or len(fields) > _LONGEST:
        raise ValueError(f'"{text}" is no schedule: write five fields, such as 0 3 * * *')
    schedule = CronSchedule(fields, known)
    try:
        schedule.next(0, 0)
    except (CronSimError, StopIteration, ValueError) as error:
        raise ValueError(f'"{text}" is no schedule: {error or "it is never due"}') from error
    return schedule


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND
