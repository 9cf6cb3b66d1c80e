"""The descheduler that a test starts: what is heard of it, and how it ends. No control plane is needed."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from e2e.running import Descheduler
from e2e.waiting import wait_until

#: Says that it is there, and what its memory was; ends with 3 when it is asked to.
_PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
print(sys.argv[1:], flush=True)
print('{"msg": "Evicted pod", "v": 1}', flush=True)
needed = bytearray(80 << 20)
print("ready", flush=True)
time.sleep(60)
"""


def a_descheduler(directory: Path) -> Descheduler:
    (directory / "policy.yaml").touch()
    return Descheduler(directory, policy=directory / "policy.yaml", program=(sys.executable, "-c", _PROGRAM))


def test_its_lines_are_heard_as_they_come(tmp_path: Path) -> None:
    with a_descheduler(tmp_path) as program:
        assert "--policy-config-file" in program.wait_for_line("--secure-port")
        program.wait_for_line("ready")
        assert program.entries("Evicted pod") == [{"msg": "Evicted pod", "v": 1}]


def test_its_end_is_told_with_what_it_needed(tmp_path: Path) -> None:
    with a_descheduler(tmp_path) as program:
        program.wait_for_line("ready")
        program.send(signal.SIGTERM)
        ended = program.ended()
    assert ended.status == 3
    assert 80 << 20 < ended.peak_rss < 120 << 20


def test_waiting_for_a_line_ends_with_the_program(tmp_path: Path) -> None:
    with a_descheduler(tmp_path) as program:
        program.wait_for_line("ready")
        program.send(signal.SIGTERM)
        with pytest.raises(RuntimeError, match="ended with status 3:\n"):
            program.wait_for_line("never")


def test_nothing_of_it_is_left_after_the_block_and_it_can_start_again(tmp_path: Path) -> None:
    program = a_descheduler(tmp_path)
    for times in (1, 2):
        with program:
            program.wait_for_line("ready", times=times)
            process = Path(f"/proc/{program.pid}")
        assert not program.is_running
        wait_until("it is gone", lambda: not process.exists(), timeout=10)  # noqa: B023 - within the loop
