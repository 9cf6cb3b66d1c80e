"""How long pods wait after attempts that failed. Rows of upstream's calculateBackoffDuration and getBackoffTime among them."""

from __future__ import annotations

import pytest

from restow.scheduling.queueing.queued_pods import BackoffSettings, is_backing_off


@pytest.mark.parametrize(
    ("initial", "maximum", "failures", "seconds"),
    [
        *((1, 10, failures, seconds) for failures, seconds in ((1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10))),
        (1, 60, 6, 32),
        (1, 60, 7, 60),
        (1, 2**31 - 1, 32, 2**31 - 1),
        (1, 2**31 - 1, 16, 32_768),
        (1, 2**31 - 1, 10_000, 2**31 - 1),
        (3, 10, 3, 10),
        (10, 10, 1, 10),
    ],
)
def test_the_wait_doubles_up_to_the_maximum(initial: float, maximum: float, failures: int, seconds: float) -> None:
    assert BackoffSettings(initial, maximum).duration(failures) == seconds


@pytest.mark.parametrize(
    ("settings", "since", "failures", "ends"),
    [
        (BackoffSettings(), 100.0, 0, None),
        (BackoffSettings(maximum=0), 100.0, 3, None),
        (BackoffSettings(), 100.0, 1, 101),
        (BackoffSettings(), 100.9, 1, 101),
        (BackoffSettings(), 100.9, 5, 110),
        (BackoffSettings(0.5), 100.4, 1, 100),
    ],
)
def test_a_wait_ends_in_a_whole_second(
    settings: BackoffSettings, since: float, failures: int, ends: int | None
) -> None:
    assert settings.ends(since, failures) == ends


@pytest.mark.parametrize(
    ("ends", "now", "backs_off"), [(None, 0, False), (5, 4.9, True), (5, 5, True), (5, 5.99, True), (5, 6, False)]
)
def test_a_wait_goes_on_for_all_of_its_last_second(ends: int | None, now: float, backs_off: bool) -> None:
    assert is_backing_off(ends, now) is backs_off
