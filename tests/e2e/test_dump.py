"""The one kubectl command of help, hints and how-tos makes a file from which restow can prove moves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builders.policies import as_yaml, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.workloads import deployment, wait_for_ready
from restow.sources.kubectl import DUMP

pytestmark = pytest.mark.e2e


def test_what_kubectl_writes_is_one_file_that_tells_of_everything(own_plane: ControlPlane, tmp_path: Path) -> None:
    """Of a cluster without a single budget, which the file says; nothing is missed, and pods move."""
    if shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl on the path")
    own_plane.add_nodes(4)
    with own_plane.cordoned(["node-3", "node-4"]):
        own_plane.admin.create(deployment("web", 4))
        wait_for_ready(own_plane.admin, "web", 4)
    environment = os.environ | {"KUBECONFIG": str(own_plane.kubeconfig), "HOME": str(tmp_path)}
    dumped = subprocess.run(
        ["sh", "-c", DUMP], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=300
    )
    assert (dumped.returncode, dumped.stderr) == (0, "")
    (tmp_path / "policy.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates")))
    command = [
        sys.executable,
        "-c",
        "from restow.cli.main import main; main()",
        "plan",
        "-f",
        "cluster.json",
        "-o",
        "json",
    ]
    ran = subprocess.run(
        [*command, "--policy-config-file", "policy.yaml"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["summary"]["moves"] == 2
