"""Who creates a pod again after its eviction, and when."""

from __future__ import annotations

import pytest

from builders import a_node, a_pod, a_workload
from descheduling.harness import a_cluster
from restow.descheduling.replacement_policy import ReplacementPolicies, ReplacementPolicy


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
        pytest.param(None, "Running", ReplacementPolicy.LOST, id="bare"),
        pytest.param(None, "Failed", ReplacementPolicy.NOT_NEEDED, id="failed and bare"),
    ],
)
def test_succession(owner: tuple[str, str] | None, phase: str, expected: ReplacementPolicy) -> None:
    cluster = a_cluster(a_node("n1"), a_pod("p", node="n1", owner=owner, phase=phase))
    assert ReplacementPolicies(cluster).of(0) is expected


def test_a_job_may_wait_until_its_pods_have_ended() -> None:
    """``podReplacementPolicy: Failed`` counts a terminating pod as one that is still there."""
    job = a_workload("Job", "o", spec={"podReplacementPolicy": "Failed"})
    cluster = a_cluster(a_node("n1"), a_pod("p", node="n1", owner=("Job", "o")), job)
    assert ReplacementPolicies(cluster).of(0) is ReplacementPolicy.AFTERWARDS
