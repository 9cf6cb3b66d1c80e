"""``restow simulate --compare`` by a Job of the real control plane: the same bytes as by processes, whatever is lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from docs.pages import ROOT, files
from e2e.compared_runs import FUTURES, ended, killed_with_results, lines, started
from e2e.control_plane import ControlPlane
from e2e.engine_clusters import options
from e2e.fake_nodes import PROCESSES
from e2e.job_kubelet import JobKubelet
from e2e.rest import name_of
from e2e.waiting import wait_until
from restow.engines.job_objects import OF_JOB

pytestmark = pytest.mark.e2e

_PAGE = ROOT / "docs/how-to/simulate-on-many-machines.md"


@pytest.fixture(scope="module")
def kubelet(plane: ControlPlane) -> Iterator[JobKubelet]:
    with JobKubelet(plane) as kubelet:
        names = kubelet.add_nodes(2)
        yield kubelet
        for name in names:
            plane.admin.delete("Node", name)


@pytest.fixture
def engine(plane: ControlPlane, kubelet: JobKubelet, namespace: str, tmp_path: Path) -> tuple[str, ...]:
    """Options: pods for which only the kubelet's nodes fit, and no more rights than the how-to asks for."""
    role = yaml.safe_load(files(_PAGE.read_text(encoding="utf-8"))["role.yaml"])
    plane.admin.create(role | {"metadata": {"name": "simulations", "namespace": namespace}})
    token = plane.service_account("simulating", namespace)
    plane.admin.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "simulations", "namespace": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "simulations"},
            "subjects": [{"kind": "ServiceAccount", "name": "simulating", "namespace": namespace}],
        }
    )
    chosen = options(
        tmp_path,
        "kubernetes",
        image="registry.example.com/restow:0.1.0",
        namespace=namespace,
        kubeconfig=str(plane.kubeconfig_for(token, namespace)),
        cpu="100m",
        memory="128Mi",
        nodeSelector={PROCESSES: ""},
    )
    return (*chosen, "--workers", "2")


def left_over(plane: ControlPlane, namespace: str) -> list[str]:
    """Names of what a run has not taken away."""
    found = [*plane.admin.items("Job", namespace), *plane.admin.items("ConfigMap", namespace)]
    return [name_of(each) for each in found if name_of(each).startswith("restow-")]


def running_pods(plane: ControlPlane, namespace: str) -> list[str]:
    pods = plane.admin.items("Pod", namespace)
    return [
        name_of(each) for each in pods if each["status"]["phase"] == "Running" and OF_JOB in each["metadata"]["labels"]
    ]


def test_a_job_comes_to_the_same_bytes_and_leaves_nothing(plane, namespace, engine, expected):
    assert ended(started(*engine)) == (0, expected, "")
    wait_until("nothing is left", lambda: not left_over(plane, namespace), 60)


def test_a_pod_that_is_killed_or_evicted_loses_nothing(plane, kubelet, namespace, engine, expected):
    process = started(*engine)
    try:
        wait_until("a pod runs", lambda: running_pods(plane, namespace), 60)
        killed = running_pods(plane, namespace)[0]
        wait_until("it has a process", lambda: killed in kubelet.processes, 10)
        kubelet.processes[killed].kill()
        wait_until("another pod runs", lambda: set(running_pods(plane, namespace)) - {killed}, 60)
        evicted = next(each for each in running_pods(plane, namespace) if each != killed)
        plane.admin.call("DELETE", f"/api/v1/namespaces/{namespace}/pods/{evicted}", {"gracePeriodSeconds": 1})
        assert ended(process) == (0, expected, "")
    finally:
        process.kill()


def test_a_command_that_comes_back_counts_nothing_twice(plane, namespace, engine, expected, tmp_path):
    """It is killed when some results are there; the Job goes on, and the command takes up what it has made."""
    results = tmp_path / "results"
    kept = (*engine, "--results", str(results))
    killed_with_results(started(*kept), results)
    jobs = [name_of(each) for each in plane.admin.items("Job", namespace)]
    assert len(jobs) == 1
    assert ended(started(*kept, "--resume")) == (0, expected, "")
    assert lines(results) == FUTURES
    wait_until("nothing is left", lambda: not left_over(plane, namespace), 60)


def test_results_of_pods_that_are_gone_are_made_by_another_job(plane, namespace, engine, expected, tmp_path):
    """Of a Job that is complete, when nobody has looked: its pods went with their node."""
    kept = (*engine, "--results", str(tmp_path / "results"))
    process = started(*kept)

    def job(state: str) -> bool:
        found = plane.admin.items("Job", namespace)
        conditions = found[0].get("status", {}).get("conditions", ()) if found else ()
        return any((each["type"], each["status"]) == (state, "True") for each in conditions)

    wait_until("there are pods", lambda: plane.admin.items("Pod", namespace), 60)
    process.kill()
    process.communicate()
    wait_until("the Job is complete", lambda: job("Complete"), 120)
    plane.admin.call("DELETE", f"/api/v1/namespaces/{namespace}/pods", {"gracePeriodSeconds": 0})
    wait_until("its pods are gone", lambda: not plane.admin.items("Pod", namespace), 60)
    assert ended(started(*kept, "--resume")) == (0, expected, "")


def test_ctrl_c_takes_the_job_away(plane, namespace, engine):
    process = started(*engine)
    wait_until("a pod runs", lambda: running_pods(plane, namespace), 60)
    process.send_signal(signal.SIGINT)
    status, out, _ = ended(process)
    assert (status, out) == (130, "")
    wait_until("nothing is left", lambda: not left_over(plane, namespace), 60)


def test_an_image_that_is_not_there_ends_the_command_and_the_job(plane, namespace, engine):
    file = Path(engine[engine.index("--engine-config") + 1])
    file.write_text(file.read_text().replace("registry.example.com/", "missing.example.com/"))
    status, out, err = ended(started(*engine))
    assert (status, out) == (2, "")
    assert "cannot start: ImagePullBackOff: no such image" in err
    wait_until("nothing is left", lambda: not left_over(plane, namespace), 60)


def test_a_missing_right_is_named(plane, namespace, engine, tmp_path):
    plane.admin.patch("Role", "simulations", {"rules": []}, namespace)
    status, out, err = ended(started(*engine))
    assert (status, out) == (1, "")
    assert 'add the rule {apiGroups: ["batch"], resources: ["jobs"], verbs: [create]} to its' in err
