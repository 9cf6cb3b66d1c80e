"""Pods that a plugin does not let be tried at all. After upstream's rows of moveToActiveQ and moveToBackoffQ."""

from __future__ import annotations

from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile, default_points, queueing_rules
from restow.scheduling.framework.requeueing import Action, Interest, Resource
from restow.scheduling.queueing.queued_pods import QueuePlace
from restow.scheduling.queueing.scheduling_queue import SchedulingQueue
from scheduling.queueing.queue_fixtures import HELPFUL, INTERESTS, NODE_ADDED, NODES, PODS, a_pod, a_queue, rejected


def with_gates(profile: SchedulerProfile = DEFAULT_PROFILE) -> SchedulingQueue:
    """A queue with kube-scheduler's plugins."""
    return SchedulingQueue(queueing_rules([profile]), 0)


def test_a_pod_with_scheduling_gates_is_not_tried_until_the_last_is_removed() -> None:
    queue = with_gates()
    queue.add(a_pod("p", gates=("a", "b")), 0)
    assert queue.place("p") is QueuePlace.GATED
    assert queue.incoming[QueuePlace.UNSCHEDULABLE, "UnschedulablePodAdd"] == 1
    queue.update(a_pod("p", gates=("b",)), 1)
    queued = queue.get("p")
    assert queued is not None
    assert queue.place("p") is QueuePlace.GATED
    assert queue.rules.why_gated(queued) == "waiting for scheduling gates: [b]"
    queue.update(a_pod("p"), 2)
    assert queue.place("p") is QueuePlace.ACTIVE
    assert queue.incoming[QueuePlace.ACTIVE, "UnschedulablePodUpdatePodSchedulingGatesEliminated"] == 1
    queued = queue.pop(2)
    assert queued is not None
    assert (queued.added, queued.first_active, queued.gated_by) == (0, 2, "")


def test_a_profile_without_the_plugin_tries_pods_with_gates() -> None:
    points = {**default_points(), "preEnqueue": ()}
    queue = with_gates(SchedulerProfile(plugins=points))
    queue.add(a_pod("p", gates=("a",)), 0)
    assert queue.place("p") is QueuePlace.ACTIVE


def test_no_time_and_no_other_event_wakes_a_gated_pod() -> None:
    queue = with_gates()
    queue.add(a_pod("p", gates=("a",)), 0)
    queue.on_event(NODE_ADDED, 1)
    queue.on_event(HELPFUL, 1)
    assert queue.pop(100_000) is None
    assert queue.place("p") is QueuePlace.GATED


def test_a_pod_that_a_plugin_stops_on_its_way_back_waits_for_that_plugin_and_the_others() -> None:
    """The gate hears of pods that go; the plugin that rejected the pod says whether one helps."""
    closed = {"p"}
    gone = Interest(Resource.POD, Action.ADD, lambda *_: False)
    queue = a_queue({"Gate": lambda pod, _: "closed" if pod.uid in closed else None}, {**INTERESTS, "Gate": (gone,)})
    closed.clear()
    rejected(queue, "p", 0, NODES, PODS)
    closed.add("p")
    queue.on_event(HELPFUL, 0)
    queued = queue.get("p")
    assert queued is not None
    assert queue.place("p") is QueuePlace.GATED
    assert queued.rejected_by == {NODES, PODS, "Gate"}
    closed.clear()
    queue.on_event(NODE_ADDED, 0)
    assert queue.place("p") is QueuePlace.GATED, "the gate does not hear of nodes"
    queue.on_event(HELPFUL, 0)
    assert queue.place("p") is QueuePlace.BACKOFF
