"""docs/tutorials/load-aware.md, typed as a reader would: all of its commands, in their order, on a real cluster."""

from __future__ import annotations

import os
import re
import shutil
import socket
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
from e2e.shell import Shell, with_restow
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e

PAGE = ROOT / "docs" / "tutorials" / "load-aware.md"
#: On other ports, since other tests run on this machine.
_PORTS = ("9090", "9091", "9000")
#: Seconds until a program listens, on busy cores.
_PATIENCE = 120.0
_PORT = re.compile(r"127\.0\.0\.1:(\d+)")


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
    environment = with_restow(tmp_path / "bin")
    path = os.pathsep.join((environment["PATH"], str(programs)))
    yield environment | {"PATH": path, "KUBECONFIG": str(plane.kubeconfig)}
    plane.clear("default")


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
