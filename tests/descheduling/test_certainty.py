"""How probable success must be, and what a probability is called."""

from __future__ import annotations

import pytest

from restow.descheduling.placement import certainty_of, least_probability, probability_text
from restow.policies.codes import Certainty
from restow.policies.policy import CertaintySetting


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("certain", 1.0), ("likely", 0.8), ("possible", 0.0), (0.95, 0.95)],
)
def test_a_policy_asks_for_a_probability(setting: CertaintySetting, expected: float) -> None:
    assert least_probability(setting) == expected


@pytest.mark.parametrize(
    ("probability", "expected"),
    [(1.0, "certain"), (0.9999, "likely"), (0.8, "likely"), (0.7999, "possible"), (0.0, "possible")],
)
def test_a_probability_has_a_name(probability: float, expected: Certainty) -> None:
    assert certainty_of(probability, is_known=True) == expected


def test_what_rests_on_something_missing_is_no_more_than_possible() -> None:
    assert certainty_of(1.0, is_known=False) == "possible"


@pytest.mark.parametrize(
    ("probability", "expected"),
    [(1.0, "1"), (0.99999, "0.99"), (0.934, "0.93"), (0.00001, "0.01"), (0.0, "0")],
)
def test_only_what_is_certain_is_1_and_only_what_cannot_be_is_0(probability: float, expected: str) -> None:
    assert probability_text(probability) == expected
