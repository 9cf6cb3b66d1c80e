"""Groups whose pods have to share a domain, one after the other, since Kubernetes 1.37."""

from __future__ import annotations

import pytest

from builders import Object, a_node, a_pod, ago
from builders.cluster_objects import a_pod_group, in_group
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.scheduling_groups import topology_of
from restow.scheduling.loop.schedulers import Schedulers
from scheduling.loop.group_pass import Pass

_RACKS: Object = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}


def rack(name: str, *nodes: str, **more: str) -> list[Object]:
    return [a_node(node, labels={"rack": name}, **({"cpu": "1"} | more)) for node in nodes]


def a_group(least: int | None = 2, priority: int = 5) -> Object:
    return a_pod_group("g", least=least, priority=priority, **_RACKS)


def members(count: int) -> list[Object]:
    """Pods of one CPU, the first one the oldest."""
    return [a_pod(f"g-{at}", cpu="1", priority=5, created=ago(100 - at), spec=in_group("g")) for at in range(count)]


def placed(found: Pass) -> dict[str, str]:
    return {pod: node for pod, node in found.placed().items() if pod.startswith("g-")}


def scheduled(*objects: Object) -> Pass:
    return Pass(*objects, minor=37)


def test_all_pods_go_to_one_domain() -> None:
    """There is a free node in each rack, but only b has two."""
    found = scheduled(*rack("a", "n1"), *rack("b", "n2", "n3"), a_node("n4"), a_group(), *members(2))
    assert placed(found) == {"g-0": "n2", "g-1": "n3"}


def test_a_pod_that_runs_decides_for_the_domain() -> None:
    running = a_pod("g-9", node="n1", cpu="1", priority=5, spec=in_group("g"))
    found = scheduled(*rack("a", "n1", "n2"), *rack("b", "n3", "n4"), a_group(), running, *members(2))
    assert placed(found) == {"g-9": "n1", "g-0": "n2"}


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        (("n1", "n2"), "more than 1 domain found for pod group: a, b"),
        (("n1", "n3"), "no topology domain found for pod default/g-9"),
    ],
)
def test_pods_that_run_in_no_one_domain_are_an_error(nodes: tuple[str, str], problem: str) -> None:
    running = [
        a_pod(name, node=node, cpu="1", priority=5, spec=in_group("g"))
        for name, node in zip(("g-8", "g-9"), nodes, strict=True)
    ]
    cluster = [*rack("a", "n1"), *rack("b", "n2"), a_node("n3")]
    found = scheduled(*cluster, a_group(), *running, *members(1))
    assert found.message("g-0") == f"cannot determine domain for already scheduled pods: {problem}"
    assert found.node("g-0") == ""


def test_the_domain_with_the_most_pods_of_a_group_is_the_best() -> None:
    found = scheduled(*rack("a", "n1"), *rack("b", "n2", "n3"), a_group(least=1), *members(3))
    assert placed(found) == {"g-0": "n2", "g-1": "n3"}


def test_of_domains_with_as_many_pods_the_fuller_is_the_best() -> None:
    """Whatever NodeResourcesFit says of single nodes: n1 is the emptier one."""
    other = a_pod("other", node="n2", cpu="2")
    found = scheduled(*rack("a", "n1", cpu="4"), *rack("b", "n2", cpu="4"), other, a_group(least=1), *members(1))
    assert placed(found) == {"g-0": "n2"}


def test_of_equals_the_first_by_name_is_taken() -> None:
    found = scheduled(*rack("b", "n1"), *rack("a", "n2"), a_group(least=1), *members(1))
    assert placed(found) == {"g-0": "n2"}


def test_if_no_domain_will_do_the_first_is_reported() -> None:
    found = scheduled(*rack("b", "n1", "n2"), *rack("a", "n3"), a_group(least=3), *members(3))
    first = "0/2 placements are available, first placement status: minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"
    in_vain = "pod group preemption: No preemption victims found for incoming preemptor"
    assert found.message("g-0") == f"pod group is unschedulable, pod group is unschedulable, {first}, {in_vain}"
    assert found.message("g-1") == "0/1 nodes are available: 1 Insufficient cpu."
    assert found.message("g-2") == f"pod group is unschedulable, {first}"
    assert placed(found) == {}


def test_another_group_that_fits_nowhere_is_told_that_all_nodes_are_its_one_domain() -> None:
    others = [a_pod(f"h-{at}", cpu="9", priority=0, created=ago(9 - at), spec=in_group("h")) for at in range(2)]
    found = scheduled(*rack("a", "n1", "n2"), a_group(), a_pod_group("h", least=2, priority=0), *others)
    first = "0/1 placements are available, first placement status: minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    assert found.message("h-0") == "0/2 nodes are available: 2 Insufficient cpu."
    assert found.message("h-1") == f"pod group is unschedulable, {first}"


def test_without_any_domain_nothing_fits() -> None:
    found = scheduled(a_node("n1"), a_group(), *members(2))
    assert found.message("g-0") == "no feasible placements found"
    assert placed(found) == {}


def test_of_a_group_that_is_no_gang_as_many_get_nodes_as_fit_into_one_domain() -> None:
    found = scheduled(*rack("a", "n1"), *rack("b", "n2", "n3"), a_group(least=None), *members(3))
    assert placed(found) == {"g-0": "n2", "g-1": "n3"}
    assert found.message("g-2").startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_a_group_preempts_in_one_domain() -> None:
    low = [a_pod(f"low-{node}", node=node, cpu="1", priority=0, started=ago(9)) for node in ("n1", "n2", "n3")]
    found = scheduled(*rack("a", "n1"), *rack("b", "n2", "n3"), *low, a_group(), *members(2))
    assert [found.nominated(f"g-{at}") for at in range(2)] == ["n2", "n3"]
    assert sorted(found.victims("g-0")) == ["low-n2", "low-n3"]


def test_a_node_that_is_kept_in_another_domain_does_not_matter() -> None:
    first = a_pod("g-0", cpu="1", priority=5, created=ago(100), nominated_node="n1", spec=in_group("g"))
    found = scheduled(*rack("a", "n1"), *rack("b", "n2", "n3"), a_group(), first, *members(2)[1:])
    assert placed(found) == {"g-0": "n2", "g-1": "n3"}


def test_a_single_pod_of_such_a_group_goes_who_knows_where() -> None:
    found = scheduled(*rack("a", "n1"), a_group(least=1), *members(1))
    schedulers = Schedulers(Context.of(ClusterState(found.state.cluster)))
    assert schedulers.groups.unknown(("default", "g")) == ""
    assert schedulers.unknown(0) == "its group has to share a domain, which restow does not model for single pods"
    group = schedulers.groups.pod_group(("default", "g"))
    assert group is not None
    assert topology_of(group) == "rack"
