from __future__ import annotations

import pytest

from restow.reporting.wording import counted, percent, resource_order, why


@pytest.mark.parametrize(
    ("number", "words", "expected"),
    [
        (0, ("move",), "0 moves"),
        (1, ("move",), "1 move"),
        (40_000, ("move",), "40,000 moves"),
        (1, ("strategy", "strategies"), "1 strategy"),
        (2, ("strategy", "strategies"), "2 strategies"),
    ],
)
def test_counts_have_the_right_number(number: int, words: tuple[str, ...], expected: str) -> None:
    assert counted(number, *words) == expected


@pytest.mark.parametrize(("fraction", "expected"), [(0, "0 %"), (0.614, "61 %"), (1, "100 %"), (12.5, "1,250 %")])
def test_percentages_are_whole(fraction: float, expected: str) -> None:
    assert percent(fraction) == expected


def test_cpu_and_memory_come_first() -> None:
    assert sorted(["pods", "memory", "a", "cpu"], key=resource_order) == ["cpu", "memory", "a", "pods"]


def test_a_strategy_without_a_reason_stands_alone() -> None:
    assert why("PodLifeTime", "") == "PodLifeTime"
    assert why("PodLifeTime", "8 days old") == "PodLifeTime: 8 days old"
