"""What a check says of each node: its values, why there is none, and what becomes of its marks."""

from __future__ import annotations

import pytest

from pressure.marked_nodes import MANAGER, a_marked_node, owner, read
from restow.client.prometheus import InstantVector, VectorSample
from restow.kube.duration import MINUTE
from restow.pressure.marking import FIELD_MANAGER, Mark
from restow.pressure.rules import Rule
from restow.pressure.situation import PressureCheck, check

OURS = {"labels": {"status": "presure"}, "managedFields": [owner(MANAGER, "status")]}
BY_HAND = {"labels": {"status": "presure"}, "managedFields": [owner("kubectl-label", "status")]}
TAINTED = [{"key": "status", "value": "presure", "effect": "PreferNoSchedule"}]


def a_rule(name="cpu", threshold=0.8, **more):
    return Rule(name, "up", threshold, **({"clear": threshold} | more))


def checked(nodes, *answers, rules=None, most=1.0) -> PressureCheck:
    """Answers by instance, one for each rule."""
    samples = [
        InstantVector(tuple(VectorSample(name, value, 0) for name, value in each.items()), 0) for each in answers
    ]
    return check(rules or [a_rule()], samples, [read(node) for node in nodes], Mark(), most)


@pytest.mark.parametrize(
    ("value", "node", "change"),
    [
        pytest.param(0.9, {}, "set", id="set"),
        pytest.param(0.9, OURS, "keep", id="keep"),
        pytest.param(0.7, OURS, "keep", id="not yet clear"),
        pytest.param(0.6, OURS, "clear", id="clear"),
        pytest.param(0.1, {}, "none", id="none"),
        pytest.param(0.7, {}, "none", id="not over"),
        pytest.param(0.9, BY_HAND, "foreign", id="by hand, over"),
        pytest.param(0.1, BY_HAND, "foreign", id="by hand, not over"),
        pytest.param(0.9, {"labels": {"status": "fine"}}, "foreign", id="another value, over"),
        pytest.param(0.1, {"labels": {"status": "fine"}}, "none", id="another value, not over"),
    ],
)
def test_what_becomes_of_a_label(value, node, change):
    assert FIELD_MANAGER == MANAGER
    found = checked([a_marked_node("a", **node)], {"a": value}, rules=[a_rule(clear=0.6)])
    assert (found.nodes[0].label, found.nodes[0].taint) == (change, "none")


@pytest.mark.parametrize(
    ("value", "taints", "change"),
    [(0.9, [], "set"), (0.9, TAINTED, "keep"), (0.1, TAINTED, "clear"), (0.1, [], "none")],
)
def test_what_becomes_of_a_taint(value, taints, change):
    node = a_marked_node("a") | {"spec": {"taints": taints}}
    found = checked([node], {"a": value}, rules=[a_rule(effect="taint")])
    assert (found.nodes[0].label, found.nodes[0].taint) == ("none", change)


def test_a_node_tells_its_values_and_why_it_has_none():
    nodes = [a_marked_node("a"), a_marked_node("b", ("InternalIP", "10.0.0.2"))]
    rules = [a_rule("cpu"), a_rule("mem", threshold=2e9, direction="below")]
    first, second = checked(nodes, {"a": 0.9, "x": 1}, {"b:1": 1e9, "b:2": 1e9, "x": 1}, rules=rules).nodes

    assert (first.name, first.values, first.problems) == ("a", {"cpu": 0.9, "mem": None}, {"mem": "no sample"})
    assert (first.over, first.label) == (("cpu",), "set")
    assert second.problems == {"cpu": "no sample", "mem": "several samples"}
    assert second.label == "none"


def test_instances_of_no_node_and_nodes_of_the_control_plane():
    nodes = [a_marked_node("a"), a_marked_node("m", labels={"node-role.kubernetes.io/control-plane": ""})]
    found = checked(nodes, {"a": 0.1, "m": 0.9})
    assert [node.name for node in found.nodes] == ["a"]
    assert found.unmatched_instances == ("m",)


def test_a_rule_that_waits_is_told_with_its_time():
    (node,) = checked([a_marked_node("a")], {"a": 0.9}, rules=[a_rule(hold=2 * MINUTE)]).nodes
    assert (node.over, node.waiting, node.label) == (("cpu",), {"cpu": "2m0s"}, "none")


def test_a_rule_that_would_mark_too_many_marks_none():
    found = checked([a_marked_node(name) for name in "abc"], {"a": 0.9, "b": 0.9, "c": 0.1}, most=0.5)
    assert (found.rules[0].nodes_over, found.rules[0].held_back) == (2, True)
    assert {node.label for node in found.nodes} == {"none"}


def test_without_samples_marks_stay_as_they_are():
    found = checked([a_marked_node("a", **OURS), a_marked_node("b")], {})
    assert [node.label for node in found.nodes] == ["keep", "none"]


def test_a_cluster_without_nodes():
    assert checked([], {"a": 0.9}).nodes == ()
