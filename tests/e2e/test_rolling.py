"""Rollouts in place of evictions, on a real control plane, by restow under its own account with the shipped objects."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import Object
from builders.policies import Policy
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError
from e2e.shipped import ACCOUNT, NAMESPACE, USER
from e2e.steered import DONE, PACK, PATIENCE, component, finished, install, nodes_of, running, spread_out
from e2e.waiting import wait_until
from e2e.workloads import deployment, is_ready, pods_of, wait_for_ready
from restow.executing.rolling import ANNOTATION

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("rolling")) as plane:
        plane.add_nodes(5, cpu="4")
        install(plane)
        for thing in component("surging", "guarding", "rights"):
            plane.admin.create(thing)
        yield plane


def policy(**settings: object) -> Policy:
    return PACK | {"restow": {"steering": "nominate", "replacement": "rollout", **settings}}


def web(**pod: Any) -> Object:
    return deployment("web", 1, cpu="100m", **pod)


def template(cluster: ControlPlane) -> Object:
    found: Object = cluster.admin.get("Deployment", "web", "default")["spec"]["template"]
    return found


def test_the_pod_moves_by_its_deployments_own_strategy(cluster: ControlPlane, tmp_path: Path) -> None:
    with spread_out(cluster, web()):
        cluster.audit.restart()
        (old,) = pods_of(cluster.admin, "web")
        seen: list[int] = []

        def is_moved() -> bool:
            pods = pods_of(cluster.admin, "web")
            seen.append(sum(map(is_ready, pods)))
            return [each["metadata"]["uid"] for each in pods] != [old["metadata"]["uid"]] and len(pods) == 1

        with running(cluster, tmp_path, policy()) as process:
            wait_until("the pod has moved", is_moved, PATIENCE, every=0.05)
            process.wait_for_line(DONE)
            process.send(signal.SIGTERM)
            assert process.wait() == 0
            log = "\n".join(process.lines())
        assert min(seen) == 1
        assert set(nodes_of(cluster, "web")) <= {"node-1", "node-2"}
        assert 'landing="target"' in log
        assert template(cluster)["metadata"]["annotations"][ANNOTATION] == old["metadata"]["uid"]
        assert cluster.audit.calls("create", "pods", "eviction", user=USER) == []
        assert [call for call in cluster.audit.calls(user=USER) if call.response_status.code == 403] == []


def test_where_the_new_pod_is_not_ready_the_rollout_is_undone(cluster: ControlPlane, tmp_path: Path) -> None:
    with spread_out(cluster, web(annotations={"test/ready-delay": "10s"})):
        before, (old,) = template(cluster), pods_of(cluster.admin, "web")
        log = finished(cluster, tmp_path, policy(waitForReady="3s"))
        wait_until("one pod is left", lambda: len(pods_of(cluster.admin, "web")) == 1, PATIENCE)
        assert "was not ready within 3s" in log
        assert template(cluster)["spec"] == before["spec"]
        assert ANNOTATION not in template(cluster)["metadata"]["annotations"]
        assert pods_of(cluster.admin, "web")[0]["metadata"]["uid"] == old["metadata"]["uid"]


def test_what_an_autoscaler_scales_is_rolled_out_too(cluster: ControlPlane, tmp_path: Path) -> None:
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 3},
    }
    with spread_out(cluster, web()):
        cluster.admin.call("POST", path, autoscaler)
        try:
            finished(cluster, tmp_path, policy())
        finally:
            cluster.admin.call("DELETE", f"{path}/web")
        wait_for_ready(cluster.admin, "web", 1, timeout=PATIENCE)
        assert set(nodes_of(cluster, "web")) <= {"node-1", "node-2"}


def test_a_template_that_somebody_changes_meanwhile_stays_theirs(cluster: ControlPlane, tmp_path: Path) -> None:
    with spread_out(cluster, web(annotations={"test/ready-delay": "5s"})):
        with running(cluster, tmp_path, policy()) as process:
            wait_until(
                "it is rolled out",
                lambda: ANNOTATION in template(cluster)["metadata"]["annotations"],
                PATIENCE,
                every=0.05,
            )
            theirs = {"metadata": {"annotations": {ANNOTATION: None, "team/version": "2"}}}
            cluster.admin.patch("Deployment", "web", {"spec": {"template": theirs}}, "default")
            process.wait_for_line("somebody has changed the template of Deployment default/web")
            process.send(signal.SIGTERM)
            process.wait()
        wait_until("one pod is left", lambda: len(pods_of(cluster.admin, "web")) == 1, PATIENCE)
        assert template(cluster)["metadata"]["annotations"]["team/version"] == "2"


class TestGuard:
    """What restow's account may not do with the right to change templates."""

    @pytest.mark.parametrize(
        "change",
        [
            {"metadata": {"annotations": {ANNOTATION: "x", "other": "x"}}},
            {"metadata": {"annotations": {ANNOTATION: "x"}, "labels": {"other": "x"}}},
            {"metadata": {"annotations": {ANNOTATION: "x"}}, "spec": {"hostNetwork": True}},
            {"metadata": {"annotations": {"other": "x"}}},
        ],
    )
    def test_nothing_but_the_annotation(self, cluster: ControlPlane, change: Object) -> None:
        with spread_out(cluster, web()):
            account = cluster.rest(cluster.token_of(ACCOUNT, NAMESPACE))
            with pytest.raises(RefusedError, match="restow may"):
                account.patch("Deployment", "web", {"spec": {"template": change}}, "default")

    def test_no_replica_with_it(self, cluster: ControlPlane) -> None:
        with spread_out(cluster, web()):
            account = cluster.rest(cluster.token_of(ACCOUNT, NAMESPACE))
            marked = {"metadata": {"annotations": {ANNOTATION: "x"}}}
            with pytest.raises(RefusedError, match="restow may change a template only"):
                account.patch("Deployment", "web", {"spec": {"replicas": 2, "template": marked}}, "default")
