"""Places that are held for replacements, on a real control plane, by restow under its own account with the shipped objects."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import Object
from builders.policies import Policy
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError
from e2e.shipped import ACCOUNT, NAMESPACE, USER
from e2e.steered import PACK, PATIENCE, component, finished, install, nodes_of, running, spread_out
from e2e.waiting import wait_until
from e2e.workloads import deployment, stateful_set, wait_for_ready
from restow.executing.reserving import LABEL

pytestmark = pytest.mark.e2e

RESERVE: Policy = PACK | {"restow": {"steering": "nominate", "replacement": "reserve"}}
_NAME = "restow-reserving"


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("reserving")) as plane:
        plane.add_nodes(5, cpu="4")
        install(plane)
        for thing in (*component("reserving", "guarding", "rights"), *component("confirming", "guarding", "rights")):
            plane.admin.create(thing)
        yield plane


def placeholders(cluster: ControlPlane) -> list[Object]:
    return [each for each in cluster.admin.items("Pod", NAMESPACE) if LABEL in each["metadata"].get("labels", {})]


def test_nobody_takes_the_place_while_the_old_pod_ends(cluster: ControlPlane, tmp_path: Path) -> None:
    """A StatefulSet makes the next pod when the old one is gone. Meanwhile as many pods come as have another place."""
    slow = stateful_set("web", 1, cpu="750m", annotations={"test/delete-delay": "8s"})
    slow["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 30
    with spread_out(cluster, slow):
        cluster.audit.restart()
        with running(cluster, tmp_path, RESERVE) as process:
            wait_until("the pod ends", lambda: _ends(cluster, "web-0"), PATIENCE, every=0.05)
            (held,) = placeholders(cluster)
            # Two nodes have two processors left, and three all four: room for 19 such pods, with the old one and the placeholder.
            cluster.admin.create(deployment("crowd", 17, cpu="750m"))
            wait_for_ready(cluster.admin, "crowd", 17, timeout=PATIENCE)
            assert nodes_of(cluster, "web")[held["spec"]["nodeName"]] == 0
            wait_for_ready(cluster.admin, "web", 1, timeout=PATIENCE)
            process.send(signal.SIGTERM)
            assert process.wait() == 0
        assert set(nodes_of(cluster, "web")) == {held["spec"]["nodeName"]}
        assert placeholders(cluster) == []
        refused = [call for call in cluster.audit.calls(user=USER) if call.response_status.code == 403]
        assert refused == []


def _ends(cluster: ControlPlane, pod: str) -> bool:
    return "deletionTimestamp" in cluster.admin.get("Pod", pod, "default")["metadata"]


def test_a_pod_stays_where_no_place_can_be_held(cluster: ControlPlane, tmp_path: Path) -> None:
    """Somebody has taken it since the plan was made: here all of them, by a quota for the namespace of placeholders."""
    path = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    with spread_out(cluster, deployment("web", 1, cpu="100m")):
        before = nodes_of(cluster, "web")
        cluster.admin.call("POST", path, quota)
        try:
            wait_until(
                "the quota is counted",
                lambda: "used" in cluster.admin.call("GET", f"{path}/none").get("status", {}),
                PATIENCE,
            )
            cluster.audit.restart()
            log = finished(cluster, tmp_path, RESERVE)
        finally:
            cluster.admin.call("DELETE", f"{path}/none")
        assert "cannot be held" in log
        assert nodes_of(cluster, "web") == before
        assert cluster.audit.calls("create", "pods", "eviction", user=USER) == []
        assert placeholders(cluster) == []


def test_what_a_killed_restow_holds_is_free_again_with_the_next_one(cluster: ControlPlane, tmp_path: Path) -> None:
    slow = stateful_set("web", 1, cpu="100m", annotations={"test/delete-delay": "8s"})
    with spread_out(cluster, slow):
        with running(cluster, tmp_path, RESERVE) as process:
            wait_until("a place is held", lambda: bool(placeholders(cluster)), PATIENCE, every=0.02)
            process.send(signal.SIGKILL)
            process.wait()
        assert len(placeholders(cluster)) == 1
        finished(cluster, tmp_path, RESERVE)
        assert placeholders(cluster) == []
        wait_for_ready(cluster.admin, "web", 1, timeout=PATIENCE)


class TestGuard:
    """What restow's account may not do with the rights for placeholders."""

    @pytest.mark.parametrize(
        ("labels", "spec", "container"),
        [
            ({}, {}, {}),
            ({LABEL: "true"}, {"priorityClassName": "system-node-critical"}, {}),
            ({LABEL: "true"}, {"hostNetwork": True}, {}),
            ({LABEL: "true"}, {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}, {}),
            ({LABEL: "true"}, {"nodeName": "node-1"}, {}),
            ({LABEL: "true"}, {"automountServiceAccountToken": True}, {}),
            ({LABEL: "true"}, {"activeDeadlineSeconds": None}, {}),
            ({LABEL: "true"}, {}, {"image": "example/other:1"}),
            ({LABEL: "true"}, {}, {"command": ["sh"]}),
            ({LABEL: "true"}, {}, {"securityContext": {"runAsNonRoot": True, "privileged": True}}),
        ],
    )
    def test_no_pod_that_is_no_placeholder(
        self, cluster: ControlPlane, labels: Object, spec: Object, container: Object
    ) -> None:
        waiting = {
            "name": "placeholder",
            "image": "registry.k8s.io/pause:3.10",
            "securityContext": {"runAsNonRoot": True},
        }
        usual = {
            "priorityClassName": "restow-placeholder",
            "activeDeadlineSeconds": 60,
            "automountServiceAccountToken": False,
            "containers": [waiting | container],
        }
        metadata = {"name": "p", "namespace": NAMESPACE, "labels": labels}
        account = cluster.rest(cluster.token_of(ACCOUNT, NAMESPACE))
        with pytest.raises(RefusedError, match="restow may only create"):
            account.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": usual | spec})

    def test_no_pod_of_others_is_deleted(self, cluster: ControlPlane) -> None:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other", "namespace": NAMESPACE}}
        cluster.admin.create(pod | {"spec": {"containers": [{"name": "c", "image": "example/app:1"}]}})
        account = cluster.rest(cluster.token_of(ACCOUNT, NAMESPACE))
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/other"
        with pytest.raises(RefusedError, match="restow may only create and delete pods with the label"):
            account.call("DELETE", path)
        cluster.admin.call("DELETE", path)
