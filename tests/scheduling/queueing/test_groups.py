"""Pods of a group in the queue: taken out together, wherever they wait, and never tried early."""

from __future__ import annotations

import pytest

from restow.kube.objects import GangWorkload, ObjectMeta, PodGroup
from restow.scheduling.framework.requeueing import FORCE_ACTIVATE, Action, ClusterEvent, Resource
from restow.scheduling.plugins.gang_scheduling import PLUGIN
from restow.scheduling.queueing.queued_pods import QueuePlace
from scheduling.queueing.queue_fixtures import NODE_ADDED, NODES, a_pod, a_queue, rejected


def test_a_pod_is_taken_from_wherever_it_waits() -> None:
    queue = a_queue()
    rejected(queue, "backing-off", 0, NODES)
    queue.on_event(NODE_ADDED, 0)
    assert queue.place("backing-off") is QueuePlace.BACKOFF
    queue.add(a_pod("active"), 0)
    taken = [queue.take(uid, 0) for uid in ("active", "backing-off")]
    assert [each is not None and each.key for each in taken] == ["active", "backing-off"]
    assert {queue.place(each.key) for each in queue} == {QueuePlace.IN_FLIGHT}
    assert queue.incoming[QueuePlace.ACTIVE, FORCE_ACTIVATE] == 1


def test_a_pod_that_was_rejected_is_taken_without_an_event() -> None:
    queue = a_queue()
    rejected(queue, "aside", 0, NODES)
    taken = queue.take("aside", 5)
    assert taken is not None
    assert taken.attempts == 2


def test_a_pod_that_is_gated_in_flight_or_gone_is_not_taken() -> None:
    queue = a_queue(gates={"Gate": lambda pod, _surroundings: "not yet" if pod.name == "gated" else None})
    queue.add(a_pod("gated"), 0)
    queue.add(a_pod("tried"), 0)
    assert queue.pop(0) is not None
    assert [queue.take(uid, 0) for uid in ("gated", "tried", "gone")] == [None, None, None]
    assert queue.place("gated") is QueuePlace.GATED


def test_a_pod_of_a_group_waits_out_its_backoff() -> None:
    """Another one is tried early, because nothing else can be done; no event would end that for a group."""
    queue = a_queue()
    queue.add(a_pod("alone", group=""), 0)
    queue.add(a_pod("member", group="gang"), 0)
    for _ in range(2):
        tried = queue.pop(0)
        assert tried is not None
        queue.requeue(tried.key, frozenset({NODES}), 0)
    assert queue.place("alone") is QueuePlace.UNSCHEDULABLE
    assert queue.place("member") is QueuePlace.BACKOFF
    assert queue.pop(1) is None
    tried = queue.pop(2)
    assert tried is not None
    assert tried.key == "member"


def test_a_pod_is_activated_from_wherever_it_waits_without_being_tried() -> None:
    queue = a_queue(gates={"Gate": lambda pod, _surroundings: "not yet" if pod.name == "gated" else None})
    queue.add(a_pod("gated"), 0)
    rejected(queue, "aside", 0, NODES)
    for key in ("aside", "gated", "gone"):
        queue.activate(key, 0)
    assert queue.place("aside") is QueuePlace.ACTIVE
    assert queue.place("gated") is QueuePlace.GATED


GROUP_B = ClusterEvent(Resource.POD_GROUP, Action.ADD, new=PodGroup(ObjectMeta(name="b", namespace="default")))
WORKLOAD_B = ClusterEvent(Resource.WORKLOAD, Action.ADD, new=GangWorkload(ObjectMeta(name="b", namespace="default")))


@pytest.mark.parametrize(
    ("facts", "event"),
    [
        ([{"group": "a"}, {"group": "b"}], GROUP_B),
        ([{"workload": "a/g"}, {"workload": "b/g"}], WORKLOAD_B),
    ],
)
def test_of_pods_alike_in_all_but_their_group_the_one_of_the_group_that_comes_is_woken(
    facts: list[dict[str, str]], event: ClusterEvent
) -> None:
    there = set()
    queue = a_queue(
        gates={PLUGIN.name: lambda pod, _surroundings: None if pod.uid in there else "its group is missing"},
        interests={PLUGIN.name: PLUGIN.interests or ()},
    )
    for uid, more in zip(("of-a", "of-b"), facts, strict=True):
        queue.add(a_pod(uid, **more), 0)
    there.add("of-b")
    queue.on_event(event, 1)
    assert (queue.place("of-a"), queue.place("of-b")) == (QueuePlace.GATED, QueuePlace.ACTIVE)
