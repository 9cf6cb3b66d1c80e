"""The lines about what happened, and the pods that were moved more than once."""

from __future__ import annotations

import pytest

from restow.reporting.simulation_document import MadeEviction
from restow.reporting.simulation_wording import moved_again, time_text


def moved(pod: str, replacement: str, *, again: bool = False) -> MadeEviction:
    return MadeEviction(60, pod, "deployment/a/w", "X", "n1", "moved", replacement, "n2", again=again)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (0.019, "0.02s"), (1.4, "1s"), (95, "1m35s"), (86400, "1d")])
def test_times(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_a_pod_is_followed_through_its_replacements_and_those_moved_most_often_come_first() -> None:
    one, two, three = moved("a/p", "q"), moved("a/q", "r", again=True), moved("a/r", "", again=True)
    other, next_one = moved("a/x", "y"), moved("a/y", "z", again=True)
    assert moved_again([other, one, next_one, two, moved("a/once", "more"), three]) == [
        [one, two, three],
        [other, next_one],
    ]


def test_a_pod_of_the_same_name_in_another_namespace_is_another_pod() -> None:
    assert moved_again([moved("a/p", "q"), moved("b/q", "r", again=True)]) == []


def test_a_pod_that_keeps_its_name_is_followed_too() -> None:
    """Those of a StatefulSet do."""
    made = [moved("a/db-0", "db-0", again=at > 0) for at in range(3)]
    assert moved_again(made) == [made]
