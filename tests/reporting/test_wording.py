from __future__ import annotations

import pytest
from msgspec import structs

from builders.plans import a_move
from restow.reporting.wording import counted, percent, resource_order, why, with_caveat


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


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "n1 is full"),
        ({"replacement": "surge"}, "n1 is full; replaced before it goes"),
        ({"replacement": "surge", "evicts_instead": True}, "n1 is full; replaced before it goes, if possible"),
        ({"replacement": "rollout"}, "n1 is full; replaced before it goes, by a rollout"),
        ({"replacement": "reserve"}, "n1 is full; its place is held before it goes"),
        ({"replacement": "migrate"}, "n1 is full; migrated while it runs"),
        (
            {"replacement": "surge", "caveat": "its template has changed"},
            "n1 is full; replaced before it goes; likely at most: its template has changed",
        ),
        ({"reason": "", "caveat": "its template has changed"}, "likely at most: its template has changed"),
    ],
)
def test_a_move_says_why_how_and_what_is_uncertain(fields: dict[str, object], said: str) -> None:
    move = a_move("web-1", ("n1", "n2"), reason="n1 is full")
    assert with_caveat(structs.replace(move, **fields)) == said
