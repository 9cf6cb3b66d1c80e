"""From one moment to the next: nodes that come and go, marks of the process before, answers that fail."""

from __future__ import annotations

import numpy as np

from pressure.marked_nodes import MANAGER, a_marked_node, owner, read
from restow.client.prometheus import InstantVector, VectorSample
from restow.kube.duration import MINUTE, SECOND
from restow.pressure.evaluation import MissingDataPolicy
from restow.pressure.marking import Mark
from restow.pressure.rules import Rule
from restow.pressure.situation import KEPT, Criteria, History, Situation, assess

OURS = {"labels": {"status": "presure"}, "managedFields": [owner(MANAGER, "status")]}

NEW, SAME = np.array([-1]), np.array([0])


def criteria(*rules: Rule, most: float = 1.0, **missing_data) -> Criteria:
    return Criteria(
        rules or (Rule("cpu", "up", 0.8, clear=0.6),), Mark(), most, MissingDataPolicy(MINUTE, **missing_data)
    )


def answer(**values: float) -> InstantVector:
    return InstantVector(tuple(VectorSample(name, value, 0) for name, value in values.items()), 0)


def nodes(*names: str, **more):
    return [read(a_marked_node(name, uid=f"uid-{name}", **more)) for name in names]


def labelled(found: Situation) -> list[str]:
    return [node.name for node, is_marked in zip(found.nodes, found.marks.label, strict=True) if is_marked]


def test_nodes_keep_what_is_known_of_them_when_others_come_and_go():
    by = criteria()
    first = assess(by, None, nodes("b", "c"), [answer(b=0.9, c=0.1)], 0)
    second = assess(by, first, nodes("a", "b"), [answer(a=0.7, b=0.7)], 10 * SECOND)

    assert labelled(second) == ["b"]
    assert second.pressure.pressed_since.tolist() == [[-1, 0]]


def test_a_new_node_of_an_old_name_begins_anew():
    by = criteria()
    first = assess(by, None, nodes("a"), [answer(a=0.9)], 0)
    again = [read(a_marked_node("a", uid="another"))]
    assert labelled(assess(by, first, again, [answer(a=0.7)], SECOND)) == []


def test_without_an_answer_marks_stay_for_the_grace_period():
    by = criteria()
    found = assess(by, None, nodes("a"), [answer(a=0.9)], 0)
    found = assess(by, found, nodes("a"), [None], MINUTE)
    assert labelled(found) == ["a"]
    assert labelled(assess(by, found, nodes("a"), [None], MINUTE + 1)) == []
    assert labelled(assess(criteria(afterwards="stay"), found, nodes("a"), [None], MINUTE + 1)) == ["a"]


def test_labels_of_the_process_before_are_known_also_on_a_node_that_comes_later():
    by = criteria()
    found = assess(by, None, nodes("a", **OURS), [answer(a=0.7)], 0)
    assert labelled(found) == ["a"]
    found = assess(by, found, [*nodes("a", **OURS), *nodes("b", **OURS)], [answer(a=0.5, b=0.7)], SECOND)
    assert labelled(found) == ["b"]


def test_without_nodes_there_is_nothing_to_judge_and_nodes_may_come():
    by = criteria()
    found = assess(by, None, [], [answer(a=0.9)], 0)
    assert found.values.shape == (1, 0)
    assert labelled(assess(by, found, nodes("a"), [answer(a=0.9)], SECOND)) == ["a"]


def test_values_are_of_rules_by_nodes():
    by = criteria(Rule("cpu", "up", 0.8, clear=0.8), Rule("mem", "up", 2, "below", clear=2))
    found = assess(by, None, nodes("a", "b"), [answer(a=0.9), answer(a=3, b=1)], 0)
    assert np.array_equal(found.values, [[0.9, np.nan], [3, 1]], equal_nan=True)
    assert found.over.tolist() == [[True, False], [False, True]]


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
