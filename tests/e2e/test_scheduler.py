"""``restow scheduler`` beside kube-scheduler on a real control plane."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import Object
from docs.pages import ROOT
from e2e.control_plane import ControlPlane
from e2e.schedulers import PATIENCE, Scheduler
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, wait_for_ready
from restow.client.resources import EVENTS

pytestmark = pytest.mark.e2e

EXAMPLE = ROOT / "examples" / "schedulers" / "packing.yaml"
ALONE = "--leader-elect=false"


def condition(pod: Object) -> Object | None:
    """What is said of its scheduling."""
    found: list[Object] = [each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
    return found[0] if found else None


def waiting(plane: ControlPlane, app: str, namespace: str) -> Object:
    """The one pod of an app, once it is said why it waits."""

    def told() -> Object | None:
        pods = pods_of(plane.admin, app, namespace)
        return pods[0] if pods and (condition(pods[0]) or {}).get("status") == "False" else None

    found = wait_until(f"it is said why {app} waits", told, PATIENCE)
    assert found is not None
    return found


def test_pods_that_name_it_are_scheduled_and_told_why_not_in_kube_schedulers_words(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    plane.admin.create(deployment("ours", 6, namespace=namespace, spec={"schedulerName": "my-scheduler"}))
    plane.admin.create(deployment("large", 1, cpu="900", namespace=namespace, spec={"schedulerName": "my-scheduler"}))
    plane.admin.create(deployment("theirs", 1, cpu="900", namespace=namespace))

    with Scheduler(tmp_path, plane.kubeconfig, ALONE) as scheduler:
        wait_for_ready(plane.admin, "ours", 6, namespace, PATIENCE)
        ours, theirs = (condition(waiting(plane, app, namespace)) for app in ("large", "theirs"))
        assert ours is not None
        assert theirs is not None
        assert (ours["reason"], ours["message"]) == (theirs["reason"], theirs["message"])
        samples = scheduler.samples()
        shown = json.loads(scheduler.page("/configz")[1])["componentconfig"]
        assert scheduler.stop() == 0

    assert samples.total("scheduler_schedule_attempts_total", profile="my-scheduler", result="scheduled") == 6
    assert samples.total("scheduler_pending_pods", queue="unschedulable") == 1
    assert samples.total("scheduler_cache_size", type="nodes") == 5
    assert samples.total("scheduler_unschedulable_pods", plugin="NodeResourcesFit", profile="my-scheduler") == 1
    assert [each["schedulerName"] for each in shown["profiles"]] == ["my-scheduler"]
    events = plane.admin.call("GET", EVENTS.path(namespace))["items"]
    told = {
        (each["reason"], each["type"], each["action"])
        for each in events
        if each["reportingController"] == "my-scheduler"
    }
    assert told == {("Scheduled", "Normal", "Binding"), ("FailedScheduling", "Warning", "Scheduling")}


def test_profiles_of_a_file_pack_and_spread(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """One process serves two names, each by its own rules: those of the example."""
    with Scheduler(tmp_path, plane.kubeconfig, ALONE, f"--config={EXAMPLE}"):
        for name in ("packing", "spreading"):
            plane.admin.create(deployment(name, 4, namespace=namespace, spec={"schedulerName": name}))
            pods = wait_for_ready(plane.admin, name, 4, namespace, PATIENCE)
            nodes = {pod["spec"]["nodeName"] for pod in pods}
            assert len(nodes) == (1 if name == "packing" else 4)
