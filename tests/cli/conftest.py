"""The command line, in this process and in another one, and a small cluster to run it on."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from builders import NOW, Owner, a_list, a_node, a_pdb, a_pod, a_service
from builders.metadata import Object
from builders.policies import as_yaml, strategy_policy
from restow.cli.main import run

#: What the installed scripts do.
COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()")


class Ran(NamedTuple):
    """How a command ended, and what it wrote."""

    status: int
    out: str
    err: str


@pytest.fixture
def restow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Ran]:
    """Runs one command in an empty folder of its own; ``stdin`` is what is piped in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    # No cluster but those that a test names.
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)

    def ran(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        status = run([str(each) for each in arguments])
        return Ran(status, *capsys.readouterr())

    return ran


def spawned(arguments: Sequence[str], **options: object) -> subprocess.Popen[bytes]:
    """The command in a process of its own, with this process's import path."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "80"}
    environment |= options.pop("env", {})  # type: ignore[arg-type]
    return subprocess.Popen([*COMMAND, *map(str, arguments)], env=environment, **options)  # type: ignore[call-overload,no-any-return]


#: One object of each kind that could concern pods without volumes, and concerns none of them.
TOLD: tuple[Object, ...] = (
    a_pdb("none", namespace="nowhere", selector={}),
    a_service("none", namespace="nowhere", selector={"no": "pod"}),
    {"kind": "ReplicaSet", "metadata": {"name": "none", "namespace": "nowhere"}},
    {"kind": "StatefulSet", "metadata": {"name": "none", "namespace": "nowhere"}},
)


def two_of_three_on_one_node() -> list[Object]:
    """Three nodes and three replicas, two of them on n1: RemoveDuplicates moves one to n3."""
    owner = Owner("ReplicaSet", "web")
    pods = [a_pod(f"web-{at}", node=node, owner=owner, cpu="100m") for at, node in enumerate(["n1", "n1", "n2"])]
    return [*(a_node(name) for name in ("n1", "n2", "n3")), *pods, *TOLD]


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A dump of the cluster."""
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(a_list(*two_of_three_on_one_node())))
    return path


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy that evicts one pod of it."""
    path = tmp_path / "policy.yaml"
    path.write_bytes(as_yaml(strategy_policy("RemoveDuplicates")))
    return path


@pytest.fixture
def plan_arguments(cluster: Path, policy: Path) -> list[str]:
    """``restow plan`` for the two files, at a fixed time."""
    return ["plan", "-f", str(cluster), "--policy-config-file", str(policy), "--now", NOW]


@pytest.fixture
def one_to_be_emptied(tmp_path: Path) -> list[str]:
    """Arguments: n1 has two small pods that fit on n2, where the scheduler would not put them."""
    pods = [
        *(a_pod(f"p{at}", node="n1", owner=("ReplicaSet", f"rs-{at}"), cpu="100m") for at in range(2)),
        a_pod("filler", node="n2", owner=("DaemonSet", "filler"), cpu="2"),
    ]
    path, policy = tmp_path / "fragmented.json", tmp_path / "pack.yaml"
    path.write_text(json.dumps(a_list(a_node("n1", cpu="4"), a_node("n2", cpu="4"), *pods, *TOLD)))
    policy.write_bytes(as_yaml(strategy_policy("HighNodeUtilization", {"thresholds": {"cpu": 30}})))
    return ["-f", str(path), "--policy-config-file", str(policy), "--now", NOW]
