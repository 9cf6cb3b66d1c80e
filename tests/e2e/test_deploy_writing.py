"""With the shipped rights restow does all it does, under its own account; each right to write is needed."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from builders import Object
from builders.policies import strategy_policy
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError
from e2e.running import Descheduler
from e2e.shipped import DEPLOY, LEASE, NAMESPACE, USER, kubeconfig_of_restow, kustomized, rights, without
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, wait_for_ready

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("kustomize")]

_ELECTING = (
    "--leader-elect",
    "--descheduling-interval=1h",
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
    "--v=3",
)
_POLICY = strategy_policy("RemoveDuplicates")
_BEGAN = "Number of evictions/requests"


@pytest.fixture(scope="class")
def crowded(own_plane: ControlPlane) -> ControlPlane:
    own_plane.add_nodes(5)
    for thing in rights(kustomized(DEPLOY / "kubernetes" / "deployment")):
        own_plane.admin.create(thing)
    return own_plane


@pytest.fixture
def web(crowded: ControlPlane) -> Callable[[], set[str]]:
    """Four replicas crowded on two nodes, new for each test; tells their uids."""
    crowded.clear("default")
    with crowded.cordoned(["node-3", "node-4", "node-5"]):
        crowded.admin.create(deployment("web", 4))
        wait_for_ready(crowded.admin, "web", 4)
    return lambda: {pod["metadata"]["uid"] for pod in pods_of(crowded.admin, "web")}


class TestWriting:
    def test_with_all_of_them_it_evicts_tells_and_leads_and_is_never_refused(
        self, crowded: ControlPlane, web: Callable[[], set[str]], tmp_path: Path
    ) -> None:
        before = web()
        crowded.audit.restart()
        with restow(crowded, tmp_path) as running:
            running.wait_for_line(_BEGAN)
            evicted = before - web()
            assert len(evicted) == 2
            told = wait_until("both are told of", lambda: events(crowded, evicted, 2))
            assert {event["reason"] for event in told} == {"RemoveDuplicates"}
            assert holder(crowded).startswith(f"{socket.gethostname()}_")
            assert running.samples().total("restow_leader") == 1
            running.send(signal.SIGTERM)
            assert running.wait() == 0
        assert holder(crowded) == ""
        calls = crowded.audit.calls(user=USER)
        assert {call.verb for call in calls} == {"list", "watch", "create", "get", "update"}
        assert [call for call in calls if call.response_status.code == 403] == []

    def test_without_evictions_it_names_the_rule_and_leaves_everything(
        self, crowded: ControlPlane, web: Callable[[], set[str]], tmp_path: Path
    ) -> None:
        before = web()
        with without(crowded, "restow-evicting", "pods/eviction", "create"), restow(crowded, tmp_path) as running:
            running.wait_for_line(_BEGAN)
            assert 'apiGroups: [""], resources: ["pods/eviction"], verbs: [create]' in running.lines("Error evicting")[
                0
            ].replace('\\"', '"')
            assert running.samples().total("restow_moves_total", result="failed") >= 1
        assert web() == before

    def test_without_events_it_evicts_and_tells_in_the_log_only(
        self, crowded: ControlPlane, web: Callable[[], set[str]], tmp_path: Path
    ) -> None:
        before = web()
        with without(crowded, "restow-evicting", "events", "create"), restow(crowded, tmp_path) as running:
            running.wait_for_line(_BEGAN)
            assert len(before - web()) == 2
            running.send(signal.SIGTERM)
            assert running.wait() == 0
            assert len(running.lines('"Evicted pod"')) == 2
        assert events(crowded, before, 0) == []

    @pytest.mark.parametrize("verb", ["create", "get", "update"])
    def test_without_a_right_to_the_lease_nobody_leads_and_nothing_is_evicted(
        self, crowded: ControlPlane, web: Callable[[], set[str]], tmp_path: Path, verb: str
    ) -> None:
        before = web()
        if verb == "create":
            forget_lease(crowded)
        elif crowded.admin.find("Lease", LEASE, NAMESPACE) is None:
            crowded.admin.create(a_free_lease())
        with without(crowded, "restow-leader-election", "leases", verb), restow(crowded, tmp_path) as running:
            assert f"cannot {verb} resource" in running.wait_for_line("Lease was not acquired or renewed")
            assert running.samples().total("restow_leader") == 0
            assert running.lines(_BEGAN) == []
        assert web() == before


def restow(plane: ControlPlane, directory: Path) -> Descheduler:
    """As the Deployment runs it, but for quicker elections."""
    return Descheduler(directory, policy=_POLICY, kubeconfig=kubeconfig_of_restow(plane), flags=_ELECTING)


def events(plane: ControlPlane, pods: set[str], wanted: int) -> list[Object]:
    """The events about these pods, by restow, once there are as many as wanted."""
    told = [
        event
        for event in plane.admin.items("Event", "default")
        if event["regarding"].get("uid") in pods and event["reportingController"] == "sigs.k8s.io.descheduler"
    ]
    return told if len(told) >= wanted else []


def holder(plane: ControlPlane) -> str:
    """Who holds the lease; empty if nobody does."""
    lease = plane.admin.get("Lease", LEASE, NAMESPACE)
    held: str = lease["spec"].get("holderIdentity") or ""
    return held


def forget_lease(plane: ControlPlane) -> None:
    """There is none."""
    with suppress(RefusedError):
        plane.admin.delete("Lease", LEASE, NAMESPACE)


def a_free_lease() -> Object:
    """Of nobody."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": LEASE, "namespace": NAMESPACE},
        "spec": {},
    }
