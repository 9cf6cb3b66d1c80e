"""``restow snapshot -o``: only a regular file, or none, is replaced; everything else is written to."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from cli.conftest import spawned

FULL = Path("/dev/full")


@pytest.fixture
def snapshot(restow, cluster):
    return lambda output: restow("snapshot", "-f", cluster, "-o", output)


def items(text):
    return len(json.loads(text)["items"])


@pytest.mark.skipif(not FULL.exists(), reason="no such device here")
def test_a_device_is_written_to_and_stays_a_device(snapshot):
    ran = snapshot(FULL)
    assert (ran.status, ran.err) == (1, "restow failed: -o /dev/full: No space left on device\n")
    assert stat.S_ISCHR(FULL.stat().st_mode)
    ran = snapshot("/dev/null")
    assert (ran.status, ran.err.count("\n")) == (0, 1)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to_and_stays_a_pipe(snapshot, tmp_path):
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    assert snapshot("pipe").status == 0
    reader.join()
    assert items(heard[0]) == 10
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no such device here")
def test_standard_output_has_a_name(cluster):
    process = spawned(["snapshot", "-f", cluster, "-o", "/dev/stdout"], stdout=subprocess.PIPE)
    out, _ = process.communicate()
    assert (process.returncode, items(out)) == (0, 10)


@pytest.mark.parametrize("there", [True, False], ids=["file", "nothing"])
def test_a_link_is_written_through(snapshot, tmp_path, there):
    target, link = tmp_path / "elsewhere" / "real.json", tmp_path / "link.json"
    target.parent.mkdir()
    if there:
        target.write_text("before")
    link.symlink_to("elsewhere/real.json")
    assert snapshot("link.json").status == 0
    assert link.is_symlink()
    assert items(target.read_text()) == 10


def test_a_file_is_replaced_and_keeps_its_mode(snapshot, tmp_path):
    file = tmp_path / "old.json"
    file.write_text("before")
    file.chmod(0o640)
    before = file.stat()
    assert snapshot("old.json").status == 0
    assert items(file.read_text()) == 10
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert file.stat().st_ino != before.st_ino


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        pytest.param(lambda path: path.touch(mode=0o444), "the file is read-only", id="read-only"),
        pytest.param(lambda path: path.mkdir(), "is a directory; name a file in it", id="directory"),
        pytest.param(lambda path: path.symlink_to(path), "Too many levels of symbolic links", id="circle"),
        pytest.param(lambda path: path.symlink_to("nowhere/x"), "No such file or directory", id="link-to-nowhere"),
    ],
)
def test_what_may_not_be_written_is_refused_before_the_cluster_is_read(restow, tmp_path, make, sentence):
    make(tmp_path / "out")
    ran = restow("snapshot", "-f", "missing.json", "-o", "out")
    assert ran.status == 2
    assert ran.err.startswith(f"-o out: {sentence}")
    assert ran.err.count("\n") == 1
