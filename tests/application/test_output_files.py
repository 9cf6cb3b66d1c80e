"""Files that ``-o`` names are replaced as a whole, or not at all."""

from __future__ import annotations

import errno

import pytest

from restow.application.files import write_file
from restow.errors import InputError


def fill(stream):
    stream.write(b"new")


def fail(stream):
    stream.write(b"ne")
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_new_file_has_the_mode_of_new_files(tmp_path):
    write_file(str(tmp_path / "new"), fill)
    (tmp_path / "other").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_folder_that_is_not_there_is_no_file(tmp_path):
    with pytest.raises(InputError, match=r"nothing/: is a directory"):
        write_file(f"{tmp_path}/nothing/", fill)


def test_where_writing_fails_the_old_file_stays_and_nothing_is_left_behind(tmp_path):
    file = tmp_path / "old"
    file.write_text("before")
    with pytest.raises(OSError, match=r"-o .*old: No space left on device"):
        write_file(str(file), fail)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("old", "before")]
