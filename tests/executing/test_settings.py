"""When a policy allows evictions."""

from __future__ import annotations

import pytest

from restow.executing.surroundings import closed
from restow.kube.timestamps import parse_time
from restow.policies.policy import Window

HOUR = 3600 * 10**9
NIGHT = Window(start="0 22 * * 1-5", duration=8 * HOUR)
BERLIN = Window(start="0 22 * * *", duration=HOUR, time_zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("window", "time", "is_open"),
    [
        (NIGHT, "2026-11-20T21:59:59Z", False),
        (NIGHT, "2026-11-20T22:00:00Z", True),
        (NIGHT, "2026-11-21T05:59:59Z", True),
        (NIGHT, "2026-11-21T06:00:00Z", False),
        (NIGHT, "2026-11-21T23:00:00Z", False),
        (BERLIN, "2026-11-20T21:30:00Z", True),
        (BERLIN, "2026-11-20T22:30:00Z", False),
        (BERLIN, "2026-07-20T20:30:00Z", True),
    ],
)
def test_a_window_is_open_from_each_start_for_its_duration(window: Window, time: str, is_open: bool) -> None:
    assert (closed([window], parse_time(time) / 1e9) is None) == is_open


def test_without_windows_any_time_will_do() -> None:
    assert closed([], 0.0) is None


def test_one_open_window_is_enough_and_the_next_one_is_named() -> None:
    now = parse_time("2026-11-20T21:30:00Z") / 1e9
    assert closed([NIGHT, BERLIN], now) is None
    said = "no window of the policy is open; the next opens at 2026-11-20T22:00:00+00:00"
    assert closed([NIGHT], now) == said
