"""Groups of pods in one pass over the queue: a gang gets nodes for enough of its pods, or for none.

What kube-scheduler itself does with random groups is asked in ``oracle/test_group_differential``.
"""

from __future__ import annotations

import pytest
from msgspec import structs

from builders import Object, a_node, a_pod, ago
from builders.cluster_objects import a_pod_group, in_group
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from scheduling.loop.group_pass import Pass

_TOO_FEW = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
    "one or more plugins asked to wait and no plugin rejected pod"
)
_PREEMPTING = "pod group is unschedulable, pod group is waiting for preemption to complete"


def members(group: str, count: int, *, cpu: str = "1", priority: int = 0, **spec: object) -> list[Object]:
    """Waiting pods of a group, the first one the oldest."""
    return [
        a_pod(f"{group}-{at}", cpu=cpu, priority=priority, created=ago(100 - at), spec=in_group(group) | spec)
        for at in range(count)
    ]


@pytest.mark.parametrize("minor", [36, 37])
def test_a_gang_that_fits_gets_all_its_nodes(minor: int) -> None:
    found = Pass(a_node("n", cpu="3"), a_pod_group("g", least=3), *members("g", 3), minor=minor)
    assert found.placed() == {"g-0": "n", "g-1": "n", "g-2": "n"}


@pytest.mark.parametrize("minor", [36, 37])
def test_a_gang_that_does_not_fit_gets_none_and_takes_no_room_from_others(minor: int) -> None:
    later = a_pod("later", cpu="2", created=ago(1))
    found = Pass(a_node("n", cpu="2"), a_pod_group("g", least=3), *members("g", 3), later, minor=minor)
    assert found.placed() == {"later": "n"}
    found.state.validate()


def test_a_pod_that_had_a_node_is_told_that_its_gang_has_too_few() -> None:
    found = Pass(a_node("n", cpu="2"), a_pod_group("g", least=3), *members("g", 3))
    assert (found.message("g-0"), found.message("g-1")) == (_TOO_FEW, _TOO_FEW)
    assert found.message("g-2").startswith("0/1 nodes are available: 1 Insufficient cpu.")
    wait = found.decisions["g-0"].group_wait
    assert wait is not None
    assert wait.words == "PodGroup default/g needs 3: 2 of its pods find a node"


def test_pods_that_run_count() -> None:
    running = [a_pod(f"r-{at}", cpu="0", node="n", spec=in_group("g")) for at in range(2)]
    found = Pass(a_node("n", cpu="1"), a_pod_group("g", least=3), *running, *members("g", 2))
    assert found.node("g-0") == "n"
    assert found.node("g-1") == ""


def test_of_a_group_that_is_no_gang_as_many_get_nodes_as_fit() -> None:
    found = Pass(a_node("n", cpu="2"), a_pod_group("g"), *members("g", 3))
    assert [found.node(f"g-{at}") for at in range(3)] == ["n", "n", ""]


def test_pods_wait_for_their_group_and_a_gang_for_its_pods() -> None:
    found = Pass(a_node("n", cpu="9"), a_pod_group("g", least=3), *members("g", 2), *members("h", 1))
    few = "waiting for minCount pods from a gang to appear in scheduling queue"
    missing = 'waiting for pods\'s pod group "h" to appear in scheduling queue'
    assert found.gated == {"g-0": few, "g-1": few, "h-0": missing}
    assert found.decisions == {}


@pytest.mark.parametrize(("minor", "gated"), [(36, {"g-1"}), (37, {"g-0", "g-1"})])
def test_since_1_37_a_gate_holds_back_the_whole_group(minor: int, gated: set[str]) -> None:
    first, second = members("g", 2)
    second["spec"]["schedulingGates"] = [{"name": "wait"}]
    found = Pass(a_node("n", cpu="9"), a_pod_group("g"), first, second, minor=minor)
    assert set(found.gated) == gated


def test_up_to_1_36_each_pod_preempts_and_the_group_waits_for_the_victims() -> None:
    victim = a_pod("victim", cpu="1", node="n", priority=0, started=ago(9))
    found = Pass(a_node("n", cpu="2"), a_pod_group("g", least=2), victim, *members("g", 2, priority=5))
    assert found.victims("g-1") == ["victim"]
    assert found.message("g-0") == _PREEMPTING
    assert (found.nominated("g-0"), found.nominated("g-1")) == ("n", "n")
    assert (found.kept("g-0"), found.kept("g-1")) == ("n", "n")
    assert found.placed() == {"victim": "n"}


def test_a_gang_that_cannot_be_saved_by_preemption_keeps_no_node() -> None:
    victim = a_pod("victim", cpu="1", node="n", priority=0, started=ago(9))
    found = Pass(a_node("n", cpu="2"), a_pod_group("g", least=3), victim, *members("g", 3, priority=5))
    assert found.message("g-1") == _TOO_FEW
    # kube-scheduler has deleted it by then.
    assert found.victims("g-1") == ["victim"]
    assert [found.kept(f"g-{at}") for at in range(3)] == ["", "", ""]


def test_since_1_37_a_group_preempts_no_more_than_it_needs() -> None:
    pods = [a_pod(f"low-{at}", cpu="1", node="n", priority=0, started=ago(9 + at)) for at in range(3)]
    found = Pass(
        a_node("n", cpu="4"), a_pod_group("g", least=2, priority=5), *pods, *members("g", 2, priority=5), minor=37
    )
    assert found.victims("g-0") == ["low-0"]
    assert (found.nominated("g-0"), found.nominated("g-1")) == ("n", "n")
    assert found.message("g-0").endswith("pod group preemption: found a placement for podgroup, preempting 1 victims")
    assert found.placed() == {f"low-{at}": "n" for at in range(3)}


def test_a_budget_spares_the_older_and_the_protected() -> None:
    pods = [
        a_pod(f"low-{at}", cpu="1", node="n", priority=0, labels={"app": str(at)}, started=ago(9 + at)) for at in (0, 1)
    ]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "0"}}},
        "status": {"disruptionsAllowed": 0},
    }
    group = a_pod_group("g", least=1, priority=5)
    found = Pass(a_node("n", cpu="2"), group, budget, *pods, *members("g", 1, priority=5), minor=37)
    assert found.victims("g-0") == ["low-1"]


def test_since_1_37_the_rest_of_a_group_is_tried_again_at_once() -> None:
    """Then it preempts, which it did not where others of it got nodes."""
    victim = a_pod("victim", cpu="1", node="n", priority=0, started=ago(9))
    found = Pass(a_node("n", cpu="2"), a_pod_group("g", priority=5), victim, *members("g", 2, priority=5), minor=37)
    assert found.node("g-0") == "n"
    assert (found.node("g-1"), found.victims("g-1")) == ("", ["victim"])


def test_pods_of_a_group_name_one_scheduler() -> None:
    other = members("g", 1)[0]
    other["metadata"]["name"], other["spec"]["schedulerName"] = "other", "another"
    found = Pass(a_node("n", cpu="9"), a_pod_group("g"), *members("g", 1), other)
    # The other scheduler's pod is not in this queue.
    assert found.node("g-0") == "n"


@pytest.mark.parametrize(
    ("minor", "differing"), [(36, '"default-scheduler" and "another"'), (37, '"another" and "default-scheduler"')]
)
def test_of_two_profiles_that_pods_of_a_group_name_each_is_told(minor: int, differing: str) -> None:
    first, second = members("g", 2)
    second["spec"]["schedulerName"] = "another"
    profiles = (DEFAULT_PROFILE, structs.replace(DEFAULT_PROFILE, name="another"))
    found = Pass(a_node("n", cpu="9"), a_pod_group("g", priority=0), first, second, minor=minor, profiles=profiles)
    alike = f"all pods in a single pod group should have the same .spec.schedulerName set, got: {differing}"
    assert {each.error for each in found.decisions.values()} == {alike}


def test_since_1_37_pods_have_the_priority_of_their_group() -> None:
    found = Pass(a_node("n", cpu="9"), a_pod_group("g", priority=7), *members("g", 2, priority=5), minor=37)
    alike = "all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 7"
    assert {each.error for each in found.decisions.values()} == {alike}


@pytest.mark.parametrize(
    ("minor", "spec", "why"),
    [
        (35, {}, "restow schedules groups as kube-scheduler 1.36 and later do"),
        (36, {"schedulingConstraints": {"topology": [{"key": "rack"}]}}, "its group has to share a domain"),
        (37, {"parentCompositePodGroupName": "all"}, "its group is part of a group of groups"),
    ],
)
def test_where_pods_go_is_unknown_if_the_rules_of_their_group_are(minor: int, spec: Object, why: str) -> None:
    found = Pass(a_node("n", cpu="9"), a_pod_group("g", **spec), *members("g", 2), minor=minor)
    assert all(each.unknown.startswith(why) for each in found.decisions.values())
    assert found.placed() == {}


_TOGETHER: Object = {"disruptionMode": {"all": {}}}


def low_group(*nodes: str, priority: int = 1, **spec: Object) -> list[Object]:
    """A group with a pod of one CPU on each of these nodes."""
    made = {"cpu": "1", "priority": priority, "spec": in_group("low")}
    pods = [a_pod(f"low-{at}", node=node, created=ago(200), **made) for at, node in enumerate(nodes)]  # type: ignore[arg-type]
    return [a_pod_group("low", priority=priority, **spec), *pods]


@pytest.mark.parametrize("mode", ["Pod", "PodGroup", {"single": {}}, {"all": {}}])
@pytest.mark.parametrize("minor", [36, 37])
def test_a_disruption_mode_of_either_version_is_read(minor: int, mode: Object | str) -> None:
    """API servers of 1.36 fill in a word where nothing is written."""
    group = a_pod_group("g", least=2, disruptionMode=mode)  # type: ignore[arg-type]
    assert len(Pass(a_node("n", cpu="2"), group, *members("g", 2), minor=minor).placed()) == 2


def test_since_1_37_pods_that_have_to_go_together_do_wherever_they_are() -> None:
    nodes = [a_node(name, cpu="1") for name in ("n0", "n1")]
    high = [a_pod_group("g", least=1, priority=9), *members("g", 1, priority=9)]
    alone = Pass(*nodes, *low_group("n0", "n1"), *high, minor=37)
    together = Pass(*nodes, *low_group("n0", "n1", **_TOGETHER), *high, minor=37)
    assert len(alone.victims("g-0")) == 1
    assert together.victims("g-0") == ["low-0", "low-1"]
    together.state.validate()


def test_since_1_37_pods_of_a_group_are_spared_before_an_older_one_of_none() -> None:
    nodes = [a_node("n0", cpu="2"), a_node("n1", cpu="1")]
    single = a_pod("single", cpu="1", priority=1, node="n0", created=ago(900))
    high = [a_pod_group("g", least=1, priority=9), *members("g", 1, priority=9)]
    found = Pass(*nodes, *low_group("n0", "n1", **_TOGETHER), single, *high, minor=37)
    assert found.victims("g-0") == ["single"]


def test_since_1_37_a_pod_of_a_group_has_the_priority_of_its_pod_group_as_a_victim() -> None:
    pod = a_pod("mighty", cpu="1", priority=50, node="n0", spec=in_group("low"))
    high = [a_pod_group("g", least=1, priority=9), *members("g", 1, priority=9)]
    found = Pass(a_node("n0", cpu="1"), a_pod_group("low", priority=1), pod, *high, minor=37)
    assert found.victims("g-0") == ["mighty"]
