"""Integers as Go programs read them, however long somebody writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.kube.label_syntax import parse_canonical_integer, parse_integer
from restow.kube.node_selection import compile_preferred
from restow.kube.objects import LabelSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm

LARGEST = 2**63 - 1


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
