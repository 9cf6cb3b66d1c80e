"""What plain YAML scalars mean. Expected values were printed by sigs.k8s.io/yaml 1.6."""

from __future__ import annotations

import math

import pytest

from restow.documents.nodes import resolve


@pytest.mark.parametrize("text", ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
def test_words_for_true(text):
    assert resolve(text) is True


@pytest.mark.parametrize("text", ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
def test_words_for_false(text):
    assert resolve(text) is False


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_words_for_null(text):
    assert resolve(text) is None


@pytest.mark.parametrize("text", ["yEs", "oN", "tRue", "nULL", "<<", "=", "nan", "1:30", "190:20:30", "2001-01-01"])
def test_words_that_only_look_special_are_text(text):
    """Base-60 numbers and timestamps are text to the Go programs."""
    assert resolve(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-1", -1),
        ("+1", 1),
        ("007", 7),
        ("0o17", 15),
        ("0O17", 15),
        ("-017", -15),
        ("0x1F", 31),
        ("-0x1f", -31),
        ("0b101", 5),
        ("-0b101", -5),
        ("1_000", 1000),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_integers(text, number):
    assert resolve(text) == number
    assert isinstance(resolve(text), int)


@pytest.mark.parametrize(("text", "number"), [("5.0", 5), ("1e3", 1000), ("08", 8), ("5.", 5), ("1e20", 10**20)])
def test_a_float_without_a_fraction_is_written_to_json_as_an_integer(text, number):
    assert resolve(text) == number
    assert isinstance(resolve(text), int)


@pytest.mark.parametrize(("text", "number"), [("1.5", 1.5), (".5", 0.5), ("-.5", -0.5), ("1.e-1", 0.1), ("1e21", 1e21)])
def test_other_floats_stay_floats(text, number):
    assert resolve(text) == number
    assert isinstance(resolve(text), float)


@pytest.mark.parametrize(
    "text", ["0x", "0b2", "0o", "+", "-", ".", "..", "1e", "1ee3", "0xg", "_1", "1e400", "9" * 5000]
)
def test_numbers_that_are_none_are_text(text):
    assert resolve(text) == text


@pytest.mark.parametrize("text", [".inf", "-.Inf", "+.INF", ".nan", ".NaN"])
def test_words_that_json_cannot_hold_are_floats(text):
    assert not math.isfinite(resolve(text))
