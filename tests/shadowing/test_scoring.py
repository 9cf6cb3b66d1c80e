"""The score of forecasts: nothing for what came true as foretold, more the surer a wrong forecast was."""

from __future__ import annotations

import pytest

from restow.policies.codes import Certainty
from restow.shadowing.day import count, headline
from restow.shadowing.forecasts import Forecast, nothing_foretold
from restow.shadowing.outcomes import ForeignEviction
from restow.shadowing.scoring import SURE, ForecastScore, error, score
from shadowing.scenes import a_foreign_eviction

NOW = 1_000.0


def foretold(moved: float, in_vain: float = 0.0, pending: float = 0.0, **more: object) -> Forecast:
    surest = max(moved, in_vain, pending)
    certainty = Certainty.CERTAIN if surest == 1.0 else Certainty.LIKELY if surest >= 0.8 else Certainty.POSSIBLE
    return Forecast("n2", 0.5, 2, moved, in_vain, pending, certainty)


def moved(forecast: Forecast, node: str = "n2") -> ForeignEviction:
    return a_foreign_eviction(forecast, node=node)


@pytest.mark.parametrize(
    ("forecast", "wrong"),
    [
        (foretold(1.0), 0.0),
        (foretold(0.0, 1.0), 1.0),
        (foretold(0.0, 0.0, 1.0), 1.0),
        (foretold(0.5, 0.5), 0.25),
        (foretold(0.8, 0.2), 0.04),
    ],
    ids=["true", "came back", "pending", "a coin", "likely"],
)
def test_the_error_of_a_forecast_of_a_pod_that_moved(forecast, wrong):
    assert error(moved(forecast), NOW) == pytest.approx(wrong)


def test_what_was_not_foretold_or_is_not_over_has_no_error():
    assert error(moved(nothing_foretold("why")), NOW) is None
    waiting = a_foreign_eviction(foretold(1.0), node="")
    assert error(waiting, waiting.at + 2) is None
    assert score([waiting], waiting.at + 2) == ForecastScore()


def test_scores_by_certainty():
    evictions = [moved(foretold(1.0)), moved(foretold(0.9, 0.1), "n1"), moved(foretold(0.6, 0.4), "n3")]
    everything, sure = score(evictions, NOW), score(evictions, NOW, SURE)
    assert (everything.forecasts, everything.right, everything.landed_on_node) == (3, 2, 1)
    assert everything.expected_on_node == 1.5
    assert (sure.forecasts, sure.right) == (2, 1)
    assert sure.brier == pytest.approx(0.81 / 2)


def test_the_headline_says_what_was_wrong_and_leaves_out_what_was_not():
    evictions = [moved(foretold(1.0)), moved(foretold(1.0), "n1")]
    assert headline(count(evictions, NOW), 1) == (
        "Of 2 evictions 1 came back to their node; restow would have made 1 move."
    )
    assert headline(count([], NOW), 2) == "No pod was evicted by others; restow would have made 2 moves."


def test_everything_that_can_be_wrong_is_in_the_headline():
    bad = a_foreign_eviction(foretold(1.0), node="")
    bad.is_repeated, bad.seconds_down, bad.gone = True, 12.0, bad.at
    assert headline(count([bad], NOW), 0) == (
        "Of 1 eviction 0 came back to their node, 1 left a pod pending, 1 hit a pod that had just been moved, "
        "1 left a workload without a ready pod; restow would have made 0 moves."
    )
