"""``restow serve``: what it refuses before it listens, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "clusters" / "demo.json"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--bind-address", "0.0.0.0"), "listens on 127.0.0.1 or ::1 only"),
        (("--port", "70000"), "--port"),
        (("--every", "0"), "--every"),
        (("--policy-config-file", "none.yaml"), "none.yaml"),
        (("--context", "prod"), "-f names a dump and --context a live cluster"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_sentence(restow, arguments: tuple[str, ...], problem: str) -> None:
    ran = restow("serve", "-f", DEMO, *arguments)
    assert ran.status == 2
    assert problem in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_listens_and_ends_when_told_to(ending: signal.Signals) -> None:
    command = [
        sys.executable,
        "-c",
        "from restow.cli.main import main; main()",
        "serve",
        "-f",
        str(DEMO),
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"NO_COLOR": "1"}) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        found = re.match(r"(http://127\.0\.0\.1:\d+/) shows the cluster; Ctrl-C ends it", first)
        assert found, first
        with urllib.request.urlopen(found[1] + "healthz", timeout=10) as answer:
            assert answer.read() == b"ok"
        process.send_signal(ending)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""


def test_a_port_that_is_taken_is_said_in_a_sentence(restow) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = restow("serve", "-f", DEMO, "--port", str(taken.getsockname()[1]))
    assert ran.status != 0
    assert "--bind-address, --port" in ran.err
    assert "Traceback" not in ran.err
