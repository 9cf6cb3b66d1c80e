"""What only a process of its own shows: signals, pipes, encodings, hash seeds, imports."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from builders.policies import an_old_policy, as_yaml
from cli.conftest import spawned
from restow.cli import main

FORMS = ["table", "wide", "json", "yaml", "html"]


def imported_by(arguments):
    """The modules that a command imports in a fresh process."""
    program = f"import sys; from restow.cli.main import run; run({arguments}); print(*sys.modules, file=sys.stderr)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    return set(ran.stderr.decode().split())


def output_of(arguments, **env):
    process = spawned(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_both_names_are_the_same_program_and_a_third_is_one_command_of_it():
    project = tomllib.loads((Path(main.__file__).parents[3] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {
        "restow": "restow.cli.main:main",
        "kubectl-restow": "restow.cli.main:main",
        "kubectl_complete-restow": "restow.cli.kubectl_completion:main",
        "restow-descheduler": "restow.cli.descheduler:main",
    }


def test_the_status_of_a_run_is_the_status_of_the_process(plan_arguments):
    assert output_of(plan_arguments)[0] == 0
    assert output_of(["plan"])[0] == 2


@pytest.mark.parametrize("form", FORMS)
def test_the_output_does_not_depend_on_hashes(plan_arguments, form):
    arguments = [*plan_arguments, "-o", form]
    assert output_of(arguments, PYTHONHASHSEED="1") == output_of(arguments, PYTHONHASHSEED="2")


@pytest.mark.parametrize("form", ["table", "json", "html"])
def test_any_encoding_of_the_terminal_will_do(plan_arguments, form):
    """Text for people is written as far as it goes, documents are UTF-8."""
    status, out, err = output_of([*plan_arguments, "-o", form], PYTHONIOENCODING="ascii")
    assert (status, err) == (0, b"")
    assert b"web-1" in out
    assert out.isascii() == (form != "html")


@pytest.mark.parametrize("arguments", [["plan"], ["generate"], ["--help"]], ids=" ".join)
def test_nobody_reads_the_output(plan_arguments, arguments):
    read, write = os.pipe()
    os.close(read)
    process = spawned(plan_arguments if arguments == ["plan"] else arguments, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 0


def test_ctrl_c_while_loading_ends_at_once(tmp_path):
    """The warning about the old policy comes before the cluster is read, which never ends here."""
    policy = tmp_path / "policy.yaml"
    policy.write_bytes(as_yaml(an_old_policy({"RemoveDuplicates": {"enabled": True}})))
    arguments = ["plan", "-f", "-", "--policy-config-file", policy]
    process = spawned(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert b"v1alpha1" in process.stderr.readline()

    process.send_signal(signal.SIGINT)

    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_on_a_terminal_long_work_shows_progress_and_ctrl_c_cleans_up():
    terminal, end = pty.openpty()
    process = spawned(["plan", "-f", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=end)
    os.close(end)
    seen = b""
    while b"reading the cluster" not in seen:
        seen += os.read(terminal, 1024)

    process.send_signal(signal.SIGINT)

    assert process.communicate(timeout=10)[0] == b""
    assert process.returncode == 130
    assert all_of(terminal).endswith(b"\x1b[?25h\r\n")


def all_of(terminal):
    seen = b""
    try:
        while part := os.read(terminal, 1024):
            seen += part
    except OSError:  # the other end is closed
        pass
    return seen


@pytest.mark.parametrize(
    ("arguments", "needless"),
    [
        (["--version"], ["numpy", "msgspec", "yaml"]),
        (["--help"], ["numpy", "msgspec", "yaml"]),
        (["plan", "--help"], ["numpy", "msgspec", "yaml"]),
        (["policy", "lint", "--help"], ["numpy", "msgspec", "yaml"]),
    ],
    ids=" ".join,
)
def test_what_is_quick_imports_little(arguments, needless):
    assert imported_by(arguments).isdisjoint(needless)


@pytest.mark.parametrize(("form", "needless"), [("json", ["rich"]), ("table", ["restow.reporting.html"])])
def test_a_plan_imports_only_its_own_form(plan_arguments, form, needless):
    assert imported_by([*plan_arguments, "-o", form]).isdisjoint(needless)


def test_a_plan_needs_nothing_that_runs_for_ever(plan_arguments):
    needless = ["aiohttp", "prometheus_client", "ssl", "opentelemetry", "restow.serving", "restow.daemon.connecting"]
    assert imported_by(plan_arguments).isdisjoint(needless)
