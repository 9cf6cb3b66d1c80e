"""The search finds what is best where that is known, and says the same whatever makes its trials."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from restow.tuning.searching import Trial, Tried, front_of, search
from restow.tuning.space import TunableSetting

SETTINGS = (
    TunableSetting("threshold", tuple(range(10, 91, 5)), is_range=True),
    TunableSetting("budget", tuple(range(1, 21)), is_range=True),
    TunableSetting("every", ("1m", "5m", "15m", "1h"), is_range=False),
)
_COST_OF = {"1m": 6.0, "5m": 0.0, "15m": 2.0, "1h": 9.0}


def cost(values) -> float:
    """A valley with its bottom at 45, 7 and 5m."""
    return abs(values["threshold"] - 45) / 5 + abs(values["budget"] - 7) / 2 + _COST_OF[values["every"]]


def best(trials) -> float:
    return min(each.objectives[0] for each in trials)


def found(seed, count=60, base=None, objectives=1, of=lambda values: [cost(values)]):
    try_all = lambda some: [Tried(of(each), 1) for each in some]  # noqa: E731
    return search(SETTINGS, base or {}, try_all, count=count, seed=seed, objectives=objectives)


def test_a_planted_optimum_is_found_within_60_trials_and_random_search_does_worse():
    """Of 1,360 combinations: within a step of the best one in 18 of 20 seeds at least."""
    assert (
        min(
            map(
                cost,
                ({"threshold": a, "budget": b, "every": c} for a, b, c in product(*(each.values for each in SETTINGS))),
            )
        )
        == 0
    )
    searched = [best(found(seed).trials) for seed in range(20)]
    random = [
        min(
            cost({each.path: Random(f"{seed}-{trial}-{each.path}").choice(each.values) for each in SETTINGS})
            for trial in range(60)
        )
        for seed in range(20)
    ]
    assert sum(each <= 1 for each in searched) >= 18
    assert sum(searched) < sum(random) / 2


def test_the_same_seed_tries_the_same_values():
    assert found(3, 20) == found(3, 20)
    assert found(3, 20) != found(4, 20)


def test_the_policy_as_it_is_comes_first_where_the_space_has_it():
    base = {"threshold": 50, "budget": 5, "every": "5m"}
    assert found(1, 6, base).trials[0].values == base
    assert found(1, 6, base | {"budget": 100}).trials[0].values != base | {"budget": 100}


def test_what_matters_most_is_worth_most():
    worth = found(1, 60, of=lambda values: [values["budget"] + values["threshold"] / 1000]).worth
    assert max(worth, key=worth.__getitem__) == "budget"
    assert sum(worth.values()) == pytest.approx(1, abs=0.01)


def test_where_nothing_matters_nothing_is_said():
    assert set(found(1, 12, of=lambda _: [1.0]).worth.values()) <= {0.0, 1.0, 0.333}


def test_a_front_has_what_no_other_trial_beats_each_once():
    found = [(3, 1), (1, 3), (2, 2), (3, 3), (2, 2), (1, 4)]
    trials = [Trial(number, {}, each, 1) for number, each in enumerate(found)]
    assert [each.number for each in front_of(trials)] == [1, 2, 0]


def test_a_trial_that_was_given_up_is_on_no_front():
    trials = [Trial(0, {}, (1.0,), 5, is_given_up=True), Trial(1, {}, (2.0,), 10), Trial(2, {}, (2.0,), 10)]
    assert [each.number for each in front_of(trials)] == [1]


def test_several_objectives_have_a_front():
    trials = found(2, 40, objectives=2, of=lambda values: [cost(values), float(values["budget"])]).trials
    front = front_of(trials)
    assert len(front) > 1
    assert [each.objectives[0] for each in front] == sorted(each.objectives[0] for each in front)
    assert [each.objectives[1] for each in front] == sorted((each.objectives[1] for each in front), reverse=True)
