"""Ages as Go computes and kubectl writes them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from restow.cluster.pod_values import NO_TIME
from restow.descheduling.pod_criteria import MISSING, age_text, seconds_since, short_duration
from restow.kube.duration import SECOND

NOW = 1_790_000_000 * SECOND


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        pytest.param(NOW, 0, id="now"),
        pytest.param(NOW - SECOND + 1, 0, id="almost a second"),
        pytest.param(NOW - SECOND, 1, id="a second"),
        pytest.param(NOW + SECOND - 1, 0, id="almost a second ahead"),
        pytest.param(NOW + SECOND, -1, id="a second ahead"),
        pytest.param(NO_TIME, MISSING, id="no time"),
        pytest.param(NO_TIME + 1, MISSING, id="longer ago than a duration can tell"),
    ],
)
def test_seconds_are_truncated_towards_zero(time: int, seconds: int) -> None:
    assert seconds_since(np.array([time]), NOW).tolist() == [seconds]


@given(st.lists(st.integers(NO_TIME, 2**63 - 1)), st.just(NOW) | st.integers(-(2**63), 2**63 - 1))
@example([0, NO_TIME, 2**63 - 1], -1)
@example([2**63 - 1, NO_TIME, NO_TIME + 1], -(2**63))
def test_ages_agree_with_exact_arithmetic(times: list[int], now: int) -> None:
    """Whenever it is: --now may lie before 1970."""
    longest = 2**63 - 1
    exact = [longest if time == NO_TIME else max(-longest, min(now - time, longest)) for time in times]
    expected = [elapsed // SECOND if elapsed >= 0 else -(-elapsed // SECOND) for elapsed in exact]
    assert seconds_since(np.array(times, dtype=np.int64), now).tolist() == expected


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (90, "1m30s"),
        (3600, "1h"),
        (3659, "1h"),
        (3661, "1h1m"),
        (86400, "1d"),
        (3 * 86400 + 4 * 3600 + 59, "3d4h"),
        (400 * 86400, "400d"),
    ],
)
def test_durations_have_their_two_largest_units(seconds: int, text: str) -> None:
    assert short_duration(seconds) == text


def test_ages_that_are_no_durations_are_told_in_words() -> None:
    assert age_text(MISSING) == "no creation time"
    assert age_text(-1) == "created in the future"
    assert age_text(3600) == "age 1h"
