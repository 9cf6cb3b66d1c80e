"""Surges of a Rollout of Argo on a real control plane, by restow under its own account with the shipped objects; Argo is played."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import Object
from builders.policies import Policy
from e2e.argo_rollouts import KIND, RolloutController, a_rollout, install_kind
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError
from e2e.shipped import ACCOUNT, NAMESPACE, USER
from e2e.steered import PACK, PATIENCE, component, finished, install, nodes_of, running, spread_out
from e2e.waiting import wait_until
from e2e.workloads import pods_of, wait_for_ready
from restow.executing.surged_workloads import ANNOTATION
from restow.workloads.controllers import DELETION_COST

pytestmark = pytest.mark.e2e

POLICY: Policy = PACK | {"restow": {"steering": "nominate", "replacement": "surge"}}


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("surging-rollouts")) as plane:
        plane.add_nodes(5, cpu="4")
        install(plane)
        install_kind(plane)
        for thing in component("surging", "guarding", "rights"):
            plane.admin.create(thing)
        yield plane


@pytest.fixture
def argo(cluster: ControlPlane) -> Iterator[RolloutController]:
    """Two nodes are half full; the one replica of ``web`` is alone on one of the others."""
    with RolloutController(cluster.admin) as argo, spread_out(cluster, a_rollout("web")):
        argo.available.clear()
        argo.there.clear()
        yield argo
    cluster.clear("default")


def web(cluster: ControlPlane) -> Object:
    found: Object = cluster.admin.get(KIND, "web")
    return found


def is_surged(cluster: ControlPlane) -> bool:
    return ANNOTATION in (web(cluster)["metadata"].get("annotations") or {})


def assert_as_before(cluster: ControlPlane, before: Object) -> None:
    assert web(cluster)["spec"] == before["spec"]
    assert not is_surged(cluster)
    (pod,) = wait_for_ready(cluster.admin, "web", 1, timeout=PATIENCE)
    assert DELETION_COST not in (pod["metadata"].get("annotations") or {})


def test_the_one_replica_of_a_rollout_moves_and_is_never_missing(
    cluster: ControlPlane, argo: RolloutController, tmp_path: Path
) -> None:
    """Nothing is evicted, and everything is afterwards as it was before."""
    before = web(cluster)
    cluster.audit.restart()
    log = finished(cluster, tmp_path, POLICY)

    assert_as_before(cluster, before)
    assert set(nodes_of(cluster, "web")) <= {"node-1", "node-2"}
    assert (min(argo.available), max(argo.there)) == (1, 2)
    assert "Evicted pod" in log
    assert cluster.audit.calls("create", "pods", "eviction", user=USER) == []
    assert [call for call in cluster.audit.calls(user=USER) if call.response_status.code == 403] == []


def test_a_surge_of_a_rollout_that_a_killed_restow_has_left_is_ended_by_the_next_one(
    cluster: ControlPlane, argo: RolloutController, tmp_path: Path
) -> None:
    before = web(cluster)
    with running(cluster, tmp_path, POLICY) as process:
        wait_until("a surge is under way", lambda: is_surged(cluster), PATIENCE, every=0.01)
        process.send(signal.SIGKILL)
        process.wait()
    log = finished(cluster, tmp_path, POLICY)

    assert "Rollout default/web was in the middle of a surge, which has been ended" in log
    assert_as_before(cluster, before)
    assert min(argo.available) == 1


@pytest.mark.usefixtures("argo")
def test_of_a_rollout_restow_may_change_nothing_but_one_replica_more_and_its_record(cluster: ControlPlane) -> None:
    record = {"annotations": {ANNOTATION: "{}"}}
    account = cluster.rest(cluster.token_of(ACCOUNT, NAMESPACE))
    for change in (
        {"spec": {"replicas": 2}},
        {"spec": {"replicas": 3}, "metadata": record},
        {"spec": {"replicas": 0}},
        {"spec": {"replicas": 2, "paused": True}, "metadata": record},
        {"spec": {"replicas": 2, "restartAt": "2026-01-01T00:00:00Z"}, "metadata": record},
        {"spec": {"replicas": 2, "strategy": None}, "metadata": record},
        {"spec": {"replicas": 2}, "metadata": record | {"labels": {"other": "x"}}},
        {"metadata": {"annotations": {"other": "x"}}},
    ):
        with pytest.raises(RefusedError, match="restow may"):
            account.patch(KIND, "web", change)
    account.patch(KIND, "web", {"spec": {"replicas": 2}, "metadata": record})
    account.patch(KIND, "web", {"spec": {"replicas": 1}, "metadata": {"annotations": {ANNOTATION: None}}})
    wait_until("one pod is left", lambda: len(pods_of(cluster.admin, "web")) == 1, PATIENCE)
