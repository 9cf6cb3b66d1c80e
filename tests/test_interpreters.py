"""Which interpreters CI tests on: of those that answer, the oldest and the newest that pyproject.toml names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from docs.pages import ROOT

FINDER = ROOT / ".ci" / "interpreters"
NEEDED = ("bash", "dirname", "head", "sed", "uniq")

pytestmark = pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason="CI needs a shell")


@pytest.fixture
def machine(tmp_path):
    """Interpreters of a machine; those whose answer is None are shims that fail."""

    def found(on_path, elsewhere=()):
        (tmp_path / "bin").mkdir()
        for tool in NEEDED:
            (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
        for name, answer in on_path.items():
            install(tmp_path / "bin" / name, answer)
        for version in elsewhere:
            install(tmp_path / ".pyenv" / "versions" / version / "bin" / "python", f"/pyenv/{version}")
        environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
        return subprocess.run(["bash", FINDER], env=environment, capture_output=True, text=True, check=False)

    return found


def install(path: Path, answer: str | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {answer}\n" if answer else "#!/bin/sh\necho not installed >&2\nexit 127\n")
    path.chmod(0o755)


def test_the_oldest_and_the_newest(machine):
    ran = machine({"python3.11": "/a", "python3.12": "/b", "python3.13": "/c"})
    assert ran.stdout.splitlines() == ["3.11 /a", "3.13 /c"]


def test_one_interpreter_is_told_once(machine):
    assert machine({"python3.12": "/b"}).stdout == "3.12 /b\n"


def test_a_shim_that_does_not_answer_is_passed_over_for_the_interpreter_behind_it(machine):
    ran = machine({"python3.11": "/a", "python3.12": None, "python3.13": None}, elsewhere=["3.12.1"])
    assert ran.stdout.splitlines() == ["3.11 /a", "3.12 /pyenv/3.12.1"]


def test_versions_that_are_not_supported_are_none(machine):
    ran = machine({"python3.10": "/old", "python3.99": "/new"})
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "3.11 3.12 3.13" in ran.stderr
