"""What is imported of the official package."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import restow.client.connection
assert not [name for name in sys.modules if name.startswith("kubernetes")], "imported without need"
from restow.client.official import config_modules
config_modules().kube_config.KubeConfigMerger
import restow.client.kubeconfig
assert "pydantic" not in sys.modules, "models"
assert not [name for name in sys.modules if "client.models" in name], "models"
import kubernetes
assert kubernetes.client.V1Pod, "the real package is still there"
"""


def test_configuration_alone_is_imported_and_only_when_it_is_needed() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
