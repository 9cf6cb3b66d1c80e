"""Amounts as people write them."""

from __future__ import annotations

import pytest

from restow.kube.amount_text import amount, enough, enough_value


@pytest.mark.parametrize(
    ("resource", "value", "expected"),
    [
        ("cpu", 16000, "16"),
        ("cpu", 1500, "1500m"),
        ("memory", 0, "0"),
        ("memory", 1023, "1023"),
        ("memory", 1024, "1Ki"),
        ("memory", 25 * 1024**3 // 2, "12.5Gi"),
        ("hugepages-2Mi", 2 * 1024**2, "2Mi"),
        ("nvidia.com/gpu", 8, "8"),
        ("pods", 1100, "1,100"),
    ],
)
def test_amounts_have_their_resources_unit(resource: str, value: int, expected: str) -> None:
    assert amount(resource, value) == expected


@pytest.mark.parametrize(
    ("resource", "value", "expected"),
    [
        ("memory", 1024, "1Ki"),
        ("memory", 1025, "1.1Ki"),
        ("memory", 5_261_334_937, "4.9Gi"),
        ("memory", 5_261_334_938, "5Gi"),
        ("cpu", 1, "1m"),
        ("cpu", 2000, "2"),
        ("pods", 1, "1"),
    ],
)
def test_enough_is_never_less_than_the_amount(resource: str, value: int, expected: str) -> None:
    assert enough(resource, value) == expected
    assert enough(resource, enough_value(resource, value)) == expected
    assert value <= enough_value(resource, value) <= value * 1.1
