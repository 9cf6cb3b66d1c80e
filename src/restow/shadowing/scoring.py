"""How good forecasts were: the Brier score of what was foretold against what evictions came to.

A forecast gives three probabilities: that the pod moves, that it comes back, that it stays pending. Its error is half the
sum of the squared differences to what happened: 0 for a certain forecast that came true, 1 for one that did not. Among
nodes forecasts are compared with their own claim: the probabilities of the most probable nodes sum up to how many
landings there should be on them. Source: Brier, Verification of forecasts expressed in terms of probability (1950).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from restow.policies.codes import Certainty
from restow.shadowing.outcomes import FORETOLD, EvictionOutcome, ForeignEviction

#: What a steady forecast is called.
SURE = (Certainty.CERTAIN, Certainty.LIKELY)


@dataclass(slots=True, frozen=True)
class ForecastScore:
    """How good some forecasts were."""

    #: How many evictions have a forecast and an outcome.
    forecasts: int = 0
    #: How often the most probable of the three happened.
    right: int = 0
    #: The mean error, 0 to 1; None without forecasts.
    brier: float | None = None
    #: How many replacements should have landed on their most probable node, and how many did.
    expected_on_node: float = 0.0
    landed_on_node: int = 0


def score(
    evictions: Iterable[ForeignEviction], now: float, certainties: Collection[Certainty] = tuple(Certainty)
) -> ForecastScore:
    """Score the forecasts of some certainties."""
    scored = [
        each for each in evictions if each.forecast.certainty in certainties and _came_true(each, now) is not None
    ]
    if not scored:
        return ForecastScore()
    named = [each for each in scored if each.forecast.node_probability is not None and each.landed is not None]
    return ForecastScore(
        forecasts=len(scored),
        right=sum(1 for each in scored if _is_right(each, now)),
        brier=sum(error(each, now) or 0.0 for each in scored) / len(scored),
        expected_on_node=sum(each.forecast.node_probability or 0.0 for each in named),
        landed_on_node=sum(1 for each in named if each.node == each.forecast.node),
    )


def error(eviction: ForeignEviction, now: float) -> float | None:
    """The error of one forecast, 0 to 1; None while its outcome is open, or where nothing was foretold."""
    happened = _came_true(eviction, now)
    if happened is None or eviction.forecast.certainty is None:
        return None
    foretold = _probabilities(eviction)
    return sum((foretold[each] - (each is happened)) ** 2 for each in FORETOLD) / 2


def _probabilities(eviction: ForeignEviction) -> dict[EvictionOutcome, float]:
    forecast = eviction.forecast
    return dict(zip(FORETOLD, (forecast.moved, forecast.in_vain, forecast.pending), strict=True))


def _came_true(eviction: ForeignEviction, now: float) -> EvictionOutcome | None:
    outcome = eviction.outcome(now)
    return outcome if outcome in FORETOLD else None


def _is_right(eviction: ForeignEviction, now: float) -> bool:
    foretold = _probabilities(eviction)
    return max(FORETOLD, key=foretold.__getitem__) is _came_true(eviction, now)
