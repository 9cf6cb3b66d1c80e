"""How much less an objective is, and how sure that is."""

from __future__ import annotations

import math
from random import Random

import pytest

from restow.tuning.judging import improvement


def test_the_median_is_in_the_interval_and_signs_are_of_what_became_less():
    found = improvement([10.0] * 8, [1.0, 2, 3, 4, 5, 6, 7, 20])
    assert (found.median, found.low, found.high) == (5.5, -10, 9)
    assert found.confidence == round(1 - 2 / 2**8, 4)


def test_fewer_than_six_futures_tell_nothing():
    found = improvement([2.0] * 5, [1.0] * 5)
    assert (found.median, found.low, found.confidence) == (1, None, None)
    assert improvement([2.0] * 6, [1.0] * 6).low == 1


@pytest.mark.parametrize("count", [6, 10, 25])
def test_the_interval_holds_the_median_as_often_as_it_says(count):
    """Of 2,000 samples of a lopsided distribution, within three deviations of the binomial one."""
    random, rounds, held, sure = Random(count), 2000, 0, 0.0
    for _ in range(rounds):
        after = [random.expovariate(1) for _ in range(count)]
        found = improvement([0.0] * count, after)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= -math.log(2) <= found.high
        sure = found.confidence
    assert held / rounds >= sure - 3 * math.sqrt(sure * (1 - sure) / rounds)
    assert sure >= 0.95
