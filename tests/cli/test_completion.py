"""``restow completion``: scripts that shells take, and what they complete."""

from __future__ import annotations

import shutil
import subprocess

import pytest

#: What a shell does with a file that it only checks.
CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


@pytest.mark.parametrize("shell", CHECKS)
def test_the_script_is_one_that_its_shell_takes(restow, tmp_path, shell):
    ran = restow("completion", shell)
    assert (ran.status, ran.err) == (0, "")
    assert all(command in ran.out for command in ("plan", "explain", "kubedescheduler", "steering"))
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    (tmp_path / "script").write_text(ran.out)
    subprocess.run([*CHECKS[shell], str(tmp_path / "script")], check=True)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["restow", "pl"], "plan"),
        (["restow", "plan", "--policy-c"], "--policy-config-file"),
        (["restow", "policy", "conv"], "convert"),
        (["restow", "explain", "nod"], "node"),
    ],
)
def test_bash_completes_commands_and_options(restow, tmp_path, typed, completed):
    (tmp_path / "script").write_text(restow("completion", "bash").out)
    words = " ".join(typed)
    asked = f"source ./script; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _restow; echo ${{COMPREPLY[@]}}"
    ran = subprocess.run(["bash", "-c", asked], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert ran.stdout.split() == [completed]


def test_another_shell_is_refused_with_those_that_there_are(restow):
    ran = restow("completion", "csh")
    assert ran.status == 2
    assert "bash" in ran.err
