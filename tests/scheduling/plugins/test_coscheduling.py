"""Coscheduling at preFilter and postFilter: which groups may have nodes at all, and what becomes of those that do not fit.

What it does with a whole group is in ``loop/test_coscheduling.py``; whether the plugin itself says the same of these is
asked in ``oracle/test_coscheduling_differential.py``.
"""

from __future__ import annotations

import pytest

from builders import Object, a_node, a_pod
from builders.cluster_objects import a_coscheduled_group
from restow.cluster.pod_values import POD_GROUP_LABEL
from restow.scheduling.framework.extension_points import UnknownError
from restow.scheduling.framework.requeueing import Action, ClusterEvent, PodFacts, Resource
from restow.scheduling.plugins.coscheduling import PLUGIN, Coscheduling, CoschedulingArgs, check
from scheduling.plugins.asking import INCOMING, a_context, pod_index


def a_member(name: str = INCOMING, group: str = "g", **features: object) -> Object:
    return a_pod(name, labels={POD_GROUP_LABEL: group}, **features)  # type: ignore[arg-type]


def refusal(*objects: Object) -> str:
    """What is said of the incoming pod before any node is looked at; empty where nothing is."""
    context = a_context(*objects)
    answer = Coscheduling(context, CoschedulingArgs()).prefilter(pod_index(context))
    assert answer.skip
    if answer.failure is None:
        return ""
    assert answer.failure.unresolvable
    return answer.failure.reasons[0]


def test_a_pod_that_names_no_group_is_none_of_its_business() -> None:
    assert refusal(a_node("n"), a_pod(INCOMING)) == ""


def test_a_group_needs_as_many_pods_as_its_minimum_wherever_they_are_and_however_they_ended() -> None:
    others = a_member("one", node="n"), a_member("two", phase="Succeeded", node="n")
    node, elsewhere = a_node("n"), a_member("three", namespace="other")
    assert refusal(node, a_coscheduled_group("g", 3), a_member(), *others, elsewhere) == ""
    assert refusal(node, a_coscheduled_group("g", 4), a_member(), *others, elsewhere) == (
        f"pre-filter pod {INCOMING} cannot find enough sibling pods, current pods number: 3, minMember of group: 4"
    )


def test_without_its_pod_group_a_pod_is_refused_later() -> None:
    assert refusal(a_node("n"), a_coscheduled_group("another", 4), a_member()) == ""


@pytest.mark.parametrize(
    ("wanted", "lacking"),
    [
        ({"cpu": "6"}, ""),
        ({"cpu": "6001m"}, "cpu 6001m"),
        ({"cpu": "7", "memory": "9Gi"}, "cpu 7, memory 9Gi"),
        ({"memory": "8Gi"}, ""),
        ({"example.com/gpu": "1"}, "example.com/gpu 1"),
        ({"example.com/gpu": "0"}, ""),
    ],
)
def test_the_nodes_together_must_have_free_what_the_group_asks_for(wanted: dict[str, str], lacking: str) -> None:
    """Room that pods of the group take counts as free; that of others does not."""
    nodes = [a_node(name, cpu="4", memory="4Gi", pods="10") for name in ("n0", "n1")]
    others = a_member("sibling", node="n0", cpu="1"), a_pod("stranger", node="n1", cpu="2")
    found = refusal(*nodes, *others, a_member(), a_coscheduled_group("g", 2, **wanted))
    assert found == (f"resource gap: {lacking}" if lacking else "")


def test_the_nodes_together_must_take_as_many_pods_as_the_group_needs() -> None:
    nodes = [a_node(name, cpu="4", pods="1") for name in ("n0", "n1")]
    pods = a_pod("stranger", node="n1"), a_member(), a_member("other")
    assert refusal(*nodes, *pods, a_coscheduled_group("g", 2, cpu="1")) == "resource gap: pods 2"


def test_where_pod_groups_are_not_read_it_is_unknown_what_becomes_of_their_pods() -> None:
    with pytest.raises(UnknownError, match="its scheduler looks at its PodGroup, and objects of kind"):
        refusal(a_node("n"), a_member())


def test_no_time_is_negative() -> None:
    found = check(CoschedulingArgs(permit_waiting_time_seconds=-1, pod_group_backoff_seconds=-2))
    assert [each.message for each in found] == [
        "Invalid value: -1: must be greater than 0",
        "Invalid value: -2: must be greater than 0",
    ]
    assert not list(check(CoschedulingArgs()))


@pytest.mark.parametrize(
    ("namespace", "group", "helps"), [("default", "g", True), ("x", "g", False), ("default", "h", False)]
)
def test_a_pod_waits_for_others_of_its_group_and_for_its_pod_group(namespace: str, group: str, helps: bool) -> None:
    pod = PodFacts(uid="a", labels={POD_GROUP_LABEL: "g"})
    other = PodFacts(uid="b", namespace=namespace, labels={POD_GROUP_LABEL: group})
    found = type("Group", (), {"metadata": type("Meta", (), {"namespace": namespace, "name": group})})
    assert PLUGIN.interests is not None
    of_pods, of_groups = PLUGIN.interests
    assert of_pods.hint is not None
    assert of_groups.hint is not None
    assert of_pods.hint(pod, ClusterEvent(Resource.UNSCHEDULABLE_POD, Action.ADD, None, other), None) is helps
    assert of_groups.hint(pod, ClusterEvent(Resource.COSCHEDULED_GROUP, Action.ADD, None, found), None) is helps
    assert not of_pods.hint(PodFacts(uid="c"), ClusterEvent(Resource.UNSCHEDULABLE_POD, Action.ADD, None, other), None)
