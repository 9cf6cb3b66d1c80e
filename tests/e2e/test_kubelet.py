"""Pods as real processes: they serve, drain and go, and clients notice what happens to them."""

from __future__ import annotations

import http.client
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.kubelet import ProcessKubelet
from e2e.noticed_moves import Times, Workloads, a_mover, a_served_service, measure
from e2e.pod_network import PORT, host_of
from e2e.rest import name_of
from e2e.service_requests import ServiceRequests
from e2e.waiting import wait_until
from e2e.workloads import deployment, is_ready, wait_for_ready

pytestmark = pytest.mark.e2e

_QUICK = {"test/ready-delay": "300ms"}
_KWOK = "test/kwok"


@pytest.fixture(scope="module")
def plane(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Three nodes whose pods are processes, and one of kwok, which is tainted."""
    with ControlPlane(tmp_path_factory.mktemp("kubelet")) as plane:
        with ProcessKubelet(plane) as kubelet:
            kubelet.add_nodes(3)
        plane.add_nodes(1, labels={_KWOK: ""}, taints=[f"{_KWOK}=:NoSchedule"])
        yield plane


@pytest.fixture
def kubelet(plane: ControlPlane) -> Iterator[ProcessKubelet]:
    with ProcessKubelet(plane) as kubelet:
        yield kubelet


@pytest.fixture
def start(plane: ControlPlane, namespace: str) -> Callable[..., list[Object]]:
    """Creates a Deployment with these features in a namespace of this test, and returns its pods when they are ready."""

    def started(app: str, replicas: int = 1, **features: Any) -> list[Object]:
        plane.admin.create(deployment(app, replicas, namespace=namespace, annotations=_QUICK, **features))
        return wait_for_ready(plane.admin, app, replicas, namespace)

    return started


def asked(pod: Object, path: str = "/") -> http.client.HTTPResponse:
    """The answer of a pod, of which the body may be still to come."""
    connection = http.client.HTTPConnection(host_of(pod["status"]["podIP"]), PORT, timeout=30)
    connection.request("GET", path)
    return connection.getresponse()


def answers(pod: Object) -> bool:
    try:
        return asked(pod).status == 200
    except ConnectionRefusedError:
        return False


def running(plane: ControlPlane, namespace: str) -> list[Object]:
    return [each for each in plane.admin.items("Pod", namespace) if each["status"]["phase"] == "Running"]


def restarts(pod: Object) -> int:
    (container,) = pod["status"]["containerStatuses"]
    return int(container["restartCount"])


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


class TestPods:
    def test_a_pod_is_a_process_that_answers(self, kubelet: ProcessKubelet, start: Callable[..., list[Object]]) -> None:
        (pod,) = start("web")
        assert b"pod_program.py" in Path(f"/proc/{kubelet.pid_of(pod)}/cmdline").read_bytes()
        assert asked(pod).read() == b"ok\n"

    def test_a_pod_is_not_ready_before_it_answers(
        self, plane: ControlPlane, namespace: str, kubelet: ProcessKubelet
    ) -> None:
        plane.admin.create(deployment("web", 1, namespace=namespace, annotations={"test/ready-delay": "1h"}))
        (pod,) = wait_until("the pod is running", lambda: running(plane, namespace))
        assert not is_ready(pod)
        with pytest.raises(ConnectionRefusedError):
            asked(pod)

    def test_the_endpoint_slice_of_a_service_names_it(
        self, plane: ControlPlane, namespace: str, kubelet: ProcessKubelet, start: Callable[..., list[Object]]
    ) -> None:
        plane.admin.create(a_served_service("named", namespace))
        (pod,) = start("named")
        with ServiceRequests(plane, ["named"], rate=20, namespace=namespace) as requests:
            (endpoint,) = requests.ready()
            wait_until("requests are answered", lambda: len(requests.sent) >= 5)
        assert (endpoint.address, endpoint.port) == (pod["status"]["podIP"], PORT)
        assert {each.failure for each in requests.sent} == {""}

    def test_a_pod_that_has_ended_by_itself_is_started_again(
        self, plane: ControlPlane, namespace: str, kubelet: ProcessKubelet, start: Callable[..., list[Object]]
    ) -> None:
        (pod,) = start("web")
        os.kill(kubelet.pid_of(pod), signal.SIGKILL)
        wait_until("it is not ready", lambda: not is_ready(plane.admin.get("Pod", name_of(pod), namespace)))
        (again,) = wait_for_ready(plane.admin, "web", 1, namespace)
        assert restarts(again) == 1

    def test_kwok_plays_the_pods_of_other_nodes(
        self, kubelet: ProcessKubelet, start: Callable[..., list[Object]]
    ) -> None:
        (pod,) = start("played", tolerations=[f"{_KWOK}:NoSchedule"], node_selector={_KWOK: ""})
        with pytest.raises(KeyError):
            kubelet.pid_of(pod)

    def test_the_api_server_may_be_away_meanwhile(
        self, plane: ControlPlane, namespace: str, kubelet: ProcessKubelet, start: Callable[..., list[Object]]
    ) -> None:
        (pod,) = start("web")
        plane.kill("kube-apiserver")
        os.kill(kubelet.pid_of(pod), signal.SIGKILL)
        plane.restart("kube-apiserver")
        wait_until("the restart is written", lambda: restarts(plane.admin.get("Pod", name_of(pod), namespace)) == 1)
        pid = kubelet.pid_of(pod)
        plane.admin.delete("Pod", name_of(pod), namespace)
        wait_until("the process is gone", lambda: is_gone(pid))
        (new,) = wait_for_ready(plane.admin, "web", 1, namespace)
        assert asked(new).status == 200


class TestDeletion:
    def test_a_request_in_flight_is_answered(
        self, plane: ControlPlane, namespace: str, kubelet: ProcessKubelet, start: Callable[..., list[Object]]
    ) -> None:
        (pod,) = start("web")
        pid = kubelet.pid_of(pod)
        answer = asked(pod, "/?seconds=1")
        plane.admin.delete("Pod", name_of(pod), namespace)
        wait_until("it is not ready", lambda: not is_ready(plane.admin.get("Pod", name_of(pod), namespace)))
        with pytest.raises(ConnectionRefusedError):
            asked(pod)
        assert answer.read() == b"ok\n"
        wait_until("the pod is deleted", lambda: plane.admin.find("Pod", name_of(pod), namespace) is None)
        assert is_gone(pid)

    def test_a_process_has_no_more_than_the_grace_period(
        self, plane: ControlPlane, namespace: str, kubelet: ProcessKubelet, start: Callable[..., list[Object]]
    ) -> None:
        (pod,) = start("web", spec={"terminationGracePeriodSeconds": 1})
        answer = asked(pod, "/?seconds=60")
        plane.admin.delete("Pod", name_of(pod), namespace)
        wait_until("the pod is deleted", lambda: plane.admin.find("Pod", name_of(pod), namespace) is None)
        with pytest.raises(http.client.IncompleteRead):
            answer.read()

    def test_no_process_is_left_at_the_end(
        self, plane: ControlPlane, namespace: str, start: Callable[..., list[Object]]
    ) -> None:
        with ProcessKubelet(plane) as kubelet:
            pids = [kubelet.pid_of(each) for each in start("web", 3)]
            assert not any(map(is_gone, pids))
        assert all(map(is_gone, pids))

    def test_a_kubelet_takes_over_the_pods_of_one_before(
        self, plane: ControlPlane, namespace: str, start: Callable[..., list[Object]]
    ) -> None:
        with ProcessKubelet(plane):
            leaving, staying = start("web", 2)
        plane.admin.delete("Pod", name_of(leaving), namespace)
        with ProcessKubelet(plane):
            pods = wait_for_ready(plane.admin, "web", 2, namespace)
            assert name_of(staying) in map(name_of, pods)
            wait_until("both answer", lambda: all(map(answers, pods)))


class TestClients:
    @pytest.mark.parametrize(("replicas", "fail"), [(1, True), (2, False)])
    def test_an_eviction_is_noticed_if_there_is_no_other_replica(
        self, plane: ControlPlane, namespace: str, kubelet: ProcessKubelet, replicas: int, fail: bool
    ) -> None:
        """The pause before SIGTERM leaves time to take the endpoint away."""
        workloads = Workloads(replicas=replicas, ready_delay="1500ms", pre_stop=1)
        workloads.create(plane, namespace)
        with ServiceRequests(plane, workloads.names, rate=40, namespace=namespace) as requests:
            pod = plane.admin.items("Pod", namespace)[0]
            assert plane.admin.evict(name_of(pod), namespace).status == 201
            wait_until("the pod is deleted", lambda: plane.admin.find("Pod", name_of(pod), namespace) is None)
            wait_for_ready(plane.admin, "app-0", replicas, namespace)
            requests.wait_for_endpoints()
        assert any(each.failure for each in requests.sent) == fail
        assert bool(requests.gaps) == fail

    def test_moves_of_a_descheduler_are_measured(
        self, plane: ControlPlane, namespace: str, kubelet: ProcessKubelet, tmp_path: Path
    ) -> None:
        workloads = Workloads(ready_delay="1s", rate=20)
        mover = a_mover(plane, "restow", tmp_path)
        noticed = measure(plane, namespace, workloads, Times(quiet=1, rounds=1, window=1), mover)
        assert noticed.moves == len(noticed.gaps) == 1
        assert not any(each.failure for each in noticed.quiet)
        assert any(each.failure for each in noticed.moved)
