"""Bytes as a file: in memory, or on a disk where it must be, readable by nobody else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from restow import memory_files
from restow.memory_files import memory_file

CONTENT = b"key" * 100_000


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def no_disk(*_arguments: object, **_options: object) -> None:
    raise FileNotFoundError(2, "No usable temporary directory found")


def test_no_disk_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_files, "NamedTemporaryFile", no_disk)
    with memory_file(CONTENT) as path:
        assert Path(path).read_bytes() == CONTENT
        assert Path(path).read_bytes() == CONTENT
    assert not Path(path).exists()


@pytest.mark.parametrize("lacking", ["memfd_create", "/proc"])
def test_a_system_without_memory_files_has_one_on_disk_for_a_moment(
    monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    if lacking == "/proc":
        monkeypatch.setattr(memory_files, "_path", lambda descriptor: f"/no-proc/{descriptor}")
    else:
        monkeypatch.delattr(os, lacking)
    before = open_files()
    with memory_file(CONTENT) as path:
        assert Path(path).read_bytes() == CONTENT
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert not Path(path).exists()
    assert open_files() == before


def test_a_system_that_has_neither_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_files, "NamedTemporaryFile", no_disk)
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(OSError, match="No usable temporary directory"), memory_file(CONTENT):
        pass
