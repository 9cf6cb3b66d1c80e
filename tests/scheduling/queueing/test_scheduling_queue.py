"""Where pods of the queue are, and when they may be tried, as kube-scheduler 1.36 has it."""

from __future__ import annotations

import pytest

from restow.cluster.pod_values import HostPort
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, PodFacts, Resource, about_itself
from restow.scheduling.queueing.queued_pods import BackoffSettings, QueuePlace
from restow.scheduling.queueing.scheduling_queue import QueueSettings
from scheduling.queueing.queue_fixtures import (
    HELPFUL,
    NODE_ADDED,
    NODES,
    PODS,
    USELESS,
    a_pod,
    a_queue,
    popped,
    rejected,
    try_once,
)


def test_priority_comes_before_time_and_time_before_arrival() -> None:
    queue = a_queue()
    for uid, priority, now in (("low", 0, 1), ("late", 10, 3), ("early", 10, 2), ("second", 10, 2)):
        queue.add(a_pod(uid, priority), now)
    assert popped(queue, 3) == ["early", "second", "late", "low"]


def test_a_pod_that_comes_back_is_behind_those_that_came_meanwhile() -> None:
    """Time counts from when a pod came back, so one that fits nowhere does not keep others from being tried."""
    queue = a_queue()
    rejected(queue, "tried", 5, NODES)
    queue.add(a_pod("newer"), 5)
    try_once(queue, "newer", 5, NODES)
    rejected(queue, "tried again", 6, NODES)
    queue.on_event(NODE_ADDED, 20)
    assert popped(queue, 20) == ["tried", "newer", "tried again"]


def test_pods_that_came_at_the_same_moment_are_tried_in_the_order_in_which_they_came() -> None:
    queue = a_queue()
    for uid in ("b", "a", "c"):
        queue.add(a_pod(uid), 1)
    assert popped(queue, 1) == ["b", "a", "c"]


def test_a_wait_ends_with_the_second_in_which_it_ends() -> None:
    """A wait from 0.7 on for one second ends in second 1, so the pod is tried from 2.0 on: all of a second come at once."""
    queue = a_queue()
    rejected(queue, "p", 0.7)
    assert queue.next_wakeup(0.7) == 2
    assert queue.pop(1.99) is None
    assert popped(queue, 2) == ["p"]


def test_pods_whose_waits_end_in_one_second_come_in_order_of_priority() -> None:
    queue = a_queue()
    for uid, priority, now in (("low", 0, 0.1), ("high", 5, 0.9)):
        queue.add(a_pod(uid, priority), now)
        try_once(queue, uid, now, NODES)
    queue.on_event(NODE_ADDED, 1)
    assert popped(queue, 1) == ["high", "low"]


def test_a_pod_in_backoff_is_tried_early_when_no_other_may_be() -> None:
    queue = a_queue()
    rejected(queue, "waiting", 0, NODES)
    queue.on_event(NODE_ADDED, 0)
    assert queue.place("waiting") is QueuePlace.BACKOFF
    queue.add(a_pod("active", priority=-1), 0)
    assert popped(queue, 0) == ["active", "waiting"]
    assert queue.incoming[QueuePlace.ACTIVE, "PopFromBackoffQ"] == 1


def test_a_pod_that_waits_because_of_an_error_is_not_tried_early() -> None:
    queue = a_queue()
    rejected(queue, "p", 0)
    assert queue.place("p") is QueuePlace.BACKOFF
    assert queue.pop(0) is None
    assert queue.incoming[QueuePlace.BACKOFF, "ScheduleAttemptFailure"] == 1
    assert popped(queue, 2) == ["p"]
    assert queue.incoming[QueuePlace.ACTIVE, "BackoffComplete"] == 1


def test_errors_are_counted_apart_from_rejections() -> None:
    """Two rejections, then an error: the wait is that of the first error. Another rejection is the third, and ends the errors."""
    queue = a_queue()
    rejected(queue, "p", 0, NODES)
    queue.on_event(NODE_ADDED, 0)
    try_once(queue, "p", 0, NODES)
    queue.on_event(NODE_ADDED, 0)
    try_once(queue, "p", 0)
    assert queue.backoff_ends("p") == 1
    try_once(queue, "p", 2)
    assert queue.backoff_ends("p") == 4
    try_once(queue, "p", 5, NODES)
    queued = queue.get("p")
    assert queued is not None
    assert (queued.rejections, queued.errors, queued.attempts) == (3, 0, 5)
    assert queue.backoff_ends("p") == 9


def test_without_a_maximum_nobody_waits() -> None:
    queue = a_queue(settings=QueueSettings(BackoffSettings(maximum=0)))
    rejected(queue, "p", 0)
    assert queue.place("p") is QueuePlace.ACTIVE


def test_a_rejected_pod_waits_for_an_event_that_the_plugin_that_rejected_it_waits_for() -> None:
    queue = a_queue()
    rejected(queue, "p", 0, PODS)
    for event in (NODE_ADDED, USELESS, ClusterEvent(Resource.NODE, Action.DELETE)):
        queue.on_event(event, 1)
        assert queue.place("p") is QueuePlace.UNSCHEDULABLE
    queue.on_event(HELPFUL, 1)
    assert queue.place("p") is QueuePlace.BACKOFF
    assert queue.incoming[QueuePlace.BACKOFF, "AssignedPodAdd"] == 1


def test_a_pod_whose_wait_is_over_is_active_at_once() -> None:
    queue = a_queue()
    rejected(queue, "p", 0, PODS)
    queue.on_event(HELPFUL, 2)
    assert queue.place("p") is QueuePlace.ACTIVE


def test_a_hint_that_fails_wakes_the_pod() -> None:
    def broken(*_: object) -> bool:
        raise ValueError

    queue = a_queue(interests={NODES: (Interest(Resource.NODE, Action.ADD, broken),)})
    rejected(queue, "p", 0, NODES)
    queue.on_event(NODE_ADDED, 2)
    assert queue.place("p") is QueuePlace.ACTIVE


def test_of_replicas_one_is_asked_for_all_and_the_pod_that_an_event_is_about_on_its_own() -> None:
    asked = []

    def hint(pod: PodFacts, _event: ClusterEvent, _args: object) -> bool:
        asked.append(pod.uid)
        return pod.uid != "itself"

    queue = a_queue(interests={NODES: (Interest(Resource.POD, Action.DELETE, hint),)})
    for uid in ("itself", "a", "b", "other"):
        rejected(queue, uid, 0, NODES)
    queue.update(a_pod("other", labels={"a": "b"}), 0)
    queue.on_event(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE, old=a_pod("itself", node="n")), 0)
    assert asked == ["a", "itself", "other"]
    assert queue.place("itself") is QueuePlace.UNSCHEDULABLE
    assert popped(queue, 0) == ["a", "b", "other"]


def test_a_plugin_that_nobody_knows_may_be_helped_by_anything() -> None:
    queue = a_queue()
    rejected(queue, "p", 0, "Unknown")
    queue.on_event(ClusterEvent(Resource.CSI_DRIVER, Action.DELETE), 2)
    assert queue.place("p") is QueuePlace.ACTIVE


def test_a_pod_that_two_plugins_rejected_waits_for_either() -> None:
    queue = a_queue()
    rejected(queue, "p", 0, NODES, PODS)
    queue.on_event(NODE_ADDED, 2)
    assert queue.place("p") is QueuePlace.ACTIVE


def test_only_the_plugins_of_the_last_attempt_are_asked() -> None:
    queue = a_queue()
    rejected(queue, "p", 0, NODES)
    queue.on_event(NODE_ADDED, 2)
    try_once(queue, "p", 2, PODS)
    queue.on_event(NODE_ADDED, 3)
    assert queue.place("p") is QueuePlace.UNSCHEDULABLE


def test_an_event_for_pods_of_little_priority_wakes_no_others() -> None:
    queue = a_queue()
    for uid, priority in (("low", 1), ("equal", 2), ("high", 3)):
        queue.add(a_pod(uid, priority), 0)
    for uid in ("high", "equal", "low"):
        try_once(queue, uid, 0, NODES)
    queue.on_event(ClusterEvent(Resource.NODE, Action.ADD, at_most_priority=2), 2)
    assert [queue.place(uid) for uid in ("low", "equal", "high")] == [
        QueuePlace.ACTIVE,
        QueuePlace.ACTIVE,
        QueuePlace.UNSCHEDULABLE,
    ]


@pytest.mark.parametrize(("waited", "moves"), [(269.9, True), (270, False), (299, False)])
def test_who_has_been_unschedulable_for_more_than_five_minutes_is_tried_again(waited: float, moves: bool) -> None:
    """They are looked for every 30 seconds: at 570 a pod moves that was rejected before 270, whatever it waits for."""
    queue = a_queue()
    rejected(queue, "p", waited, PODS)
    due = 570 if moves else 600
    assert queue.next_wakeup(waited) == due
    assert queue.pop(due - 0.1) is None
    queued = queue.pop(due)
    assert queued is not None
    assert queued.was_flushed
    assert queue.incoming[QueuePlace.ACTIVE, "UnschedulableTimeout"] == 1


def test_a_pod_is_woken_by_time_again_only_after_five_more_minutes() -> None:
    queue = a_queue()
    rejected(queue, "p", 0, PODS)
    try_once(queue, "p", 330, PODS)
    queued = queue.get("p")
    assert queued is not None
    assert not queued.was_flushed
    assert queue.next_wakeup(330) == 660


def test_an_update_is_what_a_plugin_may_wait_for() -> None:
    own = Interest(Resource.POD, Action.UPDATE_POD_LABEL, about_itself)
    queue = a_queue(interests={NODES: (own,)})
    rejected(queue, "p", 0, NODES)
    rejected(queue, "q", 0, NODES)
    queue.update(a_pod("p", ports=(HostPort("", "TCP", 80),)), 2)
    assert queue.place("p") is QueuePlace.UNSCHEDULABLE
    queue.update(a_pod("p", labels={"a": "b"}), 2)
    assert (queue.place("p"), queue.place("q")) == (QueuePlace.ACTIVE, QueuePlace.UNSCHEDULABLE)
    assert queue.incoming[QueuePlace.ACTIVE, "UnschedulablePodUpdatePodLabel"] == 1


def test_an_update_of_an_active_pod_changes_its_turn() -> None:
    queue = a_queue()
    queue.add(a_pod("a", 1), 0)
    queue.add(a_pod("b", 1), 0)
    queue.update(a_pod("b", 2), 0)
    assert popped(queue, 0) == ["b", "a"]


def test_an_update_of_a_pod_that_is_not_there_adds_it_and_adding_one_that_is_updates_it() -> None:
    queue = a_queue()
    queue.update(a_pod("p", 1), 0)
    queue.add(a_pod("p", 2), 0)
    assert len(queue) == 1
    queued = queue.pop(0)
    assert queued is not None
    assert queued.pod.priority == 2


@pytest.mark.parametrize("place", list(QueuePlace))
def test_a_pod_can_be_deleted_wherever_it_is(place: QueuePlace) -> None:
    queue = a_queue({"Gate": lambda pod, _: "gated" if pod.gates else None})
    queue.add(a_pod("p", gates=("g",) if place is QueuePlace.GATED else ()), 0)
    if place in (QueuePlace.BACKOFF, QueuePlace.UNSCHEDULABLE):
        try_once(queue, "p", 0, *((NODES,) if place is QueuePlace.UNSCHEDULABLE else ()))
    elif place is QueuePlace.IN_FLIGHT:
        queue.pop(0)
    assert queue.place("p") is place
    assert queue.lengths() == {each: int(each is place) for each in QueuePlace}
    queue.delete("p")
    assert not any(queue.lengths().values())
    assert len(queue) == 0
    assert popped(queue, 1000) == []


def test_nobody_needs_waking_where_nothing_can_be_tried_without_an_event() -> None:
    queue = a_queue({"Gate": lambda _pod, _: "always"})
    assert queue.next_wakeup(0) is None
    queue.add(a_pod("gated"), 0)
    assert queue.next_wakeup(0) is None
    assert queue.pop(10_000) is None
