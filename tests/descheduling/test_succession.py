"""Who creates a pod again after its eviction, and when."""

from __future__ import annotations

import pytest

from builders import a_node, a_pod, a_workload
from descheduling.harness import a_cluster
from restow.descheduling.succession import Succession, Successions


@pytest.mark.parametrize(
    ("owner", "phase", "expected"),
    [
        pytest.param(("ReplicaSet", "o"), "Running", Succession.OVERLAPPING, id="replica set"),
        pytest.param(("Job", "o"), "Running", Succession.OVERLAPPING, id="job"),
        pytest.param(("ReplicationController", "o"), "Running", Succession.OVERLAPPING, id="replication controller"),
        pytest.param(("StatefulSet", "o"), "Running", Succession.AFTERWARDS, id="stateful set"),
        pytest.param(("DaemonSet", "o"), "Running", Succession.AFTERWARDS, id="daemon set"),
        pytest.param(("StatefulSet", "o"), "Failed", Succession.AFTERWARDS, id="failed, its name is taken"),
        pytest.param(("ReplicaSet", "o"), "Failed", Succession.CLEARED, id="failed and replaced"),
        pytest.param(("Job", "o"), "Succeeded", Succession.CLEARED, id="done"),
        pytest.param(None, "Running", Succession.LOST, id="bare"),
        pytest.param(None, "Failed", Succession.CLEARED, id="failed and bare"),
    ],
)
def test_succession(owner: tuple[str, str] | None, phase: str, expected: Succession) -> None:
    cluster = a_cluster(a_node("n1"), a_pod("p", node="n1", owner=owner, phase=phase))
    assert Successions(cluster).of(0) is expected


def test_a_job_may_wait_until_its_pods_have_ended() -> None:
    """``podReplacementPolicy: Failed`` counts a terminating pod as one that is still there."""
    job = a_workload("Job", "o", spec={"podReplacementPolicy": "Failed"})
    cluster = a_cluster(a_node("n1"), a_pod("p", node="n1", owner=("Job", "o")), job)
    assert Successions(cluster).of(0) is Succession.AFTERWARDS
