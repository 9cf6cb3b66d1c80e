"""``restow record`` beside a real control plane, and what was recorded simulated: the same happens.

``RESTOW_E2E_RECORDED_SECONDS=3600`` records an hour.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e.control_plane import ControlPlane
from e2e.recorded_past import Stage
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e

_SECONDS = float(os.environ.get("RESTOW_E2E_RECORDED_SECONDS", "75"))
_SEED = int(os.environ.get("RESTOW_E2E_RECORDED_SEED", "1"))
_RESTOW = (sys.executable, "-c", "from restow.cli.main import main; main()")
_ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "100"}


@pytest.fixture(scope="module")
def recording(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A past that was recorded."""
    directory = tmp_path_factory.mktemp("past")
    with ControlPlane(tmp_path_factory.mktemp("plane")) as plane:
        stage = Stage(plane, random.Random(_SEED))
        stage.begin()
        command = [*_RESTOW, "record", "-o", str(directory / "recording"), f"--kubeconfig={plane.kubeconfig}"]
        with (directory / "log").open("w") as log:
            process = subprocess.Popen(command, env=_ENVIRONMENT, stderr=log)
            try:
                wait_until("it records", lambda: "Ctrl-C ends it" in (directory / "log").read_text(), 60)
                stage.play(_SECONDS)
            finally:
                process.send_signal(signal.SIGINT)
                status = process.wait(30)
    print((directory / "log").read_text(), stage.done, directory)
    assert status == 0, (directory / "log").read_text()
    return directory / "recording"


def simulated(recording: Path, *arguments: str) -> dict[str, Any]:
    command = [*_RESTOW, "simulate", "-f", str(recording), "-o", "json", *arguments]
    ran = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_the_same_happens_again(recording: Path) -> None:
    """As many pods come of each workload, as many are evicted, and pinned ones land on the same nodes."""
    past = simulated(recording)["past"]
    for each in past["workloads"]:
        assert each["recordedNewPods"] == each["simulatedNewPods"], each
