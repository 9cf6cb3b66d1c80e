"""``restow top`` of a real cluster, once and on a terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from e2e.control_plane import ControlPlane
from e2e.workloads import deployment, wait_for_ready

pytestmark = pytest.mark.e2e

COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()", "top")
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}


def test_it_shows_what_is_there_once(plane: ControlPlane, namespace: str) -> None:
    plane.admin.create(deployment("web", 3, namespace=namespace))
    wait_for_ready(plane.admin, "web", 3, namespace)
    command = [*COMMAND, f"--kubeconfig={plane.kubeconfig}"]
    ran = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=True)
    assert f"{len(plane.admin.items('Node'))} nodes, " in ran.stdout
    assert all(each["metadata"]["name"] in ran.stdout for each in plane.admin.items("Node"))


def test_on_a_terminal_it_looks_again_until_ctrl_c(plane: ControlPlane) -> None:
    terminal, end = pty.openpty()
    command = [*COMMAND, f"--kubeconfig={plane.kubeconfig}", "--every=1"]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdin=end, stdout=end, stderr=end, start_new_session=True)
    os.close(end)
    seen, deadline = b"", time.monotonic() + 60
    while seen.count(b"standard deviation") < 3:
        assert time.monotonic() < deadline, seen
        seen += os.read(terminal, 4096)
    os.killpg(process.pid, signal.SIGINT)
    left = b""
    try:
        while chunk := os.read(terminal, 4096):
            left += chunk
    except OSError:
        pass
    assert process.wait(30) == 0
    assert b"Traceback" not in seen + left
    # The terminal is as it was: the cursor is shown, and the other screen is left.
    assert b"\x1b[?1049l" in left
    assert b"\x1b[?25h" in left
