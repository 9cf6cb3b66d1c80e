"""Nothing that a test starts survives it, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from e2e.child import Child
from e2e.waiting import wait_until

#: Starts a child, tells its process id, and is killed.
_PARENT = """
import os, signal, sys
from pathlib import Path
from e2e.child import Child
child = Child(["/bin/sleep", "60"], Path(sys.argv[1]))
child.start()
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills children with their parents")
def test_a_child_dies_with_a_killed_parent(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _PARENT, str(tmp_path / "log")]
    told = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False, timeout=300).stdout
    wait_until("the child is dead", lambda: not is_alive(int(told)), timeout=10)


def test_a_child_outlives_the_thread_that_asked_for_it(tmp_path: Path) -> None:
    child = Child(["/bin/sleep", "60"], tmp_path / "log")
    thread = threading.Thread(target=child.start)
    thread.start()
    thread.join()
    with pytest.raises(TimeoutError):
        wait_until("it dies", lambda: not is_alive(child.pid), timeout=0.3)
    child.kill()


def test_a_child_that_ends_early_says_why(tmp_path: Path) -> None:
    child = Child(["/bin/sh", "-c", "echo no such file; exit 3"], tmp_path / "log")
    child.start()
    wait_until("it is over", lambda: not is_alive_child(child))
    with pytest.raises(RuntimeError, match=r"sh ended with status 3:\nno such file"):
        child.check()


def is_alive(process: int) -> bool:
    """Whether it runs; one that is dead but not yet buried does not."""
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def is_alive_child(child: Child) -> bool:
    try:
        return bool(child.pid)
    except RuntimeError:
        return False
