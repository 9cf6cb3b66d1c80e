"""``restow plan`` and ``restow snapshot`` for contexts of a kubeconfig; one of them leads to a server that is not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from e2e.control_plane import ControlPlane
from e2e.ports import HOST, free_ports
from e2e.workloads import deployment, wait_for_ready

pytestmark = pytest.mark.e2e

_RESTOW = (sys.executable, "-c", "from restow.cli.main import main; main()")


def restow(*arguments: str) -> tuple[int, str, str]:
    """Exit status and outputs of a command."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*_RESTOW, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def kubeconfig(plane: ControlPlane, tmp_path: Path) -> Path:
    """prod-a and prod-b are the control plane, prod-c is nowhere, staging is not asked."""
    config = yaml.safe_load(plane.kubeconfig.read_text())
    (context,), (cluster,) = config["contexts"], config["clusters"]
    nowhere = {"name": "nowhere", "cluster": {"server": f"https://{HOST}:{free_ports(1)[0]}"}}
    config["clusters"] = [cluster, nowhere]
    there = dict.fromkeys(("prod-a", "prod-b", "staging"), context["context"])
    contexts = there | {"prod-c": context["context"] | {"cluster": "nowhere"}}
    config["contexts"] = [{"name": name, "context": value} for name, value in contexts.items()]
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    return file


def test_each_context_is_planned_and_one_that_does_not_answer_is_a_row(plane, namespace, kubeconfig, tmp_path):
    plane.admin.create(deployment("web", 3, namespace=namespace))
    wait_for_ready(plane.admin, "web", 3, namespace)
    pages = tmp_path / "pages"
    arguments = ("--contexts", "prod-*", "--kubeconfig", str(kubeconfig))
    status, out, _ = restow("plan", *arguments, "-o", "json", "--pages", str(pages))
    assert status == 1
    found = {each["name"]: each for each in json.loads(out)["clusters"]}
    assert list(found) == ["prod-a", "prod-b", "prod-c"]
    assert found["prod-a"]["nodes"] == found["prod-b"]["nodes"] == len(plane.admin.items("Node"))
    assert found["prod-a"]["pods"] >= 3
    assert "nowhere" not in found["prod-c"]["error"]
    assert found["prod-c"]["error"]
    plan = json.loads((pages / "prod-a.json").read_bytes())
    assert plan["metadata"]["cluster"]["apiServer"] in plane.kubeconfig.read_text()

    saved = tmp_path / "saved"
    status, _, err = restow("snapshot", *arguments, "-o", str(saved))
    assert status == 1
    assert sorted(each.name for each in saved.iterdir()) == ["prod-a.json.gz", "prod-b.json.gz"]
    assert "prod-c: " in err

    status, out, _ = restow("plan", "--snapshots", str(saved), "-o", "json")
    assert status == 0
    again = {each["name"]: each for each in json.loads(out)["clusters"]}
    assert {name: each["pods"] for name, each in again.items()} == {
        name: found[name]["pods"] for name in ("prod-a", "prod-b")
    }
