"""Whole cycles: which node wins (section N), and what all plugins together give a node (section X).

A total is the weighted sum; a node without taints gets 300 of it for that.
"""

from __future__ import annotations

import numpy as np
import pytest

from builders import HOSTNAME, ZONE, a_node, a_pod, a_service, pods_on, selector, spread
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.scoring import Ranking
from restow.scheduling.loop.decision import Scheduler

FIT, BALANCE = "NodeResourcesFit", "NodeResourcesBalancedAllocation"
FOO = {"foo": ""}


def decided(*objects):
    """What becomes of the pod p."""
    state = ClusterState(a_cluster(*objects))
    return Scheduler(Context.of(state)).decide(state.cluster.pods.names.index("p"))


def given(plugin, *objects):
    """What one plugin gives each node, weighted; None where it has no opinion."""
    by_plugin = decided(*objects).ranking.by_plugin
    return by_plugin[plugin].tolist() if plugin in by_plugin else None


def totals(*objects):
    return decided(*objects).ranking.total.tolist()


@pytest.mark.parametrize(
    ("scores", "best", "upstream"),
    [([5], [0], 0), ([1, 5, 5], [1, 2], 1), ([1, 1, 5, 5, 5], [2, 3, 4], 3), ([3, 1, 5, 5, 2, 5, 5], [2, 3, 5, 6], 3)],
    ids=["one", "two", "three", "four"],
)
def test_every_node_of_the_highest_total_could_win_n02(scores, best, upstream):
    """kube-scheduler takes one of them, by an order of its own."""
    found = Ranking(np.ones(len(scores), dtype=bool), (), np.array(scores)).best.tolist()
    assert (found, upstream in found) == (best, True)


def test_the_only_feasible_node_wins_n03():
    decision = decided(a_node("n1", unschedulable=True), a_node("n2"), a_pod("p"))
    assert (decision.best.tolist(), decision.node) == ([1], 1)


def used(node, cpu, memory):
    return a_pod(f"used-{node}", node=node, cpu=cpu, memory=memory)


def best_effort(name, **more):
    """A pod of one container without requests."""
    return a_pod(name, cpu=None, memory=None, **more)


def test_pods_without_requests_are_not_free_and_leave_balance_alone_x02():
    nodes = [a_node(name, cpu="4", memory="16Gi") for name in ("n1", "n2")]
    cluster = [*nodes, used("n2", "1", "8Gi"), best_effort("p")]
    assert given(FIT, *cluster) == [97, 60]
    assert given(BALANCE, *cluster) is None
    assert totals(*cluster) == [397, 360]


def test_pods_without_requests_add_up_x03():
    others = [best_effort(name, node="n1") for name in ("a", "b")]
    assert given(FIT, a_node("n1", cpu="4", memory="16Gi"), *others, best_effort("p")) == [94]


def test_room_and_balance_are_weighed_against_each_other_x04():
    nodes = [
        a_node(f"n{cpu:02}", cpu=str(cpu), memory=memory) for cpu, memory in ((2, "4Gi"), (8, "32Gi"), (16, "32Gi"))
    ]
    cluster = [*nodes, used("n08", "4", "16Gi"), used("n16", "8", "8Gi"), a_pod("p", cpu="1", memory="2Gi")]
    assert given(FIT, *cluster) == [50, 40, 55]
    assert given(BALANCE, *cluster) == [75, 73, 75]
    assert totals(*cluster) == [425, 413, 430]
    assert decided(*cluster).node == 2


def counted(node, count, *, zone, host=True):
    """A node in a zone with so many pods labelled foo."""
    labels = {ZONE: zone} | ({HOSTNAME: node} if host else {})
    return [a_node(node, labels=labels), *pods_on(node, *(f"{node}-{each}" for each in range(count)), labels=FOO)]


def test_pods_of_a_service_spread_by_default_x05():
    zones = {"a1": 2, "a2": 0, "b1": 1, "b2": 0, "c1": 0, "c2": 0}
    cluster = [each for node, count in zones.items() for each in counted(node, count, zone=node[0])]
    found = given("PodTopologySpread", *cluster, a_service("s", selector=FOO), a_pod("p", labels=FOO))
    assert found == [2 * score for score in (46, 76, 69, 84, 100, 100)]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [pytest.param([3, 0], [0, 100], id="X07-two-zones"), pytest.param([3, 1, 2], [40, 100, 80], id="X07-three-zones")],
)
def test_zones_score_by_how_full_they_are(counts, expected):
    cluster = [each for number, count in enumerate(counts) for each in counted(f"n{number}", count, zone=f"z{number}")]
    soft = spread(1, ZONE, selector(("foo", "Exists")), when="ScheduleAnyway")
    found = given("PodTopologySpread", *cluster, a_pod("p", labels=FOO, spread=[soft]))
    assert found == [2 * score for score in expected]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [pytest.param([0, 1, 2], [100, 50, 0], id="X09-rising"), pytest.param([1, 1, 3], [67, 67, 0], id="X09-two-alike")],
)
def test_soft_taints_weigh_three_times(counts, expected):
    taints = [[f"{key}:PreferNoSchedule" for key in "abc"[:count]] for count in counts]
    nodes = [a_node(f"n{number}", taints=each or None) for number, each in enumerate(taints)]
    assert given("TaintToleration", *nodes, a_pod("p")) == [3 * score for score in expected]


@pytest.mark.parametrize(
    ("size", "holders", "nodes", "expected"),
    [
        pytest.param(250, 2, 4, 10, id="X12-on-half-of-the-nodes"),
        pytest.param(250, 4, 4, 23, id="X12-on-every-node"),
        pytest.param(1000, 1, 1, 100, id="X12-large-and-everywhere"),
        pytest.param(100, 1, 4, 0, id="X12-too-rare-to-count"),
    ],
)
def test_images_score_by_size_and_spread(size, holders, nodes, expected):
    cluster = [
        a_node(f"n{number}", images={"image:latest": size << 20} if number < holders else None)
        for number in range(nodes)
    ]
    found = given("ImageLocality", *cluster, a_pod("p", images=["image"]))
    assert found == [expected] * holders + [0] * (nodes - holders)
