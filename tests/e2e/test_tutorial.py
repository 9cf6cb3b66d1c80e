"""docs/tutorials/load-aware.md, typed as a reader would: all of its commands, in their order, on a real cluster."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from docs.console import examples
from docs.pages import ROOT, blocks, files
from e2e.binaries import tool
from e2e.child import Child
from e2e.control_plane import ControlPlane
from e2e.ports import HOST, free_ports
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e

PAGE = ROOT / "docs" / "tutorials" / "load-aware.md"
#: On other ports, since other tests run on this machine.
_PORTS = ("9090", "9091", "9000")
#: Seconds until a program listens, on busy cores.
_PATIENCE = 120.0
_PORT = re.compile(r"127\.0\.0\.1:(\d+)")
_END = "-- end of a command --"


@pytest.fixture
def reader(plane: ControlPlane, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of somebody who has what the page asks for."""
    try:
        programs = tool("prometheus").parent
        tool("pushgateway")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    if not (shutil.which("kubectl") and shutil.which("curl")):
        pytest.skip("kubectl and curl are not installed")
    restow = tmp_path / "bin" / "restow"
    restow.parent.mkdir()
    restow.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from restow.cli.main import main; main()' \"$@\"\n")
    restow.chmod(0o755)
    path = os.pathsep.join((str(restow.parent), str(programs), os.environ["PATH"]))
    yield os.environ | {"PATH": path, "KUBECONFIG": str(plane.kubeconfig), "COLUMNS": "80"}
    plane.clear("default")


class Shell:
    """One bash in which all commands of a page are typed."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self._bash = subprocess.Popen(
            ["bash", "-u"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=directory,
            env=environment,
        )

    def typed(self, command: str) -> str:
        """What a command prints."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        # On a line of its own, also after an output without an end of line.
        self._bash.stdin.write(f"{command}\necho; echo {_END}\n")
        self._bash.stdin.flush()
        return "".join(iter(self._bash.stdout.readline, f"{_END}\n"))

    def end(self) -> None:
        self._bash.kill()
        self._bash.communicate()


def listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex((HOST, port)) == 0


def test_a_reader_labels_a_node_and_pods_avoid_it(reader: dict[str, str], tmp_path: Path) -> None:
    page = PAGE.read_text()
    for port, free in zip(_PORTS, map(str, free_ports(len(_PORTS))), strict=True):
        page = page.replace(f"127.0.0.1:{port}", f"127.0.0.1:{free}")
    for name, text in files(page).items():
        (tmp_path / name).write_text(text)
    said = ""
    with ExitStack() as ending:
        shell = Shell(tmp_path, reader)
        ending.callback(shell.end)
        for number, block in enumerate(each for each in blocks(page) if each.language == "console"):
            for command in (example.command for example in examples(block)):
                if block.mark == "terminal":
                    child = Child(
                        ["/bin/bash", "-c", f"cd {tmp_path} && exec {command}"],
                        tmp_path / f"terminal-{number}.log",
                        environment=reader,
                    )
                    child.start()
                    ending.callback(child.kill)
                    wait_until(f"{command} listens", partial(listens, int(_PORT.findall(command)[-1])), _PATIENCE)
                else:
                    said += shell.typed(command)

    assert "node-1  0.95        would get the label; over load" in said
    assert "nothing was written" in said.replace("\n", " ")
    assert '{"type": "presure", "num": 1, "node_names": ["node-1"]}' in said
    placed = said.partition("deployment.apps/web created")[2].partition("No resources found")[0]
    assert "node-2" in placed
    assert "node-1" not in placed
    assert "No resources found" in said
    assert 'deployment.apps "web" deleted' in said
