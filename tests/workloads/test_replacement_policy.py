"""Who creates a pod again after its eviction, and when."""

from __future__ import annotations

from typing import Any

import pytest

from builders import a_node, a_pod, a_workload
from descheduling.harness import a_cluster
from restow.workloads.replacements import ReplacementPolicies, ReplacementPolicy


@pytest.mark.parametrize(
    ("owner", "phase", "expected"),
    [
        pytest.param(("ReplicaSet", "o"), "Running", ReplacementPolicy.OVERLAPPING, id="replica set"),
        pytest.param(("Job", "o"), "Running", ReplacementPolicy.OVERLAPPING, id="job"),
        pytest.param(
            ("ReplicationController", "o"), "Running", ReplacementPolicy.OVERLAPPING, id="replication controller"
        ),
        pytest.param(("StatefulSet", "o"), "Running", ReplacementPolicy.AFTERWARDS, id="stateful set"),
        pytest.param(("DaemonSet", "o"), "Running", ReplacementPolicy.AFTERWARDS, id="daemon set"),
        pytest.param(("StatefulSet", "o"), "Failed", ReplacementPolicy.AFTERWARDS, id="failed, its name is taken"),
        pytest.param(("ReplicaSet", "o"), "Failed", ReplacementPolicy.NOT_NEEDED, id="failed and replaced"),
        pytest.param(("Job", "o"), "Succeeded", ReplacementPolicy.NOT_NEEDED, id="done"),
        pytest.param(("CloneSet", "o"), "Running", ReplacementPolicy.OVERLAPPING, id="unknown to restow"),
        pytest.param(("DaemonSet", "o"), "Failed", ReplacementPolicy.AFTERWARDS, id="failed, its node is taken"),
        pytest.param(None, "Running", ReplacementPolicy.NONE, id="bare"),
        pytest.param(None, "Failed", ReplacementPolicy.NOT_NEEDED, id="failed and bare"),
    ],
)
def test_the_kind_of_the_owner_decides(owner: tuple[str, str] | None, phase: str, expected: ReplacementPolicy) -> None:
    cluster = a_cluster(a_node("n1"), a_pod("p", node="n1", owner=owner, phase=phase))
    assert ReplacementPolicies(cluster).of(0) is expected


def test_a_job_may_wait_until_its_pods_have_ended() -> None:
    """``podReplacementPolicy: Failed`` counts a terminating pod as one that is still there."""
    job = a_workload("Job", "o", spec={"podReplacementPolicy": "Failed"})
    cluster = a_cluster(a_node("n1"), a_pod("p", node="n1", owner=("Job", "o")), job)
    assert ReplacementPolicies(cluster).of(0) is ReplacementPolicy.AFTERWARDS


BEING_DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        pytest.param("ReplicaSet", {"spec": {"replicas": 0}}, id="scaled to zero"),
        pytest.param("ReplicationController", {"spec": {"replicas": 0}}, id="replication controller"),
        pytest.param("StatefulSet", {"spec": {"replicas": 0}}, id="stateful set"),
        pytest.param("Job", {"spec": {"parallelism": 0}}, id="job without parallelism"),
        pytest.param("Job", {"spec": {"suspend": True}}, id="suspended"),
        pytest.param("Job", {"status": {"conditions": [{"type": "FailureTarget", "status": "True"}]}}, id="failing"),
        pytest.param("Job", {"spec": {"completions": 3}, "status": {"succeeded": 3}}, id="complete"),
        *(
            pytest.param(kind, {"metadata": BEING_DELETED}, id=f"{kind} being deleted")
            for kind in ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job")
        ),
    ],
)
def test_a_controller_that_wants_no_pods_replaces_none(kind: str, fields: dict[str, Any]) -> None:
    wire = a_workload(kind, "o", spec=fields.get("spec"))
    wire = wire | fields | {"metadata": wire["metadata"] | fields.get("metadata", {}), "spec": wire["spec"]}
    pod = a_pod("p", node="n1", owner=(kind, "o"))
    assert ReplacementPolicies(a_cluster(a_node("n1"), pod, wire)).of(0) is ReplacementPolicy.NONE
    wanting = a_workload(kind, "o")
    assert ReplacementPolicies(a_cluster(a_node("n1"), pod, wanting)).of(0) is not ReplacementPolicy.NONE


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
def test_how_many_pods_a_controller_wants_does_not_matter_if_it_wants_any(kind: str) -> None:
    """Also absurdly many."""
    most = 2**31 - 1
    spec = {"replicas": most} if kind != "Job" else {"parallelism": most, "completions": most}
    pod = a_pod("p-7", node="n1", owner=(kind, "p"))
    found = ReplacementPolicies(a_cluster(a_node("n1"), pod, a_workload(kind, "p", spec=spec))).of(0)
    assert found is ReplacementPolicies(a_cluster(a_node("n1"), pod)).of(0)
