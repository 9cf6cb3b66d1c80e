"""``restow scheduler --profile random`` beside kube-scheduler on a real control plane."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.control_plane import ControlPlane
from e2e.schedulers import PATIENCE, Scheduler
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, wait_for_ready
from restow.client.resources import EVENTS

pytestmark = pytest.mark.e2e

#: All that it is allowed.
ROLES = ("system:kube-scheduler", "system:volume-scheduler")
RANDOM = ("--profile=random", "--scheduler-name=lottery", "--seed=1")


@pytest.fixture
def kubeconfig(plane: ControlPlane, namespace: str) -> Path:
    """With the rights of kube-scheduler, and no more than those of its own lease."""
    return plane.kubeconfig_for(plane.service_account("lottery", namespace, roles=ROLES), f"lottery-{namespace}")


def test_it_binds_the_pods_that_name_it_and_no_others(
    plane: ControlPlane, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    """Three schedulers: ours, kube-scheduler, and one that is not there."""
    plane.admin.create(deployment("ours", 12, namespace=namespace, spec={"schedulerName": "lottery"}))
    plane.admin.create(deployment("theirs", 3, namespace=namespace))
    plane.admin.create(deployment("nobodys", 2, namespace=namespace, spec={"schedulerName": "absent"}))

    with Scheduler(tmp_path, kubeconfig, *RANDOM, "--leader-elect=false") as scheduler:
        pods = wait_for_ready(plane.admin, "ours", 12, namespace, PATIENCE)
        wait_for_ready(plane.admin, "theirs", 3, namespace, PATIENCE)
        scheduler.wait_for_line("Successfully bound pod to node", times=12)
        attempts = scheduler.samples().total("scheduler_schedule_attempts_total", result="scheduled", profile="lottery")
        assert scheduler.stop() == 0

    assert attempts == 12
    assert len({pod["spec"]["nodeName"] for pod in pods}) > 1
    assert [pod["spec"].get("nodeName") for pod in pods_of(plane.admin, "nobodys", namespace)] == [None, None]
    user = f"system:serviceaccount:{namespace}:lottery"
    bound = plane.audit.calls("create", "pods", "binding", user=user)
    assert sorted(call.object_ref.name for call in bound) == [pod["metadata"]["name"] for pod in pods]
    events = plane.admin.call("GET", EVENTS.path(namespace))["items"]
    told = {each["regarding"]["name"]: each for each in events if each.get("reportingController") == "lottery"}
    assert {name: each["note"] for name, each in told.items()} == {
        pod["metadata"]["name"]: (
            f"Successfully assigned {namespace}/{pod['metadata']['name']} to {pod['spec']['nodeName']}"
        )
        for pod in pods
    }
    assert {(each["reason"], each["action"]) for each in told.values()} == {("Scheduled", "Binding")}


def test_one_of_two_replicas_schedules(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """The other one takes over once the first is gone."""
    election = (f"--leader-elect-resource-namespace={namespace}", "--leader-elect-lease-duration=4s")
    quick = (*RANDOM, *election, "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s")
    with (
        Scheduler(tmp_path, plane.kubeconfig, *quick, name="first") as first,
        Scheduler(tmp_path, plane.kubeconfig, *quick, name="second") as second,
    ):
        led = 'leader_election_master_status{name="my-scheduler"} 1'
        leader = wait_until(
            "one of them leads", lambda: [each for each in (first, second) if led in each.page("/metrics")[1]], PATIENCE
        )[0]
        other = second if leader is first else first
        plane.admin.create(deployment("ours", 2, namespace=namespace, spec={"schedulerName": "lottery"}))
        leader.wait_for_line("Successfully bound pod to node", times=2)
        leader.kill()
        plane.admin.patch("Deployment", "ours", {"spec": {"replicas": 4}}, namespace)
        other.wait_for_line("Successfully bound pod to node", times=2)

        assert len(other.lines("Successfully bound pod to node")) == 2
        wait_for_ready(plane.admin, "ours", 4, namespace, PATIENCE)
