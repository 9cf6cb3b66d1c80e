"""What pods hold on their node while they are resized in place, as kube-scheduler 1.36 counts it."""

from __future__ import annotations

import pytest

from builders import a_container, a_node, a_pod
from descheduling.harness import a_cluster
from restow.cluster.nodes import CPU
from restow.cluster.state import ClusterState
from restow.workloads.replacements import Replacements

INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
DEFERRED = INFEASIBLE | {"reason": "Deferred"}


def report(name="c", *, has=None, promised=None):
    """The status of a container."""
    made = {"name": name, "restartCount": 0}
    if has is not None:
        made["resources"] = {"requests": {"cpu": has}} if has else {}
    return made | ({"allocatedResources": {"cpu": promised}} if promised else {})


def held(*, by_status=True, init=None, pod_level=None, **status):
    """The milli CPU that a pod with one container of 1 CPU holds on its node."""
    spec = {"resources": {"requests": {"cpu": pod_level}}} if pod_level else {}
    containers = [a_container("c", requests={"cpu": "1"})]
    pod = a_pod("p", node="n", containers=containers, init_containers=init, spec=spec)
    pod["status"] = {"phase": "Running"} | status
    state = ClusterState(a_cluster(a_node("n"), pod), by_status=by_status)
    state.validate()
    return int(state.requested[CPU, 0])


@pytest.mark.parametrize(
    ("statuses", "conditions", "expected"),
    [
        pytest.param([report()], [], 1000, id="nothing-reported"),
        pytest.param([report(has="2")], [], 2000, id="shrinking"),
        pytest.param([report(has="500m")], [], 1000, id="growing"),
        pytest.param([report(has="500m", promised="2")], [], 2000, id="promised"),
        pytest.param([report(promised="2")], [], 1000, id="promised-without-resources"),
        pytest.param([report(has="500m", promised="750m")], [INFEASIBLE], 750, id="infeasible-a45"),
        pytest.param([report(has="500m", promised="750m")], [INFEASIBLE | {"status": "False"}], 750, id="any-status"),
        pytest.param([report(has="500m", promised="750m")], [DEFERRED], 1000, id="deferred"),
        pytest.param([report(has="500m")], [DEFERRED, INFEASIBLE], 1000, id="first-condition"),
        pytest.param([report(promised="750m")], [INFEASIBLE], 1000, id="infeasible-without-resources"),
        pytest.param([report(has="")], [INFEASIBLE], 0, id="infeasible-and-nothing"),
        pytest.param([report(has="2"), report(has="3")], [], 2000, id="first-of-a-name"),
        pytest.param([report("other", has="3")], [], 1000, id="other-name"),
    ],
)
def test_a_container_holds_the_largest_of_what_counts_a44(statuses, conditions, expected) -> None:
    assert held(containerStatuses=statuses, conditions=conditions) == expected


@pytest.mark.parametrize(("restart_policy", "expected"), [("Always", 3000), (None, 1000)])
def test_of_init_containers_only_sidecars_are_resized(restart_policy, expected) -> None:
    init = [a_container("i", requests={"cpu": "250m"}, restart_policy=restart_policy)]
    assert held(init=init, initContainerStatuses=[report("i", has="2")]) == expected


@pytest.mark.parametrize(
    ("status", "conditions", "expected"),
    [
        pytest.param({"resources": {"requests": {"cpu": "2"}}}, [], 2000, id="has"),
        pytest.param({"allocatedResources": {"cpu": "2"}}, [], 1500, id="promised-alone"),
        pytest.param({"resources": {}}, [INFEASIBLE], 0, id="infeasible"),
    ],
)
def test_so_does_the_pod_itself(status, conditions, expected) -> None:
    assert held(pod_level="1500m", conditions=conditions, **status) == expected


def test_a_resource_that_the_pod_itself_does_not_name_is_that_of_its_containers() -> None:
    assert held(resources={"requests": {"cpu": "2"}}) == 1000


def test_the_descheduler_counts_what_is_requested() -> None:
    assert held(by_status=False, containerStatuses=[report(has="2")]) == 1000


def test_a_replacement_holds_what_it_requests() -> None:
    pod = a_pod("p", node="n", containers=[a_container("c", requests={"cpu": "1"})])
    pod["status"] = {"phase": "Running", "containerStatuses": [report(has="2")]}
    state = ClusterState(a_cluster(a_node("n"), pod))
    state.remove(0)
    state.place(Replacements(state, now=0).of(0), 0)
    state.validate()
    assert int(state.requested[CPU, 0]) == 1000


def test_removing_a_pod_takes_back_what_it_held() -> None:
    pod = a_pod("p", node="n", containers=[a_container("c", requests={"cpu": "1"})])
    pod["status"] = {"phase": "Running", "containerStatuses": [report(has="2")]}
    state = ClusterState(a_cluster(a_node("n"), pod))
    state.remove(0)
    assert not state.requested.any()
