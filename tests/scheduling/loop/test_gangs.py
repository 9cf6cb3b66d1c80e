"""Groups of Workloads of Kubernetes 1.35 in one pass over the queue: pods wait on their nodes for others of their gang.

What kube-scheduler itself does with random Workloads is asked in ``oracle/test_gang_differential``.
"""

from __future__ import annotations

import pytest

from builders import HOSTNAME, Object, a_node, a_pod, ago, pod_affinity, pod_term, selector
from builders.cluster_objects import a_coscheduled_group, a_gang_workload, of_workload
from restow.cluster.pod_values import POD_GROUP_LABEL
from scheduling.configurations import COSCHEDULING
from scheduling.loop.group_pass import Pass

_WAITS = "waiting for minCount pods from a gang to be waiting on permit"
NODE = a_node("n", cpu="2", labels={HOSTNAME: "n"})
BESIDE = pod_affinity([pod_term(selector(labels={"app": "leader"}), topology=HOSTNAME)])
_TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"


def scheduled(*objects: Object, minor: int = 35) -> Pass:
    return Pass(*objects, minor=minor)


def members(
    count: int, *, group: str = "g", replica: str | None = None, cpu: str = "1", **fields: object
) -> list[Object]:
    """Waiting pods of a group of the Workload ``w``, the first one the oldest."""
    prefix = "-".join(filter(None, (group, replica)))
    made = {"cpu": cpu, "spec": of_workload("w", group, replica)} | fields
    return [a_pod(f"{prefix}-{at}", created=ago(100 - at), **made) for at in range(count)]  # type: ignore[arg-type]


def follower_and_leader() -> list[Object]:
    """Two pods of a gang, of which the older one goes only where the other one is."""
    follower, leader = members(2)
    follower["spec"] |= {"affinity": BESIDE}
    leader["metadata"] |= {"labels": {"app": "leader"}}
    return [follower, leader]


def test_a_gang_that_fits_gets_its_nodes() -> None:
    found = scheduled(a_node("n", cpu="3"), a_gang_workload("w", g=3), *members(3))
    assert found.placed().keys() == {"g-0", "g-1", "g-2"}


def test_too_few_pods_wait_on_their_nodes_and_keep_later_ones_away() -> None:
    later = a_pod("later", cpu="2", created=ago(1))
    large = a_pod("g-large", cpu="9", created=ago(90), spec=of_workload("w", "g"))
    found = scheduled(a_node("n", cpu="3"), a_gang_workload("w", g=3), *members(2), large, later)
    assert found.placed() == {}
    assert (found.message("g-0"), found.message("g-1")) == (_WAITS, _WAITS)
    assert found.words("g-0") == "the group default/w/g needs 3: 2 of its pods find a node"
    assert found.message("later").startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_the_node_that_a_pod_waits_on_is_kept_for_it_after_the_pass() -> None:
    found = scheduled(a_node("n", cpu="1"), a_gang_workload("w", g=2), *members(2))
    assert (found.nominated("g-0"), found.kept("g-0")) == ("n", "n")
    assert (found.nominated("g-1"), found.kept("g-1")) == ("", "")


def test_pods_that_have_a_node_count_for_the_minimum() -> None:
    running = a_pod("r", cpu="0", node="n", spec=of_workload("w", "g"))
    found = scheduled(a_node("n", cpu="1"), a_gang_workload("w", g=2), running, *members(2))
    assert found.placed().keys() == {"g-0", "r"}


def test_pods_beyond_the_minimum_wait_for_none() -> None:
    found = scheduled(a_node("n", cpu="2"), a_gang_workload("w", g=2), *members(3))
    assert found.placed().keys() == {"g-0", "g-1"}


def test_of_a_basic_group_as_many_pods_get_nodes_as_fit() -> None:
    found = scheduled(a_node("n", cpu="2"), a_gang_workload("w", g=None), *members(3))
    assert found.placed().keys() == {"g-0", "g-1"}


def test_a_pod_that_found_no_node_is_tried_again_once_another_of_its_gang_waits() -> None:
    first, leader = follower_and_leader()
    alone = a_pod("alone", created=ago(999), affinity=BESIDE)
    found = scheduled(NODE, a_gang_workload("w", g=2), alone, first, leader)
    assert found.placed().keys() == {"g-0", "g-1"}
    assert list(found.decisions) == ["alone", "g-1", "g-0"]


def test_it_is_tried_behind_pods_of_its_priority_that_were_not_tried_yet() -> None:
    first, leader = follower_and_leader()
    others = [a_pod("same", created=ago(1)), a_pod("lower", priority=-1, created=ago(300))]
    found = scheduled(NODE, a_gang_workload("w", g=2), first, leader, *others)
    assert list(found.decisions) == ["g-1", "same", "g-0", "lower"]


@pytest.mark.parametrize(
    ("workload", "why"),
    [
        ("another", 'waiting for pods\'s workload "w" to appear in scheduling queue'),
        ("w", 'pod group "h" doesn\'t exist for a workload "w"'),
    ],
)
def test_without_its_workload_and_group_no_pod_is_tried(workload: str, why: str) -> None:
    found = scheduled(a_node("n"), a_gang_workload(workload, g=1), *members(1, group="h"))
    assert found.gated == {"h-0": why}


def test_a_gang_with_too_few_pods_is_not_tried() -> None:
    running = a_pod("r", node="n", spec=of_workload("w", "g"))
    workload = a_gang_workload("w", g=3)
    assert scheduled(a_node("n"), workload, running, *members(1)).gated == {"g-0": _TOO_FEW}
    assert scheduled(a_node("n"), workload, running, *members(2)).gated == {}


def test_each_replica_of_a_group_is_a_gang_of_its_own() -> None:
    found = scheduled(
        a_node("n", cpu="9"), a_gang_workload("w", g=2), *members(2, replica="a"), *members(1, replica="b")
    )
    assert found.placed().keys() == {"g-a-0", "g-a-1"}
    assert found.gated == {"g-b-0": _TOO_FEW}


@pytest.mark.parametrize("minor", [33, 34, 36, 37])
def test_other_versions_than_1_35_do_not_mind_the_field(minor: int) -> None:
    """Before, and since then, API servers drop it."""
    found = scheduled(a_node("n", cpu="9"), *members(1), minor=minor)
    assert found.placed().keys() == {"g-0"}


def test_where_it_is_unknown_where_one_pod_goes_it_is_unknown_of_those_that_wait_for_it() -> None:
    known, unknown = members(2)
    unknown["metadata"] |= {"labels": {POD_GROUP_LABEL: "not known here"}}
    found = Pass(a_node("n"), a_gang_workload("w", g=2), known, unknown, minor=35, profiles=(COSCHEDULING,))
    assert "are not known here" in found.decisions["g-1"].unknown
    assert found.decisions["g-0"].unknown == found.decisions["g-1"].unknown
    assert (found.placed(), found.kept("g-0")) == ({}, "")


def test_groups_of_coscheduling_are_decided_about_in_their_turn() -> None:
    others = [a_pod(f"o-{at}", cpu="1", created=ago(50), labels={POD_GROUP_LABEL: "o"}) for at in range(2)]
    found = Pass(
        a_node("n", cpu="3"),
        a_gang_workload("w", g=2),
        a_coscheduled_group("o", 2),
        *members(2),
        *others,
        minor=35,
        profiles=(COSCHEDULING,),
    )
    assert found.placed().keys() == {"g-0", "g-1"}
    assert "PodGroup default/o needs 2: 1 of its pods finds a node" in {found.words("o-0"), found.words("o-1")}


def why(*objects: Object) -> str | None:
    """Why the next pod of ``r`` would not be bound."""
    found = scheduled(a_node("n", cpu="4"), *objects)
    return found.schedulers.why_never_bound(found.state.cluster.pods.names.index("r"))


def test_the_next_pod_of_a_gang_is_bound_if_the_gang_has_enough_pods_with_nodes() -> None:
    running = [a_pod(name, cpu="0", node="n", spec=of_workload("w", "g")) for name in ("q", "r")]
    assert why(a_gang_workload("w", g=2), *running) is None
    assert why(a_gang_workload("w", g=None), *running) is None
    assert why(a_gang_workload("w", g=3), *running) == "the group default/w/g needs 3 pods with nodes and has 2"
    assert why(a_gang_workload("another", g=2), *running) == (
        'waiting for pods\'s workload "w" to appear in scheduling queue'
    )
