"""Numbers in text are read as Go reads them; Python reads more."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.kube.node_selection import compile_preferred
from restow.kube.numbers import parse_canonical_integer, parse_float, parse_integer, share
from restow.kube.objects import LabelSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0.0),
        ("-1.5", -1.5),
        ("+2.", 2.0),
        (".25", 0.25),
        ("1e+06", 1e6),
        ("1E-3", 0.001),
        ("0.10000000000000001", 0.1),
        ("+Inf", math.inf),
        ("-infinity", -math.inf),
        ("1e999", math.inf),
    ],
)
def test_a_decimal_number(text: str, value: float) -> None:
    assert parse_float(text) == value


def test_no_number_is_one() -> None:
    assert math.isnan(parse_float("NaN"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1\n",
        "1_000",
        "1,5",
        "١٢",
        "²",
        "1e",
        "e1",
        ".",
        "0x1p-2",
        "1f",
        "--1",
        "1e5_0",
        "infin",
        "-",
    ],
)
def test_what_python_alone_reads_and_what_nobody_does(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        parse_float(text)


def test_a_long_text_is_quoted_by_its_beginning() -> None:
    with pytest.raises(ValueError, match="is not a number") as raised:
        parse_float("1_" * 50_000)
    assert len(str(raised.value)) < 300


def test_percentages_are_rounded_up_or_down():
    """Counts stay what they are."""
    assert [share("25%", 10, up=True), share("25%", 10, up=False), share(3, 10, up=True)] == [3, 2, 3]


def test_what_is_neither_is_nothing():
    """Also a number in quotes, which the API server refuses."""
    assert [share(text, 10, up=True) for text in ("x%", "7", "", "%", "-5%", "²%", "1_0%", "9" * 5000 + "%")] == [0] * 8


@pytest.mark.parametrize("parse", [parse_integer, parse_canonical_integer])
@pytest.mark.parametrize("text", ["9" * 20, "9" * 5_000, "-" + "9" * 5_000, str(LARGEST + 1), str(-LARGEST - 2)])
def test_what_int64_does_not_hold_is_no_integer(parse, text):
    """Python reads no more than 4,300 digits."""
    assert parse(text) is None


@given(number=st.integers(-LARGEST - 1, LARGEST))
def test_every_int64_is_one(number):
    assert parse_integer(str(number)) == parse_canonical_integer(str(number)) == number


def test_leading_zeros_make_no_number_too_long():
    assert parse_integer("+" + "0" * 5_000 + "7") == 7
    assert parse_integer("-" + "0" * 5_000) == 0
    assert parse_canonical_integer("007") is None


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_a_preferred_term_with_thousands_of_digits_matches_no_node(operator):
    """The API server does not look into preferred terms."""
    expression = LabelSelectorRequirement("size", operator, ("9" * 5_000,))
    terms = compile_preferred([PreferredSchedulingTerm(10, NodeSelectorTerm((expression,)))])
    (preferred,) = terms
    assert not preferred.term.matches("n1", {"size": "5"})
