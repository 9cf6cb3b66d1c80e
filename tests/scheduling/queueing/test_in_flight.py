"""An event that comes in the middle of an attempt is not lost. After the rows of upstream's Test_InFlightPods."""

from __future__ import annotations

from restow.scheduling.framework.requeueing import Action, Interest, Resource, about_itself
from restow.scheduling.queueing.queued_pods import QueuePlace
from restow.scheduling.queueing.scheduling_queue import SchedulingQueue
from scheduling.queueing.queue_fixtures import (
    HELPFUL,
    NODE_ADDED,
    NODES,
    PODS,
    USELESS,
    a_pod,
    a_queue,
    rejected,
    try_once,
)


def tried(*uids: str) -> SchedulingQueue:
    """A queue all of whose pods are in flight."""
    queue = a_queue()
    for uid in uids:
        queue.add(a_pod(uid), 0)
        queue.pop(0)
    return queue


def test_an_event_in_the_middle_of_an_attempt_sends_the_pod_to_backoff() -> None:
    queue = tried("p")
    queue.on_event(HELPFUL, 0)
    queue.requeue("p", frozenset({PODS}), 0)
    assert queue.place("p") is QueuePlace.BACKOFF


def test_an_event_that_the_rejecting_plugin_does_not_wait_for_does_not() -> None:
    queue = tried("p", "q")
    for event in (USELESS, NODE_ADDED):
        queue.on_event(event, 0)
    queue.requeue("p", frozenset({PODS}), 0)
    queue.requeue("q", frozenset({NODES}), 0)
    assert (queue.place("p"), queue.place("q")) == (QueuePlace.UNSCHEDULABLE, QueuePlace.BACKOFF)


def test_an_event_before_an_attempt_does_not_count() -> None:
    queue = tried("first")
    queue.add(a_pod("second"), 0)
    queue.on_event(NODE_ADDED, 0)
    queue.pop(0)
    for uid in ("second", "first"):
        queue.requeue(uid, frozenset({NODES}), 0)
    assert (queue.place("first"), queue.place("second")) == (QueuePlace.BACKOFF, QueuePlace.UNSCHEDULABLE)


def test_events_are_kept_as_long_as_an_attempt_lasts_that_they_came_in() -> None:
    queue = tried("first")
    queue.on_event(NODE_ADDED, 0)
    queue.add(a_pod("second"), 0)
    queue.pop(0)
    queue.on_event(HELPFUL, 0)
    assert queue.events_in_flight() == {"NodeAdd": 1, "AssignedPodAdd": 1}
    queue.done("first")
    assert queue.events_in_flight() == {"AssignedPodAdd": 1}
    queue.delete("second")
    assert not queue.events_in_flight()
    queue.on_event(NODE_ADDED, 0)
    assert not queue.events_in_flight()


def test_a_pod_whose_binding_failed_comes_back_as_after_an_error() -> None:
    queue = tried("p")
    queue.done("p")
    queue.requeue("p", frozenset(), 0)
    queued = queue.get("p")
    assert queued is not None
    assert (queued.errors, queued.attempts) == (1, 1)
    assert queue.place("p") is QueuePlace.BACKOFF


def test_a_pod_that_a_plugin_rejects_while_it_is_being_bound_is_tried_again_after_its_wait() -> None:
    """Nothing was remembered for it, so nobody knows whether something helpful has happened."""
    queue = tried("p")
    queue.done("p")
    queue.requeue("p", frozenset({NODES}), 0)
    assert queue.place("p") is QueuePlace.BACKOFF


def test_an_update_in_the_middle_of_an_attempt_counts_and_is_what_is_tried_next() -> None:
    own = Interest(Resource.POD, Action.UPDATE_POD_LABEL, about_itself)
    queue = a_queue(interests={NODES: (own,)})
    for uid in ("p", "q"):
        queue.add(a_pod(uid), 0)
        queue.pop(0)
    queue.update(a_pod("p", labels={"a": "b"}), 0)
    for uid in ("p", "q"):
        queue.requeue(uid, frozenset({NODES}), 0)
    assert (queue.place("p"), queue.place("q")) == (QueuePlace.BACKOFF, QueuePlace.UNSCHEDULABLE)
    queued = queue.pop(0)
    assert queued is not None
    assert queued.pod.labels == {"a": "b"}


def test_what_waited_too_long_wakes_those_in_flight_too() -> None:
    queue = a_queue()
    rejected(queue, "old", 0, NODES)
    queue.add(a_pod("p"), 329)
    queue.pop(329)
    queue.next_wakeup(330)
    queue.requeue("p", frozenset({NODES}), 331)
    assert queue.place("p") is QueuePlace.BACKOFF


def test_a_pod_that_was_deleted_in_the_middle_of_an_attempt_does_not_come_back() -> None:
    queue = tried("p")
    queue.delete("p")
    queue.requeue("p", frozenset({NODES}), 0)
    assert len(queue) == 0


def test_a_pod_comes_back_once() -> None:
    queue = tried("p")
    queue.requeue("p", frozenset(), 0)
    queue.requeue("p", frozenset({NODES}), 0)
    assert queue.place("p") is QueuePlace.BACKOFF
    try_once(queue, "p", 2, NODES)
    assert queue.place("p") is QueuePlace.UNSCHEDULABLE
