"""Computations in a copy of this process."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from restow.forked import forked, is_possible


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_the_copy_has_what_its_parent_has_and_hands_back_bytes() -> None:
    """More than a pipe holds."""
    given = bytes(range(256)) * 4_096
    with forked(lambda: given[::-1] + str(os.getppid()).encode()) as result:
        assert result() == given[::-1] + str(os.getpid()).encode()


def _fail() -> bytes:
    raise LookupError("no such node")


def _exit() -> bytes:
    raise SystemExit(0)


def _die() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


@pytest.mark.parametrize("compute", [_fail, _exit, _die])
def test_a_copy_that_fails_or_is_killed_has_no_result(compute) -> None:
    with forked(compute) as result:
        assert result() is None


def test_where_no_copy_can_be_made_there_is_no_result(monkeypatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    before = _open_files()
    with forked(lambda: b"") as result:
        assert result() is None
    assert _open_files() == before


def test_a_copy_that_nobody_waits_for_ends_with_the_block(monkeypatch) -> None:
    """Also where the parent fails meanwhile; no process and no open file is left."""
    fork, made = os.fork, []

    def noting() -> int:
        made.append(fork())
        return made[-1]

    def work() -> bytes:
        signal.pause()
        return b""

    monkeypatch.setattr(os, "fork", noting)
    before = _open_files()
    with pytest.raises(LookupError), forked(work):
        raise LookupError
    with pytest.raises(ChildProcessError):
        os.waitpid(made[0], os.WNOHANG)
    assert _open_files() == before


def test_beside_other_threads_no_copy_is_made() -> None:
    """They may have locked what the copy needs; this thread is one that the other one is beside."""
    found: list[bool] = []
    looking = threading.Thread(target=lambda: found.append(is_possible()))
    looking.start()
    looking.join()
    assert found == [False]
