"""The last hour, one value a minute."""

from __future__ import annotations

import numpy as np

from restow.kube.duration import MINUTE, SECOND
from restow.pressure.history import KEPT, History

NEW, SAME = np.array([-1]), np.array([0])


def values(history: History, node: int = 0) -> list[float]:
    """Of the minutes that have one."""
    kept = history.values[0, node]
    return kept[np.isfinite(kept)].tolist()


def after(*moments: tuple[int, float]) -> History:
    history, positions = History.empty(1), NEW
    for now, value in moments:
        history, positions = history.followed_by(np.array([[value]]), positions, now), SAME
    return history


def test_the_last_value_of_each_minute_is_kept():
    assert values(after((0, 1.0), (30 * SECOND, 2.0), (MINUTE, 3.0))) == [2.0, 3.0]


def test_minutes_without_a_round_are_gaps():
    assert after((0, 1.0), (3 * MINUTE, 2.0)).values[0, 0, -4:].tolist()[::3] == [1.0, 2.0]


def test_what_is_no_value_leaves_the_value_of_that_minute():
    assert values(after((0, 1.0), (SECOND, np.nan), (MINUTE, np.nan))) == [1.0]


def test_no_more_than_an_hour_is_kept():
    assert values(after(*((minute * MINUTE, float(minute)) for minute in range(100)))) == list(range(100 - KEPT, 100))
    assert values(after((0, 1.0), (1000 * MINUTE, 2.0))) == [2.0]


def test_nodes_keep_their_values_when_others_come_and_go():
    history = History.empty(1).followed_by(np.array([[1.0, 2.0]]), np.array([-1, -1]), 0)
    history = history.followed_by(np.array([[3.0, 4.0]]), np.array([-1, 0]), MINUTE)
    assert (values(history, 0), values(history, 1)) == ([3.0], [1.0, 4.0])
