"""The control plane of these tests is a real one: it schedules, evicts, collects garbage, judges and survives."""

from __future__ import annotations

import time

import pytest

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.fake_metrics import FakeMetrics
from e2e.health import is_healthy
from e2e.rest import RefusedError
from e2e.waiting import wait_until
from e2e.workloads import (
    budget,
    daemon_set,
    deployment,
    is_ready,
    job,
    pods_of,
    replica_set,
    stateful_set,
    wait_for_ready,
)

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="class")
def nodes(own_plane: ControlPlane) -> list[str]:
    """Two nodes of a control plane of one's own: where all nodes are not ready, no pod is driven away."""
    return own_plane.add_nodes(2)


class TestWorkloads:
    def test_a_deployment_becomes_ready_on_all_nodes(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(deployment("web", 6, namespace=namespace))
        pods = wait_for_ready(plane.admin, "web", 6, namespace)
        assert {pod["metadata"]["ownerReferences"][0]["kind"] for pod in pods} == {"ReplicaSet"}
        assert len({pod["spec"]["nodeName"] for pod in pods}) > 1

    def test_what_it_made_goes_with_it(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(deployment("web", 3, namespace=namespace))
        wait_for_ready(plane.admin, "web", 3, namespace)
        plane.admin.delete("Deployment", "web", namespace)
        wait_until("all pods are gone", lambda: not plane.admin.items("Pod", namespace))

    def test_jobs_end_stateful_sets_and_daemon_sets_run(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(job("sum", 2, namespace=namespace))
        plane.admin.create(stateful_set("db", 3, namespace=namespace))
        plane.admin.create(daemon_set("log", namespace=namespace))
        names = [pod["metadata"]["name"] for pod in wait_for_ready(plane.admin, "db", 3, namespace)]
        assert names == ["db-0", "db-1", "db-2"]
        wait_for_ready(plane.admin, "log", len(plane.admin.items("Node")), namespace)
        done = wait_until("the job is done", lambda: _completed(plane, namespace))
        assert not any(is_ready(pod) for pod in done)

    def test_a_pod_of_another_scheduler_waits(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(replica_set("other", 1, namespace=namespace, spec={"schedulerName": "other"}))
        plane.admin.create(replica_set("ours", 1, namespace=namespace))
        wait_for_ready(plane.admin, "ours", 1, namespace)
        assert "nodeName" not in pods_of(plane.admin, "other", namespace)[0]["spec"]


class TestEvictions:
    def test_201_and_the_pod_is_replaced(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(deployment("web", 2, namespace=namespace))
        victim = wait_for_ready(plane.admin, "web", 2, namespace)[0]["metadata"]["name"]
        assert plane.admin.evict(victim, namespace).status == 201
        left = wait_until("it is gone", lambda: _without(plane, "web", namespace, victim))
        assert victim not in left
        wait_for_ready(plane.admin, "web", 2, namespace)

    def test_201_of_a_dry_run_and_the_pod_stays(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(deployment("web", 1, namespace=namespace))
        (pod,) = wait_for_ready(plane.admin, "web", 1, namespace)
        assert plane.admin.evict(pod["metadata"]["name"], namespace, dry_run=True).status == 201
        after = plane.admin.get("Pod", pod["metadata"]["name"], namespace)["metadata"]
        assert (after["uid"], "deletionTimestamp" in after) == (pod["metadata"]["uid"], False)

    def test_429_without_a_budget_left(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(deployment("web", 3, namespace=namespace))
        pods = wait_for_ready(plane.admin, "web", 3, namespace)
        plane.admin.create(budget("web", "web", namespace=namespace, min_available=3))
        _wait_for_budget(plane, "web", namespace)
        answer = plane.admin.evict(pods[0]["metadata"]["name"], namespace)
        (cause,) = answer.body["details"]["causes"]
        assert (answer.status, cause["reason"]) == (429, "DisruptionBudget")
        assert cause["message"] == "The disruption budget web needs 3 healthy pods and has 3 currently"

    def test_500_with_two_budgets_over_one_pod(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(deployment("web", 2, namespace=namespace))
        pods = wait_for_ready(plane.admin, "web", 2, namespace)
        for name in ("one", "two"):
            plane.admin.create(budget(name, "web", namespace=namespace, max_unavailable=1))
            _wait_for_budget(plane, name, namespace)
        assert plane.admin.evict(pods[0]["metadata"]["name"], namespace).status == 500

    def test_404_of_an_absent_pod_and_409_of_another_uid(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(deployment("web", 1, namespace=namespace))
        (pod,) = wait_for_ready(plane.admin, "web", 1, namespace)
        assert plane.admin.evict("absent", namespace).status == 404
        assert plane.admin.evict(pod["metadata"]["name"], namespace, uid="another").status == 409

    def test_the_audit_log_tells_who_evicted(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(deployment("web", 1, namespace=namespace))
        (pod,) = wait_for_ready(plane.admin, "web", 1, namespace)
        plane.audit.restart()
        plane.admin.evict(pod["metadata"]["name"], namespace)
        (call,) = plane.audit.calls("create", "pods", "eviction")
        told = (call.user.username, call.object_ref.name, call.object_ref.namespace, call.response_status.code)
        assert told == ("admin", pod["metadata"]["name"], namespace, 201)
        assert 0 < call.seconds < 10


class TestIdentities:
    def test_a_service_account_may_do_what_its_roles_say(self, plane: ControlPlane, namespace: str) -> None:
        reader = plane.rest(plane.service_account("reader", namespace, roles=("view",)))
        assert reader.items("Pod", namespace) == []
        with pytest.raises(RefusedError, match='cannot list resource "nodes"') as refused:
            reader.items("Node")
        assert refused.value.status == 403


class TestMetrics:
    def test_figures_come_through_the_api_server_and_go_again(self, plane: ControlPlane) -> None:
        path = "/apis/metrics.k8s.io/v1beta1/nodes"
        assert plane.admin.ask("GET", path).status == 404
        with FakeMetrics(plane) as metrics:
            metrics.nodes["node-1"] = {"cpu": "3500m", "memory": "1Gi"}
            metrics.pods["default", "web-1"] = {"cpu": "100m", "memory": "64Mi"}
            (node,) = plane.admin.call("GET", path)["items"]
            pod = plane.admin.call("GET", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/web-1")
        assert (node["metadata"]["name"], node["usage"]["cpu"]) == ("node-1", "3500m")
        assert pod["containers"][0]["usage"]["memory"] == "64Mi"
        wait_until("there are no metrics", lambda: plane.admin.ask("GET", path).status == 404)


class TestKnobs:
    """What the annotations of stages.yaml do."""

    def test_ready_after_a_while(self, plane: ControlPlane, namespace: str) -> None:
        slow = {"test/ready-delay": "2s"}
        plane.admin.create(deployment("slow", 1, namespace=namespace, annotations=slow))
        (pod,) = wait_until("it runs", lambda: _running(plane, "slow", namespace))
        assert not is_ready(pod)
        begin = time.monotonic()
        wait_for_ready(plane.admin, "slow", 1, namespace)
        assert time.monotonic() - begin > 1

    def test_terminating_for_a_while(self, plane: ControlPlane, namespace: str) -> None:
        lasting = {"test/delete-delay": "2s"}
        plane.admin.create(deployment("last", 1, namespace=namespace, annotations=lasting))
        (pod,) = wait_for_ready(plane.admin, "last", 1, namespace)
        name = pod["metadata"]["name"]
        assert plane.admin.evict(name, namespace).status == 201
        wait_until("the replacement runs", lambda: _running(plane, "last", namespace))
        assert "deletionTimestamp" in plane.admin.get("Pod", name, namespace)["metadata"]
        wait_until("it is gone", lambda: plane.admin.find("Pod", name, namespace) is None)

    def test_restarted_often(self, plane: ControlPlane, namespace: str) -> None:
        plane.admin.create(deployment("loop", 1, namespace=namespace, annotations={"test/restarts": "7"}))
        (pod,) = wait_for_ready(plane.admin, "loop", 1, namespace)
        assert [each["restartCount"] for each in pod["status"]["containerStatuses"]] == [7]

    def test_failed_for_a_reason(self, plane: ControlPlane, namespace: str) -> None:
        told = {"test/reason": "OOMKilled", "test/exit-code": "137"}
        failing = job("bad", 1, namespace=namespace, labels={"test/fails": ""}, annotations=told)
        failing["spec"]["backoffLimit"] = 0
        plane.admin.create(failing)
        (pod,) = wait_until("it has failed", lambda: _failed(plane, namespace))
        assert pod["status"]["reason"] == "OOMKilled"
        assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


class TestFaults:
    def test_a_node_is_not_ready_while_its_label_says_so(self, own_plane: ControlPlane, nodes: list[str]) -> None:
        own_plane.admin.patch("Node", nodes[0], {"metadata": {"labels": {"test/not-ready": ""}}})
        wait_until("it is tainted", lambda: _taints(own_plane, nodes[0]) == {"NoSchedule", "NoExecute"})
        own_plane.admin.patch("Node", nodes[0], {"metadata": {"labels": {"test/not-ready": None}}})
        own_plane.wait_for_nodes(nodes)

    def test_a_killed_api_server_comes_back_with_everything(self, own_plane: ControlPlane, nodes: list[str]) -> None:
        own_plane.admin.create(deployment("web", 2))
        before = wait_for_ready(own_plane.admin, "web", 2)
        own_plane.kill("kube-apiserver")
        with pytest.raises(OSError, match="refused"):
            own_plane.admin.items("Pod")
        own_plane.restart("kube-apiserver")
        after = wait_for_ready(own_plane.admin, "web", 2)
        assert uids(after) == uids(before)
        own_plane.admin.patch("Deployment", "web", {"spec": {"replicas": 4}}, part="scale")
        wait_for_ready(own_plane.admin, "web", 4)

    @pytest.mark.parametrize("component", ["etcd", "kube-controller-manager", "kube-scheduler", "kwok"])
    def test_a_program_is_restarted(self, own_plane: ControlPlane, nodes: list[str], component: str) -> None:
        """What has to be done in the meantime is done when it is back."""
        own_plane.kill(component)
        assert not is_healthy(own_plane.layout, component)
        own_plane.restart(component)
        own_plane.admin.create(deployment(component, 2))
        wait_for_ready(own_plane.admin, component, 2)

    def test_without_controllers_nothing_is_replaced(self, own_plane: ControlPlane, nodes: list[str]) -> None:
        own_plane.admin.create(deployment("lone", 2))
        pods = wait_for_ready(own_plane.admin, "lone", 2)
        own_plane.kill("kube-controller-manager")
        own_plane.admin.evict(pods[0]["metadata"]["name"])
        wait_until("one is left", lambda: len(pods_of(own_plane.admin, "lone")) == 1)
        own_plane.restart("kube-controller-manager")
        wait_for_ready(own_plane.admin, "lone", 2)


def uids(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


def _completed(plane: ControlPlane, namespace: str) -> list[Object]:
    pods = pods_of(plane.admin, "sum", namespace)
    return pods if len(pods) == 2 and all(pod["status"]["phase"] == "Succeeded" for pod in pods) else []


def _without(plane: ControlPlane, app: str, namespace: str, victim: str) -> list[str]:
    names = [pod["metadata"]["name"] for pod in plane.admin.items("Pod", namespace, labels=f"app={app}")]
    return [] if victim in names else names


def _running(plane: ControlPlane, app: str, namespace: str) -> list[Object]:
    return [pod for pod in pods_of(plane.admin, app, namespace) if pod["status"]["phase"] == "Running"]


def _failed(plane: ControlPlane, namespace: str) -> list[Object]:
    return [pod for pod in plane.admin.items("Pod", namespace) if pod["status"]["phase"] == "Failed"]


def _wait_for_budget(plane: ControlPlane, name: str, namespace: str) -> None:
    """Until its status has been worked out; before that every eviction is refused."""

    def observed() -> bool:
        found = plane.admin.get("PodDisruptionBudget", name, namespace)
        return bool(found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"])

    wait_until(f"the budget {name} is worked out", observed)


def _taints(plane: ControlPlane, node: str) -> set[str]:
    return {taint["effect"] for taint in plane.admin.get("Node", node)["spec"].get("taints", ())}
