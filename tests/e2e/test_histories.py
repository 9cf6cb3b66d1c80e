"""Histories are compared strictly: what is missing, different or in another order is told."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from e2e.fake_nodes import a_fake_node
from e2e.histories import Change, difference
from e2e.scene_playing import Expected, simulated
from e2e.workload_scenes import WORKLOADS

SCENE = WORKLOADS["a rolling update that makes one pod more"]


@pytest.fixture(scope="module")
def history() -> Expected:
    """Of a rolling update of three pods."""
    return simulated(SCENE, [a_fake_node("node-1")], "shop")


def departs(expected: Expected, changes: list[Change]) -> str:
    """Where changes depart from a history."""
    return difference(expected.moments, changes, SCENE.form)


def test_a_history_is_the_same_as_itself(history: Expected) -> None:
    """Also if what belongs to one moment comes in another order."""
    assert departs(history, history.changes) == ""
    assert len(history.moments) > 4
    last = history.changes[0].time
    swapped = [each for each in history.changes if each.time == last]
    assert departs(history, [*reversed(swapped), *history.changes[len(swapped) :]]) == ""


@pytest.mark.parametrize(
    ("kind", "told"), [("Pod", "is missing|are missing|came|more"), ("ReplicaSet", "missing|was not to be seen|came")]
)
def test_what_does_not_happen_is_told(history: Expected, kind: str, told: str) -> None:
    """Every change of a pod counts that takes it a step further, and the last status of every moment."""
    last = max(number for number, each in enumerate(history.changes) if each.kind == kind)
    assert re.search(told, departs(history, [*history.changes[:last], *history.changes[last + 1 :]]))


def test_what_happens_beside_it_is_told(history: Expected) -> None:
    """One pod more at the end."""
    pod = next(each for each in history.changes if each.kind == "Pod" and each.old is None)
    more = replace(pod, new=pod.new and pod.new | {"metadata": pod.new["metadata"] | {"uid": "another"}})
    assert departs(history, [*history.changes, more]).startswith("after the last moment there is more")


def test_another_order_of_moments_is_told(history: Expected) -> None:
    """The second pod is made before the first one is ready."""
    made = [number for number, each in enumerate(history.changes) if each.kind == "Pod" and each.old is None]
    changes = list(history.changes)
    changes.insert(made[3], changes.pop(made[4]))
    assert "came, and expected was" in departs(history, changes)
