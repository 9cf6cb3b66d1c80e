"""Replacements before their pods go, on a real control plane, by restow under its own account with the shipped objects."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders import Object
from builders.policies import Policy
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError
from e2e.shipped import ACCOUNT, NAMESPACE, USER
from e2e.steered import PACK, PATIENCE, component, finished, install, nodes_of, running, spread_out
from e2e.waiting import wait_until
from e2e.workloads import deployment, is_ready, pods_of, wait_for_ready

pytestmark = pytest.mark.e2e

SURGE = "restow.dev/surge"
COST = "controller.kubernetes.io/pod-deletion-cost"
_COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()")


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("surging")) as plane:
        plane.add_nodes(5, cpu="4")
        install(plane)
        for thing in component("surging", "guarding", "rights"):
            plane.admin.create(thing)
        yield plane


@pytest.fixture
def spread(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """Two nodes are half full; two replicas of ``web`` are alone on the three others."""
    with spread_out(cluster, deployment("web", 2, cpu="100m")) as spread:
        yield spread


def policy(mode: str = "surge", **settings: object) -> Policy:
    return PACK | {"restow": {"steering": "nominate", "replacement": mode, **settings}}


def web(cluster: ControlPlane) -> Object:
    found: Object = cluster.admin.get("Deployment", "web", "default")
    return found


def annotations(thing: Object) -> Object:
    found: Object = thing["metadata"].get("annotations") or {}
    return found


@contextmanager
def counted(cluster: ControlPlane) -> Iterator[list[tuple[int, int]]]:
    """How many pods of web there were, and how many of them ready, seen again and again."""
    seen: list[tuple[int, int]] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            pods = [each for each in pods_of(cluster.admin, "web") if "deletionTimestamp" not in each["metadata"]]
            seen.append((len(pods), sum(map(is_ready, pods))))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def test_no_replica_is_missing_while_pods_move(spread: ControlPlane, tmp_path: Path) -> None:
    """One pod more at most, and everything is afterwards as it was before."""
    before = web(spread)
    with counted(spread) as seen:
        log = finished(spread, tmp_path, policy())

    assert set(nodes_of(spread, "web")) <= {"node-1", "node-2"}
    assert min(ready for _, ready in seen) == 2
    assert max(count for count, _ in seen) == 3
    after = web(spread)
    assert after["spec"] == before["spec"]
    assert SURGE not in annotations(after)
    assert not any(COST in annotations(pod) for pod in pods_of(spread.admin, "web"))
    assert "Evicted pod" in log
    refused = [call for call in spread.audit.calls(user=USER) if call.response_status.code == 403]
    assert refused == []


@pytest.mark.parametrize("asked", ["surge", "evict", None])
def test_owners_ask_for_surges_by_an_annotation(spread: ControlPlane, tmp_path: Path, asked: str | None) -> None:
    if asked is not None:
        change = {"metadata": {"annotations": {"restow.dev/replacement": asked}}}
        spread.admin.patch("Deployment", "web", change)
    spread.audit.restart()
    finished(spread, tmp_path, policy("annotated"))

    assert set(nodes_of(spread, "web")) <= {"node-1", "node-2"}
    evictions = spread.audit.calls("create", "pods", "eviction", user=USER)
    assert bool(evictions) == (asked != "surge")


def test_a_new_pod_that_is_not_ready_goes_and_the_old_one_stays(cluster: ControlPlane, tmp_path: Path) -> None:
    with spread_out(cluster, deployment("web", 1, cpu="100m", annotations={"test/ready-delay": "10s"})):
        place = nodes_of(cluster, "web")
        log = finished(cluster, tmp_path, policy(waitForReady="3s"))
        wait_until("one pod is left", lambda: len(pods_of(cluster.admin, "web")) == 1, PATIENCE)

        assert nodes_of(cluster, "web") == place
        assert "was not ready within 3s" in log
        assert web(cluster)["spec"]["replicas"] == 1
        assert SURGE not in annotations(web(cluster))


@pytest.mark.parametrize("mode", ["surge", "auto"])
def test_a_workload_with_an_autoscaler_is_not_surged(cluster: ControlPlane, tmp_path: Path, mode: str) -> None:
    """With ``auto`` its pods are evicted, as without surges."""
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 3},
    }
    with spread_out(cluster, deployment("web", 1, cpu="100m")):
        place = nodes_of(cluster, "web")
        path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
        cluster.admin.call("POST", path, autoscaler)
        try:
            log = finished(cluster, tmp_path, policy(mode))
        finally:
            cluster.admin.call("DELETE", f"{path}/web")
        wait_for_ready(cluster.admin, "web", 1, timeout=PATIENCE)

        assert ("scaled by HorizontalPodAutoscaler web" in log) == (mode == "surge")
        assert (nodes_of(cluster, "web") == place) == (mode == "surge")


@pytest.mark.parametrize(
    ("mode", "less", "stays"),
    [
        ("surge", 0, "ResourceQuota default/team has no room for one pod more"),
        ("evict", 1, "ResourceQuota default/team has no room for the new pod even without this one"),
        ("evict", 0, ""),
    ],
    ids=["no room for both", "lowered", "the new pod comes when the old one is gone"],
)
def test_a_quota_decides_whether_and_how_a_pod_moves(
    cluster: ControlPlane, tmp_path: Path, mode: str, less: int, stays: str
) -> None:
    """It has room for as many pods as there are, or for fewer: it was lowered since they came."""
    with spread_out(cluster, deployment("web", 1, cpu="100m")):
        place = nodes_of(cluster, "web")
        with quota(cluster, less):
            log = finished(cluster, tmp_path, policy(mode))
            wait_for_ready(cluster.admin, "web", 1, timeout=PATIENCE)

        assert stays in log
        assert (nodes_of(cluster, "web") == place) == bool(stays)


@contextmanager
def quota(cluster: ControlPlane, less: int) -> Iterator[None]:
    """A quota for that many pods less than there are."""
    path, pods = "/api/v1/namespaces/default/resourcequotas", len(cluster.admin.items("Pod", "default"))
    hard = {"pods": pods - less}
    team = {"metadata": {"name": "team", "namespace": "default"}, "spec": {"hard": hard}}
    cluster.admin.call("POST", path, {"apiVersion": "v1", "kind": "ResourceQuota", **team})
    try:
        wait_until(
            "the quota is counted",
            lambda: cluster.admin.call("GET", f"{path}/team").get("status", {}).get("used") == {"pods": str(pods)},
            PATIENCE,
        )
        yield
    finally:
        cluster.admin.call("DELETE", f"{path}/team")


def test_a_surge_that_a_killed_restow_has_left_is_ended_by_the_next_one(spread: ControlPlane, tmp_path: Path) -> None:
    with running(spread, tmp_path, policy()) as process:
        wait_until("a surge is under way", lambda: SURGE in annotations(web(spread)), PATIENCE, every=0.01)
        process.send(signal.SIGKILL)
        process.wait()
    log = finished(spread, tmp_path, policy())

    assert "was in the middle of a surge, which has been ended" in log
    assert web(spread)["spec"]["replicas"] == 2
    assert SURGE not in annotations(web(spread))
    wait_for_ready(spread.admin, "web", 2, timeout=PATIENCE)
    assert not any(COST in annotations(pod) for pod in pods_of(spread.admin, "web"))


def test_release_ends_a_surge_backwards_if_the_new_pod_is_not_ready(spread: ControlPlane, tmp_path: Path) -> None:
    pod = pods_of(spread.admin, "web")[0]["metadata"]
    record = json.dumps({"pod": pod["name"], "uid": pod["uid"], "replicas": 2, "time": "2026-01-01T00:00:00Z"})
    change = {"metadata": {"annotations": {SURGE: record}}, "spec": {"replicas": 3}}
    with spread.cordoned([f"node-{each}" for each in range(1, 6)]):
        spread.admin.patch("Deployment", "web", change, "default")
        wait_until("there is a third pod", lambda: len(pods_of(spread.admin, "web")) == 3, PATIENCE)
        command = (*_COMMAND, "release", "--kubeconfig", str(spread.kubeconfig))
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)

    assert ran.returncode == 0, ran.stderr
    assert "Deployment default/web" in ran.stdout
    wait_until("there are two pods", lambda: len(pods_of(spread.admin, "web")) == 2, PATIENCE)
    assert pod["name"] in [each["metadata"]["name"] for each in pods_of(spread.admin, "web")]


class TestGuard:
    """What restow's account may not do with the rights for surges."""

    @pytest.mark.parametrize(
        "change",
        [
            {"spec": {"replicas": 3}},
            {"spec": {"replicas": 5}, "metadata": {"annotations": {SURGE: "{}"}}},
            {"spec": {"replicas": 1}},
            {"spec": {"replicas": 3, "paused": True}, "metadata": {"annotations": {SURGE: "{}"}}},
            {"metadata": {"annotations": {"other": "x"}}},
            {"metadata": {"labels": {"other": "x"}}},
        ],
    )
    def test_of_a_workload_nothing_but_one_replica_more_and_its_record(
        self, spread: ControlPlane, change: Object
    ) -> None:
        assert_refused(spread, "Deployment", "web", change)

    @pytest.mark.parametrize(
        "change",
        [{"metadata": {"annotations": {"other": "x"}}}, {"metadata": {"labels": {"other": "x"}}}],
    )
    def test_of_a_pod_nothing_but_its_deletion_cost(self, spread: ControlPlane, change: Object) -> None:
        assert_refused(spread, "Pod", pods_of(spread.admin, "web")[0]["metadata"]["name"], change)


def assert_refused(cluster: ControlPlane, kind: str, name: str, change: Object) -> None:
    account = cluster.rest(cluster.token_of(ACCOUNT, NAMESPACE))
    with pytest.raises(RefusedError, match="restow may"):
        account.patch(kind, name, change, "default")
