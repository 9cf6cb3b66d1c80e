"""A trial is given up only if one of the best is better in each of its futures, and what it would come to is told by that one."""

from __future__ import annotations

from random import Random

import pytest

from restow.tuning.giving_up import FIRST, BestTrials, means_of


def one(*numbers):
    """The outcomes of a trial with one objective."""
    return [[float(each)] for each in numbers]


@pytest.fixture
def best():
    found = BestTrials()
    found.add(one(1, 2, 3, 4, 5, 10, 10, 10))
    return found


def test_worse_in_each_future_is_given_up(best):
    """It is 2 worse in the futures that both have seen, so it is taken to be 2 worse than that one in all."""
    assert best.projected(one(3, 4, 5, 6, 7)) == [pytest.approx(45 / 8 + 2)]


@pytest.mark.parametrize("first", [one(3, 4, 5, 6, 5), one(0, 9, 9, 9, 9)])
def test_as_good_in_one_goes_on(best, first):
    assert best.projected(first) is None


def test_the_first_trials_go_on():
    assert BestTrials().projected(one(9, 9, 9, 9, 9)) is None


def test_one_trial_has_to_be_better_in_all_objectives():
    best = BestTrials()
    best.add([[1.0, 5.0]] * 8)
    best.add([[5.0, 1.0]] * 8)
    assert best.projected([[4.0, 4.0]] * FIRST) is None
    assert best.projected([[6.0, 2.0]] * FIRST) == [6.0, 2.0]


def test_a_trial_that_another_beats_ends_none():
    """Else every further trial would be one more chance to be given up by luck."""
    best = BestTrials()
    best.add(one(2, 2, 2, 2, 9, 9))
    best.add(one(9, 9, 9, 9, 0, 0))
    assert means_of(one(2, 2, 2, 2, 9, 9)) < means_of(one(9, 9, 9, 9, 0, 0))
    assert best.projected(one(99, 99, 99, 99, 1)) is None


def test_equally_good_trials_are_seldom_given_up():
    """One of 32 at most, if the futures of both are alike; here one in 32 by chance, three times that would be a fault."""
    chance, given_up = Random(1), 0
    for _ in range(2_000):
        best = BestTrials()
        best.add(one(*(chance.random() for _ in range(8))))
        given_up += best.projected(one(*(chance.random() for _ in range(FIRST)))) is not None
    assert 0 < given_up < 2_000 * 1.5 / 2**FIRST
