"""The order of a cycle, and which nodes it looks at."""

from __future__ import annotations

import numpy as np
import pytest

from builders import Owner, a_node, a_pod
from descheduling.harness import a_cluster
from descheduling.trials import a_profile, evicted, failing, refused, seeing, suggesting, trial
from restow.descheduling.cycle import usable_nodes
from restow.errors import InputError
from restow.proving.planning import cycle_notes

RS = Owner("ReplicaSet", "rs")
NODES = [a_node("n1"), a_node("n2")]
PODS = [a_pod(name, node="n1", owner=RS) for name in ("a", "b", "c", "d")]


def refs(cycle):
    return [(each.ref.profile, each.ref.plugin) for each in cycle.record.evictions]


def test_deschedule_of_all_profiles_comes_before_balance_of_any():
    profiles = [
        a_profile("P", balance=("A",), deschedule=("B",)),
        a_profile("Q", balance=("C",), deschedule=("D",)),
    ]
    strategies = {name.upper(): suggesting(name) for name in ("a", "b", "c", "d")}
    cycle = trial(strategies, *NODES, *PODS, profiles=profiles)
    assert refs(cycle) == [("P", "B"), ("Q", "D"), ("P", "A"), ("Q", "C")]


def test_strategies_of_a_point_run_as_listed():
    strategies = {"Z": suggesting("a"), "A": suggesting("b"), "M": suggesting("c")}
    assert [plugin for _, plugin in refs(trial(strategies, *NODES, *PODS))] == ["Z", "A", "M"]


def test_evicted_pods_are_gone_for_later_strategies():
    seen = []
    strategies = {
        "S": suggesting("a", "c"),
        "T": seeing(seen, lambda view: [view.pods.names[i] for i in view.state.pods_on(0)]),
        "U": suggesting("a", "b"),
    }
    cycle = trial(strategies, *NODES, *PODS)
    assert seen == [["b", "d"]]
    assert evicted(cycle) == ["a", "c", "b"]
    assert refused(cycle) == {}


def test_a_strategy_that_cannot_work_does_not_stop_the_next():
    profiles = [a_profile("P", deschedule=("F",), balance=("S",)), a_profile("Q", deschedule=("T",))]
    strategies = {"F": failing(), "S": suggesting("a"), "T": suggesting("b")}
    cycle = trial(strategies, *NODES, *PODS, profiles=profiles)
    assert refs(cycle) == [("Q", "T"), ("P", "S")]
    assert len(cycle.record.problems) == 1


def test_each_profile_has_its_own_evictor():
    profiles = [
        a_profile("P", deschedule=("S",), evictor={"labelSelector": {"matchLabels": {"x": "y"}}}),
        a_profile("Q", deschedule=("T",)),
    ]
    cycle = trial({"S": suggesting("a"), "T": suggesting("b")}, *NODES, *PODS, profiles=profiles)
    assert evicted(cycle) == ["b"]
    assert refused(cycle) == {"a": ("evictor", "LabelSelector")}


@pytest.mark.parametrize(
    ("nodes", "selector", "usable"),
    [
        pytest.param([a_node("n1"), a_node("n2")], None, ["n1", "n2"], id="all"),
        pytest.param([a_node("n1"), a_node("n2", ready=False)], None, ["n1"], id="not-ready"),
        pytest.param([a_node("n1"), a_node("n2", ready=None)], None, ["n1", "n2"], id="no-condition"),
        pytest.param([a_node("n1"), a_node("n2", unschedulable=True)], None, ["n1", "n2"], id="unschedulable-counts"),
        pytest.param([a_node("n1"), a_node("n2")], "", ["n1", "n2"], id="empty-selector"),
        pytest.param(
            [a_node("n1", labels={"type": "compute"}), a_node("n2", labels={"type": "infra"})],
            "type=compute",
            ["n1"],
            id="ND-03",
        ),
        pytest.param([a_node("n1"), a_node("n2", labels={"a": "b"})], "!a", ["n1"], id="negation"),
    ],
)
def test_usable_nodes(nodes, selector, usable):
    cluster = a_cluster(*nodes, *PODS)
    assert [cluster.nodes.names[node] for node in usable_nodes(cluster, selector)] == usable


def test_a_node_selector_that_cannot_be_read_is_an_error():
    with pytest.raises(InputError, match=r"^nodeSelector: "):
        trial({"S": suggesting("a")}, *NODES, *PODS, node_selector="a in")


@pytest.mark.parametrize(
    ("nodes", "selector"),
    [
        pytest.param([a_node("n1")], None, id="one-node"),
        pytest.param([a_node("n1"), a_node("n2", ready=False)], None, id="one-ready"),
        pytest.param([a_node("n1"), a_node("n2")], "no=where", id="none-selected"),
    ],
)
def test_with_fewer_than_two_nodes_nothing_is_done(nodes, selector):
    cycle = trial({"S": suggesting("a")}, *nodes, *PODS, node_selector=selector)
    assert cycle.skipped
    assert evicted(cycle) == []
    (note,) = cycle_notes(cycle)
    assert note.startswith(f"Skipping descheduling cycle: requires >=2 nodes, found {len(cycle.nodes)}")


def test_a_priority_class_that_is_not_there_stops_the_cycle():
    profiles = [a_profile(deschedule=("S",), evictor={"priorityThreshold": {"name": "gone"}})]
    with pytest.raises(InputError, match="not found"):
        trial({"S": suggesting("a")}, *NODES, *PODS, profiles=profiles)


# The view


def looked(look, *objects, **policy):
    seen = []
    trial({"S": seeing(seen, look)}, *objects, **policy)
    return seen[0]


def test_the_view_groups_pods_by_node_in_canonical_order():
    pods = [a_pod("z", node="n1"), a_pod("a", node="n2"), a_pod("b", node="n1"), a_pod("x", node="n2")]
    every = looked(lambda view: [(n, p.tolist()) for n, p in view.by_node(np.ones(4, dtype=bool))], *NODES, *pods)
    assert every == [(0, [1, 3]), (1, [0, 2])]


def test_no_chosen_pods_are_no_groups():
    assert looked(lambda view: list(view.by_node(np.zeros(4, dtype=bool))), *NODES, *PODS) == []


def test_pods_that_left_since_are_left_out_of_their_group():
    def look(view):
        groups = view.by_node(np.ones(4, dtype=bool))
        view.state.remove(3)
        return [(node, pods.tolist()) for node, pods in groups]

    assert looked(look, *NODES, *PODS) == [(0, [0, 1, 2])]


def test_listed_pods_are_on_listed_nodes():
    """Whatever their phase; pods of other, unknown or no nodes are not."""
    pods = [
        a_pod("a", node="n1"),
        a_pod("b", node="n2"),
        a_pod("c", node="n3"),
        a_pod("d", node="gone"),
        a_pod("e"),
        a_pod("f", node="n1", phase="Failed"),
    ]
    nodes = [a_node(name, labels={"use": str(name != "n3")}) for name in ("n1", "n2", "n3")]
    listed = looked(lambda view: view.listed_pods(None, None).tolist(), *nodes, *pods, node_selector="use=True")
    assert listed == [True, True, False, False, False, True]
    running = looked(lambda view: view.running_pods(None, None).tolist(), *nodes, *pods, node_selector="use=True")
    assert running == [True, True, False, False, False, False]
