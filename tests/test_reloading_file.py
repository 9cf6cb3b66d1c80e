"""What is made of files is made again when they are others."""

from __future__ import annotations

from pathlib import Path

import pytest

from restow.errors import InputError
from restow.reloading_file import ReloadingFile


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
