"""restow, its API server and its leader die, stand still and come back; pods, nodes and budgets are not as planned."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.audit import Call
from e2e.control_plane import ControlPlane
from e2e.crowds import Watchman, crowd
from e2e.deschedulers import evicted
from e2e.fake_nodes import a_fake_node
from e2e.fault_proxy import FaultProxy
from e2e.faults import Late, calls
from e2e.faulty_runs import APPS, REPLICAS, a_policy, a_restow, check, stop, wait_until_spread
from e2e.running import Descheduler
from e2e.waiting import wait_until
from e2e.workloads import budget

pytestmark = pytest.mark.e2e

NODES = 5
SHARED_LEASE = ("--leader-elect", "--leader-elect-resource-namespace=default")
SHORT_LEASE = (
    *SHARED_LEASE,
    "--leader-elect-lease-duration=15s",
    "--leader-elect-renew-deadline=10s",
    "--leader-elect-retry-period=500ms",
)
LONG_LEASE = (
    *SHARED_LEASE,
    "--leader-elect-lease-duration=10m",
    "--leader-elect-renew-deadline=5m",
    "--leader-elect-retry-period=500ms",
)
#: Replacements take a while, so that there is something to interrupt.
SLOW_START = {"test/ready-delay": "1s"}


@pytest.fixture(scope="module")
def cluster(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("outages")) as plane:
        plane.add_nodes(NODES)
        yield plane


@pytest.fixture
def stage(cluster: ControlPlane) -> Iterator[ControlPlane]:
    cluster.audit.restart()
    yield cluster
    cluster.clear("default")
    if cluster.admin.find("Lease", "descheduler"):
        cluster.admin.delete("Lease", "descheduler")


@pytest.fixture
def watchman(stage: ControlPlane) -> Watchman:
    return Watchman()


def test_the_api_server_dies_in_the_middle_of_a_cycle(stage: ControlPlane, watchman: Watchman, tmp_path: Path) -> None:
    apps = crowd(stage, APPS, REPLICAS, max_unavailable=1)
    with watchman.watching(stage), a_restow(tmp_path, stage.kubeconfig) as restow:
        restow.wait_for_line("Evicted pod")
        stage.kill("kube-apiserver")
        restow.wait_for_line("cannot update")
        stage.restart("kube-apiserver")
        # Both of 1.36 may do nothing for minutes after that, or end.
        for component in ("kube-controller-manager", "kube-scheduler"):
            stage.kill(component)
            stage.restart(component)
        wait_until_spread(stage, apps, "default", restow)
        restow.wait_for_line("the cluster state is up to date again")
        stop(restow)
    check(stage, watchman, restow)


def test_restow_is_killed_before_it_knows_what_became_of_an_eviction(
    stage: ControlPlane, watchman: Watchman, tmp_path: Path
) -> None:
    """The next one has no memory; that a replacement is not ready holds it back all the same, without any budget."""
    apps = crowd(stage, APPS, REPLICAS, annotations=SLOW_START)
    with watchman.watching(stage), a_restow(tmp_path, stage.kubeconfig) as restow:
        restow.wait_for_line("Evicted pod")
        restow.kill()
        restow.start()
        wait_until_spread(stage, apps, "default", restow)
        stop(restow)
    check(stage, watchman, restow)


def test_sigterm_lets_the_eviction_end_and_gives_the_lease_away(
    stage: ControlPlane, watchman: Watchman, tmp_path: Path
) -> None:
    """Its event is written, and the next one need not wait for the ten minutes of the lease."""
    apps = crowd(stage, APPS, REPLICAS)
    with (
        watchman.watching(stage),
        FaultProxy(stage) as proxy,
        a_restow(tmp_path, proxy.kubeconfig, flags=LONG_LEASE, name="first") as first,
    ):
        with proxy.trouble(calls("create", "pods/eviction"), Late(2.0)) as late:
            wait_until("an eviction is asked for", lambda: late.happened)
            first.send(signal.SIGTERM)
            assert first.wait() == 0
        gone = evicted(stage)
        assert len(gone) == late.happened
        assert {f"default/{entry['pod']['name']}" for entry in first.entries("Evicted pod")} == set(gone)
        assert set(gone) <= {told_of(event) for event in stage.admin.items("Event", "default")}
        assert holder(stage) == ""
        with a_restow(tmp_path, stage.kubeconfig, flags=LONG_LEASE, name="second") as second:
            wait_until_spread(stage, apps, "default", second)
            stop(second)
    check(stage, watchman, first, second)


def test_only_the_leader_evicts_and_not_after_it_stood_still(
    stage: ControlPlane, watchman: Watchman, tmp_path: Path
) -> None:
    apps = crowd(stage, APPS, REPLICAS, annotations=SLOW_START)
    with watchman.watching(stage), a_candidate(stage, tmp_path, "first") as first:
        first.wait_for_line("Evicted pod")
        with a_candidate(stage, tmp_path, "second") as second:
            second.wait_for_line("New leader elected")
            first.send(signal.SIGSTOP)
            second.wait_for_line("Evicted pod")
            first.send(signal.SIGCONT)
            # As the Descheduler does; the kubelet would start it again.
            assert first.wait() == 0
            assert first.lines("Leader lost")
            wait_until_spread(stage, apps, "default", second)
            stop(second)
    took_over = evictions_by(stage, "second")[0].request_received_timestamp
    assert all(call.stage_timestamp < took_over for call in evictions_by(stage, "first"))
    check(stage, watchman, first, second)


@pytest.mark.parametrize(
    ("placement", "said"),
    [
        pytest.param("prove", "default/never allows 0 more disruptions", id="known when the plan is made"),
        pytest.param("upstream", "needs 6 healthy pods and has 6 currently", id="after the deadline"),
    ],
)
def test_a_budget_that_never_allows_is_given_up_and_others_go_on(
    stage: ControlPlane, watchman: Watchman, tmp_path: Path, placement: str, said: str
) -> None:
    apps = crowd(stage, APPS, REPLICAS)
    stage.admin.create(budget("never", apps[0], min_available=REPLICAS))
    policy = a_policy(waitForBudget="2s", placement=placement)
    with watchman.watching(stage), a_restow(tmp_path, stage.kubeconfig, policy=policy) as restow:
        wait_until_spread(stage, apps[1:], "default", restow)
        restow.wait_for_line(said)
        stop(restow)
    assert watchman.fewest[apps[0]] == REPLICAS
    check(stage, watchman, restow)


def test_a_node_and_its_pods_vanish(stage: ControlPlane, watchman: Watchman, tmp_path: Path) -> None:
    """What was to be moved away from it comes back elsewhere by itself, and is not evicted."""
    apps = crowd(stage, APPS, REPLICAS, annotations=SLOW_START)
    lost = "node-2"
    with a_restow(tmp_path, stage.kubeconfig) as restow:
        restow.wait_for_line("Evicted pod")
        stage.admin.delete("Node", lost)
        for pod in stage.admin.items("Pod", "default"):
            if pod["spec"].get("nodeName") == lost:
                stage.admin.delete("Pod", pod["metadata"]["name"], at_once=True)
        try:
            wait_until_spread(stage, apps, "default", restow)
            stop(restow)
        finally:
            stage.admin.create(a_fake_node(lost, zone="b"))
            stage.wait_for_nodes([lost])
    check(stage, watchman, restow)


def a_candidate(plane: ControlPlane, directory: Path, name: str) -> Descheduler:
    """One of several that elect a leader, with a service account of its own name."""
    if not plane.admin.find("ServiceAccount", name):
        plane.service_account(name, roles=("cluster-admin",))
    kubeconfig = plane.kubeconfig_for(plane.token_of(name), name)
    return a_restow(directory, kubeconfig, flags=SHORT_LEASE, name=name)


def evictions_by(plane: ControlPlane, account: str) -> list[Call]:
    """The evictions that a service account was granted."""
    asked = plane.audit.calls("create", "pods", "eviction", user=f"system:serviceaccount:default:{account}")
    return [call for call in asked if call.response_status.code == 201]


def holder(plane: ControlPlane) -> str:
    """Who has the lease; empty where nobody has."""
    return str(plane.admin.get("Lease", "descheduler")["spec"].get("holderIdentity") or "")


def told_of(event: dict[str, object]) -> str:
    """The object that an event is about."""
    about = event["regarding"]
    assert isinstance(about, dict)
    return f"{about.get('namespace', '')}/{about['name']}"
