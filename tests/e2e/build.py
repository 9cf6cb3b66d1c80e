"""Builds the real control plane for the end-to-end tests, and the Descheduler to compare with, below build/e2e/bin.

    PYTHONPATH=tests python -m e2e.build

Sources come from the Go module proxy, in the versions of the go.mod files below controlplane/, for the Descheduler that
of the oracle. What is there and made of the same sources is left alone; the first build takes minutes. RESTOW_E2E_BIN
names a directory of ready binaries instead; with RESTOW_E2E_SIGNING=1 what signs a release is built, too.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from e2e.binaries import GIVEN, PROGRAMS, ROOT, SIGNERS, SIGNING, TOOLS, binaries
from oracle.build import COMPILING, go_on_the_path, installed_go

TESTS = Path(__file__).resolve().parents[1]
BINARIES = ROOT / "build" / "e2e" / "bin"
_VERSION = "k8s.io/component-base/version"
_PACKAGING = "e2e/controlplane/packaging"


@dataclass(slots=True, frozen=True)
class Program:
    """One binary: its package, in a module of the tests, and the module that its version is that of."""

    name: str
    #: Its directory below tests/.
    module: str
    package: str
    versioned: str
    #: Build tags, for parts that are left out.
    tags: str = ""

    @property
    def version(self) -> str:
        """As go.mod requires it: ``v1.36.1``. Raises LookupError where it does not."""
        text = (TESTS / self.module / "go.mod").read_text()
        found = re.search(rf"^\s*(?:require )?{re.escape(self.versioned)} (v\S+)$", text, re.MULTILINE)
        if found is None:
            raise LookupError(f"{self.module}/go.mod requires no {self.versioned}")
        return found[1]

    @property
    def linking(self) -> str:
        """The linker's flags; Kubernetes programs are told their version, which they would not know otherwise."""
        if self.versioned != "k8s.io/kubernetes":
            return "-s -w"
        major, minor = self.version.removeprefix("v").split(".")[:2]
        told = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor}
        return " ".join(["-s -w", *(f"-X {_VERSION}.{name}={value}" for name, value in told.items())])

    @property
    def fingerprint(self) -> str:
        """Changes with everything that the binary is made of."""
        sources = [(TESTS / self.module / name).read_bytes() for name in ("go.mod", "go.sum")]
        options = [text.encode() for text in (self.package, self.linking, self.tags) if text]
        return hashlib.sha256(b"\0".join([*sources, *options])).hexdigest()


def programs() -> Iterator[Program]:
    """In the order of building."""
    yield Program("etcd", "e2e/controlplane/simulation", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3")
    yield Program("kwok", "e2e/controlplane/simulation", "sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok")
    descheduler = "sigs.k8s.io/descheduler"
    yield Program("descheduler", "oracle/descheduler", f"{descheduler}/cmd/descheduler", descheduler)
    yield Program("kustomize", _PACKAGING, "sigs.k8s.io/kustomize/kustomize/v5", "sigs.k8s.io/kustomize/kustomize/v5")
    yield Program("helm", _PACKAGING, "helm.sh/helm/v4/cmd/helm", "helm.sh/helm/v4")
    yield Program("krew", "e2e/controlplane/krew", "sigs.k8s.io/krew/cmd/krew", "sigs.k8s.io/krew")
    if os.environ.get(SIGNING):
        cosign, distribution = "github.com/sigstore/cosign/v2", "github.com/distribution/distribution/v3"
        yield Program("cosign", "e2e/controlplane/signing", f"{cosign}/cmd/cosign", cosign)
        yield Program("registry", "e2e/controlplane/signing", f"{distribution}/cmd/registry", distribution)
    olm = "github.com/operator-framework/api"
    yield Program("operator-verify", "e2e/controlplane/bundling", f"{olm}/cmd/operator-verify", olm)
    prometheus = "github.com/prometheus/prometheus"
    for name in ("promtool", "prometheus"):
        # Without the clouds that it could discover targets in, which are most of it.
        yield Program(name, "e2e/controlplane/monitoring", f"{prometheus}/cmd/{name}", prometheus, "remove_all_sd")
    gateway = "github.com/prometheus/pushgateway"
    yield Program("pushgateway", "e2e/controlplane/pushing", gateway, gateway)
    for name in ("kubectl", "kube-scheduler", "kube-controller-manager", "kube-apiserver"):
        yield Program(name, "e2e/controlplane/kubernetes", f"k8s.io/kubernetes/cmd/{name}", "k8s.io/kubernetes")


def main() -> None:
    """Prints each step."""
    if os.environ.get(GIVEN):
        print(f"{GIVEN}: the control plane is in {binaries()}")
        return
    missing = [program for program in programs() if not _is_current(program)]
    if missing:
        go = go_on_the_path() or installed_go()
        BINARIES.mkdir(parents=True, exist_ok=True)
        for number, program in enumerate(missing, 1):
            _build(go, program, f"[{number}/{len(missing)}]")
    print(f"{BINARIES.relative_to(ROOT)}: {', '.join(f'{program.name} {program.version}' for program in programs())}")


def _is_current(program: Program) -> bool:
    stamp = _stamp(program)
    return (BINARIES / program.name).exists() and stamp.exists() and stamp.read_text() == program.fingerprint


def _build(go: str, program: Program, progress: str) -> None:
    binary = BINARIES / program.name
    command = [
        go,
        "build",
        "-trimpath",
        "-tags",
        program.tags,
        "-ldflags",
        program.linking,
        "-o",
        str(binary),
        program.package,
    ]
    source = TESTS / program.module
    print(f"{progress} {program.name} {program.version}: in {source.relative_to(ROOT)}, {program.package}", flush=True)
    begin = time.monotonic()
    _stamp(program).unlink(missing_ok=True)
    subprocess.run(command, cwd=source, env=os.environ | COMPILING, check=True)
    _stamp(program).write_text(program.fingerprint)
    size = binary.stat().st_size >> 20
    print(f"{progress} {program.name} is built: {time.monotonic() - begin:.0f} s, {size} MiB", flush=True)


def _stamp(program: Program) -> Path:
    return BINARIES / f".{program.name}.made-of"


if __name__ == "__main__":
    try:
        assert {program.name for program in programs()} - {*SIGNERS} == {*PROGRAMS, *TOOLS}
        main()
    except FileNotFoundError as missing:
        sys.exit(f"build.py: {missing}")
    except subprocess.CalledProcessError as failed:
        sys.exit(f"build.py: {' '.join(map(str, failed.cmd))} failed with status {failed.returncode}")
