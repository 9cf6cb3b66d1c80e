"""The loop: pods in order, each on what those before it have left."""

from __future__ import annotations

from builders import a_node, a_pod
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.schedule import schedule
from restow.scheduling.loop.schedulers import Schedulers


def two_slots(*pods: dict) -> Schedulers:
    return Schedulers(Context.of(ClusterState(a_cluster(a_node("n1", pods=1), a_node("n2", pods=1), *pods))))


def test_pods_are_taken_in_the_queues_order_each_on_what_is_left():
    schedulers = two_slots(a_pod("a"), a_pod("b"), a_pod("first", priority=5))
    pods = schedulers._state.cluster.pods
    found = [(pods.names[each.pod], each.node) for each in schedule(schedulers)]
    assert found == [("first", 0), ("a", 1), ("b", -1)]


def test_a_decision_is_given_before_it_comes_true():
    schedulers = two_slots(a_pod("a"))
    nodes = schedulers._state.node
    decisions = schedule(schedulers)
    assert next(decisions).node == 0
    assert nodes[0] == -1
    assert list(decisions) == []
    assert nodes[0] == 0


def test_only_the_pods_that_are_asked_about_are_decided():
    schedulers = two_slots(a_pod("a"), a_pod("b"))
    assert [each.pod for each in schedule(schedulers, [1])] == [1]
