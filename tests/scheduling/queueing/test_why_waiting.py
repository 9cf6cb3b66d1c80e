"""What is said of a pod that waits."""

from __future__ import annotations

from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, queueing_rules
from restow.scheduling.framework.requeueing import QueueSurroundings
from restow.scheduling.queueing.scheduling_queue import SchedulingQueue, why_waiting
from scheduling.queueing.queue_fixtures import NODE_ADDED, NODES, PODS, a_pod, a_queue, rejected


def test_nothing_is_said_of_a_pod_that_is_not_there() -> None:
    assert why_waiting(a_queue(), "p", 0) == ()


def test_an_active_pod_waits_for_its_turn() -> None:
    queue = a_queue()
    queue.add(a_pod("p"), 0)
    assert why_waiting(queue, "p", 0) == ("It is tried when its turn comes.",)
    queue.pop(0)
    assert why_waiting(queue, "p", 0) == ("Attempt 1 is going on.",)


def test_an_unschedulable_pod_waits_for_what_those_wait_for_that_rejected_it() -> None:
    queue = a_queue()
    rejected(queue, "p", 10, NODES, PODS)
    assert why_waiting(queue, "p", 70) == (
        "It was tried once, and rejected by Nodes and Pods the last time.",
        "It is tried again when a node is added.",
        "It is tried again when a helpful pod comes or goes.",
        "Whatever happens, it is tried again in 260 s at the latest.",
    )


def test_a_pod_in_backoff_waits_for_a_time() -> None:
    queue = a_queue()
    rejected(queue, "p", 0.5)
    assert why_waiting(queue, "p", 1.5) == (
        "It was tried once, and there was an error the last time.",
        "The next attempt is made in 1 s at the latest.",
    )
    rejected(queue, "q", 1.5, NODES)
    queue.on_event(NODE_ADDED, 1.5)
    assert why_waiting(queue, "q", 1.5)[-1] == "The next attempt is made in 2 s at the latest."


def test_a_gated_pod_waits_for_who_holds_it() -> None:
    preempting: set[str] = set()
    queue = SchedulingQueue(queueing_rules([DEFAULT_PROFILE], QueueSurroundings(preempting)), 0)
    queue.add(a_pod("p", gates=("a", "b")), 0)
    assert why_waiting(queue, "p", 1) == ("It is not tried: SchedulingGates says waiting for scheduling gates: [a b].",)
    rejected(queue, "q", 0, "NodeResourcesFit")
    preempting.add("q")
    queue.on_event(NODE_ADDED, 1)
    assert why_waiting(queue, "q", 1) == (
        "It was tried once, and rejected by NodeResourcesFit the last time.",
        "It is not tried: DefaultPreemption says waiting for the preemption for this pod to be finished.",
    )
