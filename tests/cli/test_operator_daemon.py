"""kopf is an extra: whoever only wants to see what a resource comes to does without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from restow.errors import ClientError
from restow.operator import daemon
from restow.operator.facts import Installation

HERE = Path(daemon.__file__).parent
#: The files that kopf is needed for: what it does, and whoever starts it.
NEEDING = {"watches", "daemon"}
PURE = sorted(each.stem for each in HERE.glob("*.py") if each.stem not in {*NEEDING, "__init__"})
PROGRAM = """
import sys
sys.modules["kopf"] = None
import importlib
for name in sys.argv[1:]:
    importlib.import_module(f"restow.operator.{name}")
"""


def test_everything_else_is_imported_without_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *PURE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_says_what_to_install(restow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kopf", None)
    for name in NEEDING:
        monkeypatch.delitem(sys.modules, f"restow.operator.{name}", raising=False)
    ran = restow("operator", "--image", "x")
    assert ran.status == 2
    assert ran.err == "restow operator needs the package kopf; install it with: pip install 'restow[operator]'\n"


def test_an_image_has_to_be_named(restow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RELATED_IMAGE_OPERAND_IMAGE", raising=False)
    ran = restow("operator")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("--image is missing: ")


@pytest.mark.parametrize(
    ("environment", "arguments", "known"),
    [
        pytest.param({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, [], False, id="in a pod"),
        pytest.param(
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "EXPERIMENTAL_DISABLE_PSI_CHECK": "true"}, [], None, id="not asked"
        ),
        pytest.param(
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, ["--experimental-disable-psi-check"], None, id="nor by a flag"
        ),
        pytest.param({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBECONFIG": "f"}, [], None, id="of another cluster"),
        pytest.param({}, [], None, id="outside"),
        pytest.param({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, ["--kubeconfig", "f"], None, id="by a file"),
    ],
)
def test_psi_is_looked_up_on_the_node_of_the_pod(
    restow,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *,
    environment: dict[str, str],
    arguments: list[str],
    known: bool | None,
) -> None:
    seen: list[Installation] = []
    monkeypatch.setattr(
        "restow.cli.operating.run_operator", lambda installation, *_, **__: seen.append(installation) or 0
    )
    monkeypatch.setattr("restow.cli.operating.PRESSURE", tmp_path / "pressure")
    for name in ("KUBERNETES_SERVICE_HOST", "KUBECONFIG", "EXPERIMENTAL_DISABLE_PSI_CHECK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert restow("operator", "--image", "x", *arguments).status == 0
    assert seen.pop().has_pressure_metrics is known
    (tmp_path / "pressure").mkdir()
    assert restow("operator", "--image", "x", *arguments).status == 0
    assert seen.pop().has_pressure_metrics is (None if known is None else True)


def test_durations_of_the_lease_have_to_go_together(restow) -> None:
    ran = restow("operator", "--image", "x", "--leader-elect-lease-duration", "5s")
    assert (ran.status, ran.err) == (2, "leaseDuration must be greater than renewDeadline\n")


def test_without_a_cluster_there_is_a_sentence(restow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    ran = restow("operator", "--image", "x", "--secure-port", "0")
    assert ran.status == 2
    assert "no cluster: " in ran.err


def test_a_failure_is_told_under_its_own_name(restow, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise ClientError("the cluster is away")

    monkeypatch.setattr("restow.operator.daemon.operate", fail)
    ran = restow("operator", "--image", "x", "--secure-port", "0")
    assert (ran.status, ran.out) == (1, "")
    assert "restow operator failed" in ran.err
    assert "the cluster is away" in ran.err
    assert "descheduler server" not in ran.err
