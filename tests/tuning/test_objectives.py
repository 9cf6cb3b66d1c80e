"""Formulas of the numbers of a future."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.errors import InputError
from restow.simulating.scenarios.running import Future
from restow.tuning.objectives import read_objective

FUTURE = Future(1, 12, 3, 2, 40.5, 90.0, 7, 0.25, 0.125, None, 1)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("evictions", 12),
        ("evictions + 0.1 * belowSeconds", 21),
        ("-(inVain - 2*movedAgain) / 4", 0.25),
        ("quietAfterSeconds", 3600),
        ("failed*1e3", 1000),
    ],
)
def test_a_formula_has_the_value_that_arithmetic_says(formula, value):
    """A cluster that was never quiet counts as quiet at the end."""
    assert read_objective(formula).of(FUTURE, 3600) == value


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("eviction", 'eviction is no number of a future; did you mean "evictions"?'),
        ("seed", "seed is no number of a future"),
        ("evictions +", "is no formula"),
        ("1 + 2", "uses none of evictions"),
        ("evictions ** 2", "may have names, numbers"),
        ("evictions / 0", "may have names, numbers"),
        ("1 / evictions", "may have names, numbers"),
        ("__import__('os')", "may have names, numbers"),
        ("evictions.real", "may have names, numbers"),
        ("evictions + " + "1 + " * 200 + "1", "has more than 500 characters"),
        ("(" * 400 + "evictions", "is no formula"),
        ("evictions * 1e999", "may have names, numbers"),
        ("", "is no formula"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(formula, sentence):
    with pytest.raises(InputError) as caught:
        read_objective(formula)
    assert sentence in str(caught.value)


@given(st.text(max_size=60))
def test_no_text_does_anything_but_be_a_formula_or_be_refused(text):
    with suppress(InputError):
        read_objective(text)
