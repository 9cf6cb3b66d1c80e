"""Groups of Coscheduling in one pass over the queue: nodes for as many pods as their PodGroup asks for, or for none.

The plugin itself, in the scheduler that its project builds, decides about the same groups in
``e2e/test_scheduler_coscheduling.py``.
"""

from __future__ import annotations

from builders import Object, a_node, a_pod, ago
from builders.cluster_objects import a_coscheduled_group, a_pod_group, in_group
from restow.cluster.pod_values import POD_GROUP_LABEL
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from scheduling.configurations import COSCHEDULING
from scheduling.loop.group_pass import Pass

_REJECTED = "0/1 nodes are available: 1 optimistic rejection in PostFilter."


def coscheduled(*objects: Object) -> Pass:
    """A pass of a scheduler that has the plugin."""
    return Pass(*objects, profiles=(COSCHEDULING,))


def members(count: int, *, group: str = "g", cpu: str = "1", **features: object) -> list[Object]:
    """Waiting pods of a group, the first one the oldest."""
    made = {"cpu": cpu, "labels": {POD_GROUP_LABEL: group}} | features
    return [a_pod(f"{group}-{at}", created=ago(100 - at), **made) for at in range(count)]  # type: ignore[arg-type]


def test_a_group_that_fits_gets_its_nodes() -> None:
    found = coscheduled(a_node("n", cpu="3"), a_coscheduled_group("g", 3), *members(3))
    assert found.placed().keys() == {"g-0", "g-1", "g-2"}


def test_a_group_that_does_not_fit_gets_none_and_takes_no_room_from_others() -> None:
    later = a_pod("later", cpu="2", created=ago(1))
    found = coscheduled(a_node("n", cpu="2"), a_coscheduled_group("g", 3), *members(3), later)
    assert found.placed().keys() == {"later"}
    assert (found.message("g-0"), found.message("g-1")) == (_REJECTED, _REJECTED)
    assert found.words("g-0") == "PodGroup default/g needs 3: 2 of its pods find a node"
    assert found.message("g-2").startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert found.message("g-2").endswith(
        "PodGroup default/g gets rejected due to Pod g-2 is unschedulable even after PostFilter"
    )


def test_pods_beyond_the_minimum_wait_alone() -> None:
    found = coscheduled(a_node("n", cpu="2"), a_coscheduled_group("g", 2), *members(3))
    assert found.placed().keys() == {"g-0", "g-1"}
    assert "gets rejected" not in found.message("g-2")


def test_a_pod_that_fits_nowhere_does_not_hold_back_enough_others() -> None:
    """The plugin rejects those that wait when such a pod comes, and tries them again with the next one."""
    large, *small = members(1, cpu="9"), *members(4)[1:]
    found = coscheduled(a_node("n", cpu="3"), a_coscheduled_group("g", 3), *large, *small)
    assert found.placed().keys() == {"g-1", "g-2", "g-3"}


def test_pods_that_have_a_node_count_for_the_minimum() -> None:
    running = a_pod("r", cpu="0", node="n", labels={POD_GROUP_LABEL: "g"})
    found = coscheduled(a_node("n", cpu="1"), a_coscheduled_group("g", 2), running, *members(2))
    assert found.placed().keys() == {"g-0", "r"}


def test_a_group_without_a_pod_group_is_not_bound() -> None:
    found = coscheduled(a_node("n", cpu="3"), a_coscheduled_group("another", 1), *members(1))
    assert found.placed().keys() == set()
    assert found.message("g-0") == "0/1 nodes are available: 1 PodGroup not found."


def test_of_a_small_gap_no_pod_says_that_the_group_is_rejected() -> None:
    """One pod of ten."""
    found = coscheduled(a_node("n", cpu="9", pods="20"), a_coscheduled_group("g", 10), *members(10))
    assert found.placed().keys() == set()
    assert "gets rejected" not in found.message("g-9")


def test_while_one_pod_preempts_others_its_group_keeps_the_nodes_that_it_found() -> None:
    nodes = a_node("n0", cpu="1"), a_node("n1", cpu="1")
    low = a_pod("low", cpu="1", priority=0, node="n1")
    found = coscheduled(*nodes, low, a_coscheduled_group("g", 2), *members(2, priority=5))
    assert found.placed().keys() == {"low"}
    kept = [found.decisions[name].nominated_node for name in ("g-0", "g-1")]
    assert kept == [0, 1]
    assert [found.state.cluster.pods.names[pod] for pod in found.decisions["g-1"].victims] == ["low"]


def test_a_scheduler_without_the_plugin_minds_no_label() -> None:
    found = Pass(a_node("n", cpu="2"), a_coscheduled_group("g", 3), *members(3))
    assert found.placed().keys() == {"g-0", "g-1"}


def test_the_schedulers_own_groups_are_others_of_the_same_name() -> None:
    gang = [a_pod(f"gang-{at}", cpu="1", created=ago(50), spec=in_group("g")) for at in range(2)]
    found = coscheduled(
        a_node("n", cpu="4"), a_coscheduled_group("g", 2), a_pod_group("g", least=3), *members(2), *gang
    )
    assert found.placed().keys() == {"g-0", "g-1"}


def test_where_one_pod_goes_nowhere_known_no_pod_of_its_group_does() -> None:
    found = coscheduled(a_node("n", cpu="4"), *members(2))
    assert found.placed().keys() == set()
    assert all("are not known here" in found.message(name) for name in ("g-0", "g-1"))


def why(*objects: Object, profile: SchedulerProfile = COSCHEDULING) -> str | None:
    """Why the next pod of ``r`` would not be bound."""
    found = Pass(a_node("n", cpu="4"), *objects, profiles=(profile,))
    return found.schedulers.why_never_bound(found.state.cluster.pods.names.index("r"))


def test_the_next_pod_of_a_group_is_bound_if_the_group_has_enough_pods_with_nodes() -> None:
    running = [a_pod(name, cpu="0", node="n", labels={POD_GROUP_LABEL: "g"}) for name in ("q", "r")]
    assert why(a_coscheduled_group("g", 2), *running) is None
    assert why(a_coscheduled_group("g", 3), *running) == "PodGroup default/g needs 3 pods with nodes and has 2"
    assert why(a_coscheduled_group("another", 3), *running) == "PodGroup not found"
    assert why(a_coscheduled_group("g", 3), *running, profile=DEFAULT_PROFILE) is None
