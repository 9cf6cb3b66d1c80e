"""Nodes come, change and go in a ClusterState; ``test_state`` has them among all other changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_node, a_pod
from cluster.drawn import nodes, pods
from cluster.test_state import named, node_row, picture, rows_of
from descheduling.harness import a_cluster
from restow.cluster.nodes import ANY_PART, NodePart
from restow.cluster.state import ClusterState

NAMES = ("gone", "n0", "n1", "n2", "n25", "n3")


@st.composite
def events(draw):
    """A node as it is from now on, or the name of one that goes."""
    name = draw(st.sampled_from(NAMES))
    return name, draw(st.one_of(st.none(), nodes(names=(name,))))


@given(st.tuples(nodes(), pods()), st.lists(st.one_of(events(), pods(max_size=2)), max_size=12))
@settings(max_examples=60, deadline=None)
def test_a_state_that_followed_events_is_the_one_of_a_dump(begin, happened):
    """Pods that name nodes which are not there yet, or not any more, included."""
    state = ClusterState(a_cluster(*begin[0], *begin[1]))
    there = {("Node", each["metadata"]["name"]): each for each in begin[0]} | {pod_key(each): each for each in begin[1]}
    for event in happened:
        if isinstance(event, tuple):
            follow_node(state, there, *event)
        else:
            follow_pods(state, there, event)
        state.validate()
    assert picture(state) == picture(ClusterState(a_cluster(*there.values())))


def follow_node(state, there, name, drawn):
    known, key = state.cluster.nodes.index, ("Node", name)
    if drawn is None:
        if there.pop(key, None):
            state.delete_node(known[name])
    else:
        (there[key],) = drawn
        row = node_row(there[key])
        if name in known:
            state.update_node(known[name], row)
        else:
            state.create_node(row)


def follow_pods(state, there, drawn):
    """Pods that are there are updated if they may be, all others come."""
    for each in {pod_key(pod): pod for pod in drawn}.values():
        (row,) = rows_of(state, [each])
        pod = state.order.find(*pod_key(each)[1:])
        if pod < 0:
            state.create(row)
        else:
            state.update(pod, row)
        there[pod_key(each)] = each


def pod_key(pod):
    return "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"]


@pytest.fixture
def cluster():
    return a_cluster(
        *(a_node(name, labels={"disk": "ssd"}) for name in ("n1", "n3")),
        a_pod("p1", node="n1", cpu="300m"),
        a_pod("p2", node="n2", cpu="200m"),
        a_pod("p3", node="n3", nominated_node="n2"),
    )


@pytest.fixture
def state(cluster):
    return ClusterState(cluster)


def test_a_node_is_put_where_its_name_belongs_and_has_the_pods_that_name_it(state):
    assert state.create_node(node_row(a_node("n2"))) == 1
    assert state.cluster.nodes.names == ("n1", "n2", "n3")
    assert state.node.tolist() == [0, 1, 2]
    assert state.cluster.pods.nominated.tolist() == [-1, -1, 1]
    assert (state.running.tolist(), state.requested[0].tolist()) == ([1, 1, 1], [300, 200, 100])
    state.validate()


def test_the_pods_of_a_node_that_goes_are_on_a_node_that_is_not_there(state):
    state.delete_node(0)
    assert [named(state, int(node)) for node in state.node] == ["n1", "n2", "n3"]
    assert (state.node >= 0).tolist() == [False, False, True]
    assert (state.running.tolist(), state.cluster.pods.on_unknown_nodes()) == ([1], 2)
    assert state.create_node(node_row(a_node("n1"))) == 0
    assert state.pods_on(0).tolist() == [0]


def test_what_was_observed_and_forks_do_not_change(cluster, state):
    fork, rows = state.fork(), [cluster.nodes.row(node) for node in range(2)]
    column, before = cluster.nodes.label_column("disk"), picture(fork)
    state.update_node(0, node_row(a_node("n1", cpu="1", labels={"disk": "hdd"}, taints=["a=b:NoSchedule"])))
    state.create_node(node_row(a_node("n2", extended={"example.com/gpu": 1})))
    state.delete_node(2)
    assert [cluster.nodes.row(node) for node in range(2)] == rows
    assert cluster.nodes.label_column("disk") is column
    assert picture(fork) == before
    assert [name for name in state.cluster.nodes.names if name not in cluster.nodes.names] == ["n2"]


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        pytest.param({}, NodePart(0), id="nothing"),
        pytest.param({"cpu": "1"}, NodePart.AMOUNTS, id="amounts"),
        pytest.param({"extended": {"example.com/gpu": 1}}, NodePart.AMOUNTS, id="a-resource-of-its-own"),
        pytest.param({"taints": ["a=b:NoSchedule"]}, NodePart.TAINTS, id="taints"),
        pytest.param({"unschedulable": True}, NodePart.TAINTS, id="cordon"),
        pytest.param({"ready": False}, NodePart.READINESS, id="readiness"),
        pytest.param({"images": {"app": 1}}, NodePart.IMAGES, id="images"),
        pytest.param({"labels": {"disk": "ssd", "rack": "r"}}, NodePart.LABELS, id="a-label-nobody-asked-for"),
        pytest.param({"labels": {}}, NodePart.LABELS | NodePart.ASKED_LABELS, id="a-label"),
    ],
)
def test_those_who_follow_are_told_what_changed(state, changed, parts):
    state.cluster.nodes.label_column("disk")
    told = []
    for part in NodePart:
        state.cluster.nodes.follow(part, lambda part=part: told.append(part))
    before = picture(state)
    mark = state.checkpoint()
    assert state.update_node(0, node_row(a_node("n1", **{"labels": {"disk": "ssd"}} | changed))) == parts
    assert set(told) == set(parts)
    assert state.changed_nodes(0).tolist() == ([0] if changed else [])
    state.undo(mark)
    assert picture(state) == before
    assert set(told) == set(parts)


def test_nodes_that_come_and_go_tell_that_positions_are_others(state):
    told = []
    state.cluster.nodes.follow(NodePart.POSITION, lambda: told.append(state.cluster.nodes.names))
    state.create_node(node_row(a_node("n0")))
    state.delete_node(1)
    state.undo(0)
    assert told == [("n0", "n1", "n3"), ("n0", "n3"), ("n0", "n1", "n3"), ("n1", "n3")]


def test_followers_that_are_dismissed_are_told_nothing(state):
    told = []
    state.before_rewriting.append(lambda: told.append("before"))
    state.cluster.nodes.follow(ANY_PART, lambda: told.append("after"))
    state.delete_node(0)
    assert told == ["before", "after"]
    state.dismiss_followers()
    state.delete_node(0)
    assert told == ["before", "after"]


def test_taints_that_no_node_has_any_more_are_dropped_some_time(state):
    for value in range(20):
        state.update_node(value % 2, node_row(a_node(f"n{1 + value % 2 * 2}", taints=[f"a={value}:NoSchedule"])))
    assert len(state.cluster.nodes.taint_sets) <= 3
    last = state.cluster.nodes.row(1).taints
    assert [each.value for each in last] == ["19"]


def test_what_pods_request_of_a_resource_that_the_first_node_brings_is_summed_up(state):
    (row,) = rows_of(state, [a_pod("gpu", node="n2", requests={"example.com/gpu": "2"})])
    pod = state.create(row)
    state.create_node(node_row(a_node("n2", extended={"example.com/gpu": 4, "example.com/other": 1})))
    resource = state.cluster.nodes.resource("example.com/gpu")
    assert state.requested[resource].tolist() == [0, 2, 0]
    assert state.requests_of(pod)[resource] == 2
    assert state.cluster.nodes.allocatable[resource].tolist() == [0, 4, 0]
    assert np.array_equal(state.cluster.nodes.lists_allocatable[resource], [False, True, False])
    state.validate()


def test_the_name_of_a_node_stands_for_it_whether_it_is_there_or_not(state):
    away = state.node_called("n9")
    assert [state.node_called(name) for name in ("", "n3", "n9")] == [-1, 1, away]
    assert away < -1
    (row,) = rows_of(state, [a_pod("p9")])
    pod = state.create(row | {"node": away})
    state.create_node(node_row(a_node("n9")))
    assert int(state.node[pod]) == 2


def test_the_wire_form_decides_the_row():
    row = node_row(a_node("n", cpu="1500m", ready=None, capacity={"cpu": "2"}))
    assert (row.allocatable["cpu"], row.capacity, row.ready) == (1500, {"cpu": 2000}, True)
