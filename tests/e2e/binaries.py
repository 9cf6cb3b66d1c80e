"""Where the programs of the control plane are."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The environment variable with a directory of ready binaries.
GIVEN = "RESTOW_E2E_BIN"
#: The control plane, and the Descheduler that restow is compared with.
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "descheduler")
#: Of tests about deploy/: what renders or judges manifests, and what scrapes or takes what is pushed. And kubectl, whose
#: reading of kubeconfigs is compared with restow's.
TOOLS = ("helm", "krew", "kubectl", "kustomize", "operator-verify", "prometheus", "promtool", "pushgateway")

#: The environment variable that has releases signed, by programs that take three minutes to build.
SIGNING = "RESTOW_E2E_SIGNING"
SIGNERS = ("cosign", "registry")


def binaries() -> Path:
    """The directory with all programs: RESTOW_E2E_BIN, or where build.py puts them.

    Raises FileNotFoundError with what to do where one is missing.
    """
    given = os.environ.get(GIVEN)
    directory = ROOT / (given or "build/e2e/bin")
    missing = [name for name in PROGRAMS if not os.access(directory / name, os.X_OK)]
    if missing:
        remedy = f"correct or unset {GIVEN}" if given else f"run `make e2e`, or set {GIVEN}"
        raise FileNotFoundError(f"{directory} has no {', '.join(missing)}: {remedy}")
    return directory


def tool(name: str) -> Path:
    """One of the ``TOOLS`` or ``SIGNERS``, beside the programs. Raises FileNotFoundError with what to do where it is missing."""
    path = binaries() / name
    if not os.access(path, os.X_OK):
        raise FileNotFoundError(f"{path} is missing: run `make e2e`")
    return path
