"""``restow record`` beside a real control plane, and what was recorded simulated: the same happens again.

The recorder is killed in the middle and started again, and the API server is started again while it records.
``RESTOW_E2E_RECORDED_SECONDS=3600`` records an hour, ``RESTOW_E2E_RECORDED_SEED`` another one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from builders.policies import a_config, a_policy, a_profile
from e2e.control_plane import ControlPlane
from e2e.recorded_past import Stage
from e2e.shipped import DEPLOY, kubeconfig_of_restow, kustomized, rights
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e

_SECONDS = float(os.environ.get("RESTOW_E2E_RECORDED_SECONDS", "60"))
_SEED = int(os.environ.get("RESTOW_E2E_RECORDED_SEED", "1"))
_RESTOW = (sys.executable, "-c", "from restow.cli.main import main; main()")
_ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "100"}
#: Seconds by which the same time may differ for each thing that happened: watches bring it a moment later.
_A_MOMENT = 1.0


@contextmanager
def recorder(plane: ControlPlane, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A recorder that has begun; it is to have ended afterwards."""
    log = directory / "log"
    kubeconfig = kubeconfig_of_restow(plane)
    command = [*_RESTOW, "record", "-o", str(directory / "recording"), f"--kubeconfig={kubeconfig}"]
    with log.open("w") as file:
        process = subprocess.Popen(command, env=_ENVIRONMENT, stderr=file)
        try:
            wait_until("it records", lambda: "Ctrl-C ends it" in log.read_text(), 60)
            yield process
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def past(built: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Stage]:
    """A recording, and what happened."""
    directory = tmp_path_factory.mktemp("past")
    with ControlPlane(tmp_path_factory.mktemp("plane")) as plane:
        stage = Stage(plane, random.Random(_SEED))
        stage.begin()
        plane.admin.create_all(rights(kustomized(DEPLOY / "kubernetes" / "recording")))
        with recorder(plane, directory) as process:
            stage.play(_SECONDS / 2)
            process.kill()
        refused = [line for line in (directory / "log").read_text().splitlines() if "is not recorded" in line]
        with recorder(plane, directory) as process:
            plane.restart("kube-apiserver")
            stage.play(_SECONDS / 2)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
    log = (directory / "log").read_text()
    print(log, stage.done, directory)
    assert "Traceback" not in log
    # The rights that are shipped are enough; there is no metrics server here.
    assert {line.split()[0] for line in refused} <= {"PodMetrics", "NodeMetrics"}, refused
    return directory / "recording", stage


def simulate(*arguments: str, status: int = 0) -> str:
    """What ``restow simulate`` writes."""
    command = [*_RESTOW, "simulate", *arguments]
    ran = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == status, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def compared(past: tuple[Path, Stage]) -> dict[str, Any]:
    """The past and its simulation."""
    recording, _ = past
    found: dict[str, Any] = json.loads(simulate("-f", str(recording), "-o", "json"))["past"]
    print(json.dumps(found, indent=1))
    return found


def test_of_each_workload_as_many_pods_come_and_are_there(compared: dict[str, Any], past: tuple[Path, Stage]) -> None:
    """What a drain finds on its node depends on what a scheduler has chosen among equal nodes: at most this differs."""
    drains = past[1].done.get("drain", 0)
    for each in compared["workloads"]:
        allowed = 0 if _has_no_choice(each) else drains
        assert abs(each["recordedNewPods"] - each["simulatedNewPods"]) <= allowed, each
        assert abs(each["recordedEvictions"] - each["simulatedEvictions"]) <= allowed, each
        if not each["workload"].startswith("job/"):
            assert each["recordedPods"] == each["simulatedPods"], each


def test_pods_that_can_be_on_one_node_only_land_there(compared: dict[str, Any]) -> None:
    found = [each for each in compared["workloads"] if _has_no_choice(each)]
    assert len(found) >= 3
    assert all(each["sameNode"] == each["recordedPods"] for each in found)


def _has_no_choice(workload: dict[str, Any]) -> bool:
    return "pinned" in workload["workload"] or workload["workload"].startswith("daemonset/")


def test_gaps_in_service_and_waiting_times_are_as_long(compared: dict[str, Any], past: tuple[Path, Stage]) -> None:
    allowed = _A_MOMENT * sum(past[1].done.values())
    numbers = {each["name"]: (each["recorded"], each["simulated"]) for each in compared["numbers"]}
    for name in ("belowSeconds", "pendingPodSeconds"):
        recorded, simulated = numbers[name]
        assert abs(recorded - simulated) <= allowed, (name, numbers)


def test_every_kind_of_event_was_recorded(compared: dict[str, Any], past: tuple[Path, Stage]) -> None:
    done = past[1].done
    events = compared["events"]
    assert events.get("evict", 0) >= done.get("evict", 0)
    assert events.get("drain", 0) <= done.get("drain", 0)
    for word, steps in (("scale", ("scale", "scale_state")), ("drain", ("drain",)), ("delete", ("recreate",))):
        assert bool(events.get(word)) or not any(done.get(step) for step in steps), (word, events, done)


def test_nothing_is_missing_although_recorder_and_api_server_were_away(compared: dict[str, Any]) -> None:
    """Shorter than a gap; what happened meanwhile is known afterwards."""
    assert not compared["gaps"]


def test_another_policy_acts_in_the_place_of_other_clients(past: tuple[Path, Stage], tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    config = a_policy(a_profile(a_config("RemoveDuplicates"), balance=["RemoveDuplicates"]))
    policy.write_text(json.dumps(config))
    found = json.loads(simulate("-f", str(past[0]), "--policy-config-file", str(policy), "-o", "json"))
    assert found["past"]["leftOut"] == found["past"]["events"].get("evict", 0)
    assert not [each for each in found["evictions"] if each["by"] == "another client"]


def test_a_moment_of_a_replay_can_be_planned(past: tuple[Path, Stage], tmp_path: Path) -> None:
    result = tmp_path / "run.json"
    result.write_text(simulate("-f", str(past[0]), "-o", "json"))
    then = simulate("--replay", str(result), "--at", "20s")
    assert json.loads(then)["kind"] == "List"
