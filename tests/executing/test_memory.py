"""What is remembered of workloads."""

from __future__ import annotations

import pytest
from msgspec import structs

from executing.double import a_task
from restow.executing.history import FIRST_PAUSE, LONGEST_PAUSE, EvictionHistory
from restow.policies.codes import PlacementConstraint

TASK = a_task("web-0")


def pause(memory: EvictionHistory, now: float) -> float:
    """Seconds until a task of the workload may go again, to the minute."""
    left = 0.0
    while memory.reason_against(TASK, now + left) is not None:
        left += 60.0
    return left


def test_every_failed_prediction_doubles_the_pause_up_to_a_longest() -> None:
    memory, now, pauses = EvictionHistory(), 0.0, []
    for _ in range(8):
        memory.note_failed_prediction(TASK, now, "it came back")
        pauses.append(pause(memory, now))
        now += pauses[-1]
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE


def test_the_sentence_says_for_how_long_how_often_and_why() -> None:
    memory = EvictionHistory()
    memory.note_failed_prediction(TASK, 0.0, "it came back")
    memory.note_failed_prediction(TASK, 400.0, "new-2 landed on a again")
    said = "backing off from ReplicaSet/web for 9m40s (2 times in a row): new-2 landed on a again"
    assert memory.reason_against(TASK, 420.0) == said


def test_during_a_pause_only_the_first_failed_prediction_counts() -> None:
    memory = EvictionHistory()
    for now in (0.0, 1.0, 2.0):
        memory.note_failed_prediction(TASK, now, "it came back")
    assert pause(memory, 0.0) == FIRST_PAUSE


def test_a_prediction_that_comes_true_ends_the_row() -> None:
    memory = EvictionHistory()
    memory.note_failed_prediction(TASK, 0.0, "it came back")
    memory.confirm(TASK)
    assert memory.reason_against(TASK, 1.0) is None
    memory.note_failed_prediction(TASK, 2.0, "it came back")
    assert pause(memory, 2.0) == FIRST_PAUSE


def test_after_a_day_without_a_failed_prediction_the_row_is_forgotten() -> None:
    memory = EvictionHistory()
    memory.note_failed_prediction(TASK, 0.0, "it came back")
    memory.note_failed_prediction(TASK, 100_000.0, "it came back")
    assert pause(memory, 100_000.0) == FIRST_PAUSE


def test_other_workloads_are_not_affected() -> None:
    memory = EvictionHistory()
    memory.note_failed_prediction(TASK, 0.0, "it came back")
    assert memory.reason_against(a_task("api-0", "api"), 1.0) is None


def test_a_replacement_that_its_strategy_wants_again_soon_goes_in_a_circle() -> None:
    """One huge pod above the target threshold would be evicted in every cycle for ever."""
    memory = EvictionHistory()
    memory.note(TASK, "uid-new", 0.0)
    again = structs.replace(TASK, move=a_task("new").move)
    said = "backing off from ReplicaSet/web for 5m0s (once): LowNodeUtilization moved it 1m0s ago and wants to move it again"
    assert memory.reason_against(again, 60.0) == said
    assert memory.reason_against(again, 60.0 + FIRST_PAUSE) is None


@pytest.mark.parametrize(("plugin", "now"), [("RemoveDuplicates", 60.0), ("LowNodeUtilization", 7200.0)])
def test_another_strategy_or_a_later_time_is_no_circle(plugin: str, now: float) -> None:
    memory = EvictionHistory()
    memory.note(TASK, "uid-new", 0.0)
    assert memory.reason_against(a_task("new", plugin=plugin), now) is None


def test_a_strategy_that_only_wants_pods_restarted_may_move_a_replacement_again() -> None:
    memory, old = EvictionHistory(), a_task("web-0", constraint=PlacementConstraint.ANYWHERE)
    memory.note(old, "uid-new", 0.0)
    assert memory.reason_against(a_task("new", constraint=PlacementConstraint.ANYWHERE), 60.0) is None


def test_a_request_is_remembered_for_a_quarter_of_an_hour() -> None:
    memory = EvictionHistory()
    assert memory.requested(TASK, 0.0) is None
    memory.request(TASK, 0.0)
    assert memory.requested(TASK, 90.0) == "its eviction was requested 1m30s ago"
    assert memory.requested(a_task("web-1"), 90.0) is None
    assert memory.requested(TASK, 900.0) is None
