"""Numbers at even distances of time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from restow.kube.timestamps import SECOND
from restow.simulating.scenarios.run_record import Sampler

HOUR = 3600


def sampled(changes, end):
    """The numbers of something that becomes what ``changes`` say, by second, and is 0 before."""
    tally = SimpleNamespace(number=0)
    sampler = Sampler({"n": tally})
    for second, number in changes.items():
        sampler.pass_to(second * SECOND)
        tally.number = number
    samples = sampler.finish(end * SECOND)
    return samples.every // SECOND, list(samples.numbers["n"])


def test_a_number_is_that_of_its_moment():
    assert sampled({5: 1, 20: 2, 21: 3}, end=39) == (10, [0, 1, 2, 3])


def test_the_end_counts():
    assert sampled({10: 1}, end=10) == (10, [0, 1])


@pytest.mark.parametrize("hours", [1, 24, 1000])
def test_a_long_run_has_about_as_many_numbers_as_a_short_one(hours):
    every, numbers = sampled({hours * HOUR // 2: 1}, end=hours * HOUR)
    assert 60 <= len(numbers) <= 121
    assert len(numbers) == hours * HOUR // every + 1
    assert abs(sum(numbers) - len(numbers) / 2) <= 1
