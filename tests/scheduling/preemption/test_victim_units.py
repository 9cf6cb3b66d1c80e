"""Pods of a PodGroup as victims of a pod of no group: since 1.37 with the group's priority, and maybe all at once."""

from __future__ import annotations

import pytest

from builders import HOSTNAME, Object, a_condition, a_node, a_pdb, a_pod, ago, pod_anti_affinity, pod_term, selector
from builders.cluster_objects import a_pod_group, in_group
from scheduling.loop.group_pass import Pass

_ALL: Object = {"disruptionMode": {"all": {}}}
_SINGLE: Object = {"disruptionMode": {"single": {}}}
_FOO = {"app": "foo"}


def nodes(*names: str, cpu: str = "1") -> list[Object]:
    return [a_node(name, cpu=cpu, labels={HOSTNAME: name}) for name in names]


def a_member(name: str, node: str, **more: Object | str | int) -> Object:
    """A pod of the group g with one CPU."""
    told: Object = {"cpu": "1", "priority": 1, "spec": in_group("g"), "started": ago(200)}
    return a_pod(name, node=node, **(told | more))


def high(**more: Object | str) -> Object:
    """The pod that preempts."""
    return a_pod("high", cpu="1", priority=9, **more)


@pytest.mark.parametrize(
    ("minor", "mode", "count"),
    [
        pytest.param(36, _ALL, 1, id="1.36"),
        pytest.param(37, {}, 1, id="no-mode"),
        pytest.param(37, _SINGLE, 1, id="single"),
        pytest.param(37, _ALL, 2, id="all"),
    ],
)
def test_pods_that_go_together_go_wherever_they_are(minor: int, mode: Object, count: int) -> None:
    group = a_pod_group("g", priority=1, **mode)
    found = Pass(*nodes("n0", "n1"), group, a_member("g-0", "n0"), a_member("g-1", "n1"), high(), minor=minor)
    assert found.nominated("high") == "n0"
    assert found.victims("high") == ["g-0", "g-1"][:count]
    assert found.message("high").endswith(f"preempting {count} victims") == (minor == 37)
    found.state.validate()


def test_pods_on_one_node_come_back_together_or_not_at_all() -> None:
    """There would be room for two of the three."""
    members = [a_member(f"g-{at}", "n0") for at in range(3)]
    found = Pass(*nodes("n0", cpu="3"), a_pod_group("g", priority=1, **_ALL), *members, high(), minor=37)
    assert found.victims("high") == ["g-0", "g-1", "g-2"]


@pytest.mark.parametrize(
    ("priority", "victims"), [pytest.param(8, ["g-0"], id="lower"), pytest.param(9, [], id="not-lower")]
)
@pytest.mark.parametrize("mode", [_ALL, _SINGLE], ids=["all", "single"])
def test_a_pod_of_a_group_has_the_priority_of_its_pod_group(priority: int, victims: list[str], mode: Object) -> None:
    group = a_pod_group("g", priority=priority, **mode)
    found = Pass(*nodes("n0"), group, a_member("g-0", "n0", priority=0), high(), minor=37)
    assert found.victims("high") == victims


def test_a_pod_whose_pod_group_is_not_there_has_its_own_priority_and_goes_alone() -> None:
    found = Pass(*nodes("n0", "n1"), a_member("g-0", "n0"), a_member("g-1", "n1"), high(), minor=37)
    assert found.victims("high") == ["g-0"]


def test_a_group_is_spared_before_an_older_pod_of_none() -> None:
    old = a_pod("old", cpu="1", priority=1, node="n0", started=ago(900))
    group = a_pod_group("g", priority=1, **_ALL)
    found = Pass(*nodes("n0", cpu="2"), group, a_member("g-0", "n0"), old, high(), minor=37)
    assert found.victims("high") == ["old"]


def test_a_larger_group_is_spared_before_an_older_one() -> None:
    """The pods on other nodes count."""
    groups = [a_pod_group(name, priority=1, **_ALL) for name in ("g", "old")]
    members = [a_member("g-0", "n0"), a_member("g-1", "n1")]
    old = a_member("old-0", "n0", spec=in_group("old"), started=ago(900))
    full = a_pod("full", cpu="1", priority=99, node="n1")
    found = Pass(*nodes("n0", "n1", cpu="2"), *groups, *members, old, full, high(), minor=37)
    assert (found.nominated("high"), found.victims("high")) == ("n0", ["old-0"])


def test_the_fewest_pods_in_all_of_the_cluster_go() -> None:
    """n0 would lose one pod, but with two on other nodes."""
    members = [a_member(f"g-{at}", f"n{at}") for at in range(2)]
    single = a_pod("single", cpu="1", priority=1, node="n2", started=ago(900))
    group = a_pod_group("g", priority=1, **_ALL)
    found = Pass(*nodes("n0", "n1", "n2"), group, *members, single, high(), minor=37)
    assert (found.nominated("high"), found.victims("high")) == ("n2", ["single"])


def test_budgets_of_pods_on_other_nodes_count() -> None:
    """The group violates a budget by its pod on n1, so the more important pod on n2 goes."""
    budget = a_pdb("b", selector=selector(labels=_FOO), disruptions_allowed=0)
    members = [a_member("g-0", "n0"), a_member("g-1", "n1", labels=_FOO)]
    other = a_pod("other", cpu="1", priority=5, node="n2", started=ago(9))
    group = a_pod_group("g", priority=1, **_ALL)
    found = Pass(*nodes("n0", "n1", "n2"), group, budget, *members, other, high(), minor=37)
    assert found.victims("high") == ["other"]


def test_a_pod_on_another_node_may_be_what_keeps_the_pod_out() -> None:
    """g-1 does not stand high in its zone; it goes with g-0, which only takes room."""
    anti = pod_anti_affinity([pod_term(selector(labels=_FOO), topology="zone")])
    zone = [a_node(name, cpu="1", labels={HOSTNAME: name, "zone": "z"}) for name in ("n0", "n1")]
    members = [a_member("g-0", "n0"), a_member("g-1", "n1", labels=_FOO)]
    together, alone = (
        Pass(*zone, a_pod_group("g", priority=1, **mode), *members, high(affinity=anti), minor=37)
        for mode in (_ALL, _SINGLE)
    )
    assert (together.nominated("high"), together.victims("high")) == ("n0", ["g-0", "g-1"])
    assert (alone.nominated("high"), alone.victims("high")) == ("n1", ["g-1"])
    together.state.validate()


@pytest.mark.parametrize("priority", [1, 9])
def test_the_priority_of_the_group_says_whose_end_is_awaited(priority: int) -> None:
    condition = a_condition("DisruptionTarget", "True", reason="PreemptionByScheduler")
    leaving = a_member("g-0", "n0", deleted=ago(1), conditions=[condition])
    found = Pass(*nodes("n0"), a_pod_group("g", priority=priority), leaving, high(nominated_node="n0"), minor=37)
    waits = found.message("high").endswith("not eligible due to a terminating pod on the nominated node.")
    assert waits == (priority == 1)
