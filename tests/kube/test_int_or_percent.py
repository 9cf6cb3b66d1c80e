"""Counts that may be percentages."""

from __future__ import annotations

from restow.kube.int_or_percent import share


def test_percentages_are_rounded_up_or_down():
    """Counts stay what they are."""
    assert [share("25%", 10, up=True), share("25%", 10, up=False), share(3, 10, up=True)] == [3, 2, 3]


def test_what_is_neither_is_nothing():
    """Also a number in quotes, which the API server refuses."""
    assert [share(text, 10, up=True) for text in ("x%", "7", "", "%", "-5%", "²%", "1_0%", "9" * 5000 + "%")] == [0] * 8
