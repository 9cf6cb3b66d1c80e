"""What is made of files is made again when they are others; small ones are read to a bound; bytes are files in memory."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import pytest

from restow import configuration_files
from restow.configuration_files import ReloadingFile, memory_file, read_small, read_small_file
from restow.errors import InputError


class Making:
    """The text of a file; ``bad`` is refused."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.times = 0

    def __call__(self) -> str:
        self.times += 1
        if (text := self.file.read_text()) == "bad":
            raise InputError("bad")
        return text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("one")
    return path


def test_it_is_made_once_as_long_as_the_file_stays(file: Path) -> None:
    making = Making(file)
    reloading = ReloadingFile([file], making)
    assert [reloading.current(), reloading.current()] == ["one", "one"]
    assert making.times == 1


def test_another_file_is_used_at_once(file: Path) -> None:
    reloading = ReloadingFile([file], Making(file))
    file.write_text("other")
    assert reloading.current() == "other"


def test_what_cannot_be_used_leaves_the_old_and_is_told_once_until_it_is_mended(file: Path) -> None:
    told: list[str] = []
    reloading = ReloadingFile([file], Making(file), told.append)
    file.write_text("bad")
    assert [reloading.current(), reloading.current(), reloading.trouble] == ["one", "one", "bad"]
    assert told == ["bad"]
    file.write_text("good")
    assert (reloading.current(), reloading.trouble) == ("good", "")


def test_a_file_that_is_gone_leaves_the_old(file: Path) -> None:
    told: list[str] = []
    reloading = ReloadingFile([file], Making(file), told.append)
    file.unlink()
    assert (reloading.current(), told) == ("one", [])


@pytest.mark.parametrize("text", ["bad", None])
def test_the_first_time_it_has_to_be_usable(file: Path, text: str | None) -> None:
    file.unlink() if text is None else file.write_text(text)
    with pytest.raises((InputError, FileNotFoundError)):
        ReloadingFile([file], Making(file))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_a_device_without_end_is_refused():
    with pytest.raises(InputError, match=r"^/dev/zero: larger than 10 MiB; this is not a policy"):
        read_small_file("/dev/zero")


def test_whatever_fits_is_read(monkeypatch):
    monkeypatch.setattr(configuration_files, "MOST_BYTES", 3)
    assert read_small(io.BytesIO(b"abc"), "x") == b"abc"
    with pytest.raises(InputError, match=r"^x: larger than"):
        read_small(io.BytesIO(b"abcd"), "x")


CONTENT = b"key" * 100_000


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def no_disk(*_arguments: object, **_options: object) -> None:
    raise FileNotFoundError(2, "No usable temporary directory found")


def test_no_disk_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration_files, "NamedTemporaryFile", no_disk)
    with memory_file(CONTENT) as path:
        assert Path(path).read_bytes() == CONTENT
        assert Path(path).read_bytes() == CONTENT
    assert not Path(path).exists()


@pytest.mark.parametrize("lacking", ["memfd_create", "/proc"])
def test_a_system_without_memory_files_has_one_on_disk_for_a_moment(
    monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    if lacking == "/proc":
        monkeypatch.setattr(configuration_files, "_path", lambda descriptor: f"/no-proc/{descriptor}")
    else:
        monkeypatch.delattr(os, lacking)
    before = open_files()
    with memory_file(CONTENT) as path:
        assert Path(path).read_bytes() == CONTENT
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert not Path(path).exists()
    assert open_files() == before


def test_a_system_that_has_neither_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration_files, "NamedTemporaryFile", no_disk)
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(OSError, match="No usable temporary directory"), memory_file(CONTENT):
        pass
