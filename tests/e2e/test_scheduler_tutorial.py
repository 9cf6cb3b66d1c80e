"""docs/tutorials/custom-scheduler.md, typed as a reader would: all of its commands, in their order, on a real cluster."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from docs.console import examples
from docs.pages import ROOT, blocks, files
from e2e.child import Child
from e2e.control_plane import ControlPlane
from e2e.ports import free_ports
from e2e.shell import Shell, with_restow

pytestmark = pytest.mark.e2e

PAGE = ROOT / "docs" / "tutorials" / "custom-scheduler.md"
#: On another port, since other tests run on this machine.
_PORT = "10269"


@pytest.fixture
def reader(plane: ControlPlane, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of somebody who has what the page asks for."""
    if not (shutil.which("kubectl") and shutil.which("curl")):
        pytest.skip("kubectl and curl are not installed")
    yield with_restow(tmp_path / "bin") | {"KUBECONFIG": str(plane.kubeconfig)}
    plane.clear("default")


def typed(shell: Shell, command: str, scheduler: Child | None) -> str:
    """What a command prints; a scheduler that has ended, or says why the command waits, is in the error."""
    if scheduler is None:
        return shell.typed(command)
    scheduler.check()
    try:
        return shell.typed(command)
    except RuntimeError as error:
        error.add_note(scheduler.tail())
        raise


def test_a_reader_runs_a_scheduler(reader: dict[str, str], tmp_path: Path) -> None:
    page = PAGE.read_text().replace(_PORT, str(free_ports(1)[0]))
    for name, text in files(page).items():
        (tmp_path / name).write_text(text)
    said = ""
    with ExitStack() as ending:
        shell = Shell(tmp_path, reader)
        ending.callback(shell.end)
        child: Child | None = None
        for number, block in enumerate(each for each in blocks(page) if each.language == "console"):
            if block.mark == "stopped" and child is not None:
                child.terminate()
                child = None
            for command in (example.command for example in examples(block)):
                if block.mark == "terminal":
                    log = tmp_path / f"terminal-{number}.log"
                    child = Child(["/bin/bash", "-c", f"cd {tmp_path} && exec {command}"], log, environment=reader)
                    child.start()
                    ending.callback(child.kill)
                else:
                    said += typed(shell, command, child)

    waiting, _, placed = said.partition('deployment "lottery" successfully rolled out')
    assert "6 <none>   Pending" in waiting
    drawn, _, decided = placed.partition("resource requirements updated")
    assert "node-" in drawn
    assert "my-scheduler   Successfully assigned default/lottery-" in drawn
    assert 'scheduler_schedule_attempts_total{result="scheduled",profile="my-scheduler"} 6' in drawn
    assert "0/5 nodes are available: 5 Insufficient cpu." in decided
    spread = decided.partition('deployment "lottery" successfully rolled out')[2]
    counts = [int(line.split()[0]) for line in spread.splitlines() if " node-" in line]
    assert sum(counts) == 6
    # What else runs there decides who gets more.
    assert max(counts) <= 3
    assert 'deployment.apps "lottery" deleted' in spread
