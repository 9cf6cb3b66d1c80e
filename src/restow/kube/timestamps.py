"""Times as the Kubernetes API writes them: RFC 3339 text on the wire, nanoseconds since the epoch inside.

An int64 of nanoseconds holds the years 1678 to 2262. Other times that an object has count as the nearest of these, as
Go's durations end there too.
Source: ``metav1.Time``, apimachinery 0.36, which reads with Go's ``time.RFC3339``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from restow.kube.excerpts import excerpt

SECOND = 10**9

_TEXT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>[0-5]\d))",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ONE_SECOND = timedelta(seconds=1)
#: The least int64 stands for no time at all.
_EARLIEST, _LATEST = -(2**63) + 1, 2**63 - 1


def parse_time(text: str) -> int:
    """Nanoseconds since the epoch of an RFC 3339 time; ValueError when it is none or beyond int64."""
    nanoseconds = _nanoseconds(text)
    if not -(2**63) <= nanoseconds <= _LATEST:
        raise ValueError(f'"{excerpt(text)}" is outside of the years 1678 to 2262')
    return nanoseconds


def nearest_time(text: str) -> int:
    """The time, clamped to what int64 holds; ValueError when it is no RFC 3339 time."""
    return max(_EARLIEST, min(_nanoseconds(text), _LATEST))


def _nanoseconds(text: str) -> int:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise _not_a_time(text)
    year, month, day, hour, minute, second = (int(field) for field in match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise _not_a_time(text) from error
    seconds = (moment - _EPOCH) // _ONE_SECOND - _offset(match)
    return seconds * SECOND + int((match[7] or "")[:9].ljust(9, "0"))


def format_time(nanoseconds: int) -> str:
    """RFC 3339 in UTC with whole seconds, rounded down: ``2026-07-01T12:00:00Z``."""
    return (_EPOCH + timedelta(seconds=nanoseconds // SECOND)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _offset(match: re.Match[str]) -> int:
    """Seconds that the text's clock is ahead of UTC."""
    if match["sign"] is None:
        return 0
    seconds = int(match["hours"]) * 3600 + int(match["minutes"]) * 60
    return -seconds if match["sign"] == "-" else seconds


def _not_a_time(text: str) -> ValueError:
    return ValueError(f'"{excerpt(text)}" is not a time: write it as RFC 3339, such as 2026-07-01T12:00:00Z')
