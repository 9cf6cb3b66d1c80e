"""What ``restow schedule`` says of groups of pods: how far they are, whom they preempt, and which nodes they could have."""

from __future__ import annotations

import msgspec

from builders import a_list, a_node, a_pod, ago
from builders.cluster_objects import a_gang_workload, a_pod_group, in_group, of_workload


def test_of_a_group_that_waits_it_says_how_far_it_is_and_whom_it_preempts(restow):
    low = [a_pod(f"low-{at}", cpu="2", node="n", priority=0, started=ago(9 + at)) for at in range(2)]
    gang = [a_pod(f"gang-{at}", cpu="2", priority=5, created=ago(9 - at), spec=in_group("gang")) for at in range(2)]
    dump = msgspec.json.encode(a_list(a_node("n", cpu="4"), a_pod_group("gang", least=2, priority=5), *low, *gang))

    def shown(*arguments):
        return restow("schedule", "-f", "-", *arguments, stdin=dump).out

    table = shown("--scheduler-version", "1.37")
    assert " default/gang-0  its group would preempt 2 pods: default/low-1, default/low-0" in table
    assert " default/gang-1  would go to n once its group has preempted" in table
    page = shown("--scheduler-version", "1.37", "--pod", "default/gang-1")
    assert "PodGroup default/gang needs 2: 0 of its pods find a node" in page
    assert "It would preempt 2 pods on n" in shown("--pod", "default/gang-1")


def test_nodes_outside_the_domain_of_a_group_are_not_checked(restow):
    nodes = [a_node(f"n{at}", cpu="1", labels={"rack": "b" if at else "a"}) for at in range(3)]
    pods = [a_pod(f"g-{at}", cpu="1", created=ago(9 - at), spec=in_group("g")) for at in range(2)]
    group = a_pod_group("g", least=2, schedulingConstraints={"topology": [{"key": "rack"}]})
    dump = msgspec.json.encode(a_list(*nodes, group, *pods))
    page = restow("schedule", "-f", "-", "--scheduler-version", "1.37", "--pod", "default/g-1", stdin=dump).out
    assert "default/g-1 goes to n2: the only node that fits" in page
    assert "1 node does not fit" in page
    assert "1 node not checked: outside the domain of its group" in page


def test_that_victims_are_on_other_nodes_too_is_said(restow):
    """Since 1.37 pods of a group may have to go together."""
    nodes = [a_node(name, cpu="2") for name in ("n1", "n2")]
    low = [a_pod(f"low-{at}", cpu="2", node=f"n{at}", priority=0, spec=in_group("low")) for at in (1, 2)]
    group = a_pod_group("low", priority=0, disruptionMode={"all": {}})
    dump = msgspec.json.encode(a_list(*nodes, group, *low, a_pod("high", cpu="2", priority=5)))

    def shown(*arguments):
        return restow("schedule", "-f", "-", "--scheduler-version", "1.37", *arguments, stdin=dump).out

    assert "default/high would preempt 2 pods on n1 and other nodes: default/low-1, default/low-2" in " ".join(
        shown().split()
    )
    assert "It would preempt 2 pods on n1 and other nodes" in shown("--pod", "default/high")


def test_of_a_gang_of_1_35_it_says_who_waits_on_which_node_and_how_far_the_gang_is(restow):
    gang = [a_pod(f"gang-{at}", cpu="2", created=ago(9 - at), spec=of_workload("w", "g")) for at in range(2)]
    dump = msgspec.json.encode(a_list(a_node("n", cpu="3"), a_gang_workload("w", g=2), *gang, a_pod("a", cpu="1")))

    def shown(*arguments):
        return restow("schedule", "-f", "-", "--scheduler-version", "1.35", *arguments, stdin=dump).out

    table = shown()
    assert "2 pods get no node, 1 would wait on one for others" in table
    assert " default/gang-0  waits on n" in table
    page = shown("--pod", "default/gang-0")
    assert "default/gang-0 gets no node" in page
    assert "the group default/w/g needs 2: 1 of its pods finds a node" in page
    found = msgspec.json.decode(shown("-o", "json"))
    assert {each["pod"]["name"]: each.get("nominatedNode") for each in found["pods"]} == {
        "a": None,
        "gang-0": "n",
        "gang-1": None,
    }
