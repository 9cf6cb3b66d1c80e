"""ReplicaSet and ReplicationController: how many pods come and go, and which of them go first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.cluster.pod_values import NO_TIME, Phase
from restow.cluster.pods import PENDING
from restow.kube.objects import ObjectMeta, OwnerReference, Workload
from restow.kube.objects.workloads import WorkloadSpec
from restow.workloads.controllers import BURST, ControlledPod, NewPod, deletion_order, replica_set, wanted_replicas

SECOND = 10**9
NOW = 1 << 60


def a_pod(name: str, **fields: Any) -> ControlledPod:
    return ControlledPod(name, uid=name, **fields)


def a_workload(*, replicas: int | None, uid: str = "old", **metadata: Any) -> Workload:
    return Workload(ObjectMeta(name="web", uid=uid, **metadata), WorkloadSpec(replicas=replicas))


def test_a_pod_is_created_for_each_that_is_missing() -> None:
    assert replica_set(3, [a_pod("a")], NOW).create == [NewPod(), NewPod()]


def test_a_terminating_pod_is_replaced_at_once_and_one_that_is_over_counts_no_more() -> None:
    gone = [a_pod("a", terminating=True), a_pod("b", phase=Phase.FAILED), a_pod("c", phase=Phase.SUCCEEDED)]
    done = replica_set(2, [*gone, a_pod("d")], NOW)
    assert (len(done.create), done.delete) == (1, []), "what is over is left for the garbage collector"


def test_nothing_is_done_where_all_are_there() -> None:
    done = replica_set(1, [a_pod("a")], NOW)
    assert (done.create, done.delete) == ([], [])


def test_however_many_are_asked_for_so_many_come_at_a_time() -> None:
    assert len(replica_set(2**31 - 1, [], NOW).create) == BURST
    assert len(replica_set(0, [a_pod(str(number)) for number in range(BURST + 9)], NOW).delete) == BURST


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param({"node": PENDING}, {"phase": Phase.PENDING, "ready": False}, id="without-a-node"),
        pytest.param({"phase": Phase.PENDING}, {"phase": Phase.UNKNOWN}, id="pending"),
        pytest.param({"phase": Phase.UNKNOWN}, {"ready": False}, id="unknown"),
        pytest.param({"ready": False}, {"deletion_cost": -5}, id="not-ready"),
        pytest.param({"deletion_cost": -1}, {"restarts": 9}, id="cheaper"),
        pytest.param(
            {"ready_since": NOW - 10 * SECOND}, {"ready_since": NOW - 100 * SECOND, "restarts": 3}, id="just-ready"
        ),
        pytest.param({"ready_since": NO_TIME}, {"ready_since": NOW - SECOND}, id="ready-since-nobody-knows"),
        pytest.param({"restarts": 2}, {"restarts": 1, "created": NOW - SECOND}, id="restarted-more-often"),
        pytest.param({"created": NOW - 10 * SECOND}, {"created": NOW - 100 * SECOND}, id="younger"),
    ],
)
def test_the_pod_goes_first_that_is_missed_least(first: dict[str, Any], then: dict[str, Any]) -> None:
    """Source: ActivePodsWithRanks; each row decides before all below it."""
    one, other = a_pod("z", **first), a_pod("a", **then)
    assert replica_set(1, [other, one], NOW).delete == [one]
    assert replica_set(1, [one, other], NOW).delete == [one]


def test_the_fullest_node_loses_a_pod_first_and_pods_of_other_generations_count() -> None:
    pods = [a_pod("a", node=0), a_pod("b", node=1), a_pod("c", node=1)]
    assert [pod.name for pod in deletion_order(pods, NOW)] == ["b", "c", "a"]
    others = [a_pod("x", node=0), a_pod("y", node=0), a_pod("gone", node=1, terminating=True)]
    assert deletion_order(pods, NOW, others)[0].name == "a"


def test_ages_of_the_same_magnitude_are_equal_and_the_uid_decides() -> None:
    pods = [a_pod("b", created=NOW - 65 * SECOND), a_pod("a", created=NOW - 66 * SECOND)]
    assert [pod.name for pod in deletion_order(pods, NOW)] == ["a", "b"]


PODS = st.builds(
    ControlledPod,
    name=st.just("p"),
    uid=st.text("abc", max_size=3),
    phase=st.sampled_from(Phase),
    terminating=st.booleans(),
    ready=st.booleans(),
    node=st.integers(-1, 2),
    deletion_cost=st.integers(-1, 1),
    created=st.integers(NOW - 2**40, NOW),
    ready_since=st.integers(NOW - 2**40, NOW),
)


@given(replicas=st.integers(0, 5), pods=st.lists(PODS, max_size=8))
def test_afterwards_there_are_as_many_active_pods_as_replicas(replicas: int, pods: list[ControlledPod]) -> None:
    done = replica_set(replicas, pods, NOW)
    active = sum(pod.is_active for pod in pods)
    assert active + len(done.create) - len(done.delete) == replicas
    assert not (done.create and done.delete)
    assert all(pod.is_active for pod in done.delete)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(a_workload(replicas=3), 3, id="as it says"),
        pytest.param(a_workload(replicas=None), 1, id="one where it says nothing"),
        pytest.param(a_workload(replicas=3, deletion_timestamp="2026-01-01T00:00:00Z"), 0, id="being deleted"),
        pytest.param(a_workload(replicas=3, uid="new"), None, id="another of that name"),
        pytest.param(None, None, id="not seen"),
    ],
)
def test_how_many_pods_an_owner_wants(found: Workload | None, wanted: int | None) -> None:
    assert wanted_replicas(found, OwnerReference(kind="ReplicaSet", name="web", uid="old")) == wanted
    assert wanted_replicas(found, OwnerReference(kind="DaemonSet", name="web", uid="old")) is None
