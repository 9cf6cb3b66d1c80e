"""Logarithms and powers without the C library, against those of Python."""

from __future__ import annotations

import math

import pytest

from restow.optimizing.logarithms import ENTRIES, between, negative_logarithms


def test_logarithms_are_those_of_the_middles_of_intervals():
    table = negative_logarithms()
    for entry in (0, 1, 77, ENTRIES // 2, ENTRIES - 1):
        assert table[entry] == pytest.approx(-math.log((entry + 0.5) / ENTRIES), abs=1e-6)


@pytest.mark.parametrize("part", [0, 0.1, 0.5, 0.77, 1])
def test_temperatures_fall_by_equal_factors(part: float):
    assert between(1e6, 10, part) == pytest.approx(1e6 * 1e-5**part)
