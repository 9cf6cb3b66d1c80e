"""Carries out deploy/Containerfile without a container engine, and runs what it makes as a kubelet would.

Each step happens in a changed root: a layer over this machine's own files, which stand in for the base image. It needs
root, for mounts of its own, and a file system that overlays can be made of. What is shown is that the steps work and
what they make runs - not what the base image itself is like.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from e2e.binaries import ROOT

_PATH = f"{sys.base_prefix}/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"
#: What a step of the build may see of the environment: where packages come from.
_INDEX = re.compile(r"PIP_|SSL_CERT_|REQUESTS_CA|HTTPS?_PROXY|NO_PROXY|https?_proxy|no_proxy")
_MOUNTS = """
mount -t overlay overlay -o lowerdir=/,upperdir={layer}/upper,workdir={layer}/work {layer}/root
mount -t proc proc {layer}/root/proc
mount --rbind /dev {layer}/root/dev
"""


class Step(NamedTuple):
    """One line of a Containerfile."""

    word: str
    rest: str


def stages(file: Path) -> list[list[Step]]:
    """The steps of each stage, without what comes before the first."""
    text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found: list[list[Step]] = []
    for line in filter(None, text.splitlines()):
        step = Step(*line.split(maxsplit=1))
        if step.word == "FROM":
            found.append([])
        elif found:
            found[-1].append(step)
    return found


@dataclass(slots=True)
class Layer:
    """What a stage has changed, below a directory of its own. Raises OSError where layers cannot be made."""

    directory: Path
    environment: dict[str, str] = field(default_factory=dict)
    #: Where relative paths begin.
    place: str = "/"
    user: str = "0:0"
    entry_point: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("upper", "work", "root"):
            (self.directory / name).mkdir(parents=True)
        python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
        parents = shlex.join(map(str, python.parents))
        # The interpreter of this machine as that of the base image, for everybody; it finds its library from its own place.
        done = self.run(["sh", "-c", f"chmod a+rx {parents} && ln -sf {python.name} {python.parent}/python"])
        if done.returncode:
            raise OSError(f"no layer over this machine can be made: {done.stderr}")

    def take(self, step: Step, earlier: Sequence[Layer]) -> None:
        """Carries out one step. Raises RuntimeError with what it said if it failed."""
        match step.word:
            case "WORKDIR":
                self.place = step.rest
            case "ENV":
                self.environment |= dict(each.split("=", 1) for each in step.rest.split())
            case "USER":
                self.user = step.rest
            case "ENTRYPOINT":
                self.entry_point = tuple(re.findall(r'"([^"]+)"', step.rest))
            case "COPY":
                self._copy(step.rest.split(), earlier)
            case "RUN":
                kept = {name: value for name, value in os.environ.items() if _INDEX.match(name)}
                done = self.run(["sh", "-ec", step.rest], environment=kept | {"HOME": "/root"})
                if done.returncode:
                    raise RuntimeError(f"{step.rest}: {done.stdout}{done.stderr}")

    def put(self, path: str, text: str) -> None:
        """A file that everybody may read."""
        target = self._path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def run(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command as root, which may change everything."""
        return self._enter(["chroot", f"{self.directory}/root", *self._at_place(command)], environment or {})

    def start(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end as its user, without any capability, on a read-only root."""
        uid, gid = self.user.split(":")
        dropped = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--clear-groups"]
        confined = ["setpriv", f"--reuid={uid}", f"--regid={gid}", *dropped, *command]
        chroot = ["chroot", f"{self.directory}/root", *confined]
        script = f"mount -o remount,ro {self.directory}/root && exec {shlex.join(chroot)}"
        return self._enter(["sh", "-c", script], self.environment | dict(environment or {}))

    def _enter(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        script = f"set -e{_MOUNTS.format(layer=self.directory)}exec {shlex.join(command)}"
        given = {"PATH": _PATH} | dict(environment)
        entered = ["unshare", "--mount", "sh", "-c", script]
        return subprocess.run(entered, env=given, capture_output=True, text=True, check=False, timeout=1800)

    def _at_place(self, command: Sequence[str]) -> list[str]:
        return ["sh", "-c", f"cd {self.place} && exec {shlex.join(command)}"]

    def _copy(self, words: list[str], earlier: Sequence[Layer]) -> None:
        *names, target = words
        source = ROOT
        if names[0].startswith("--from="):
            source = earlier[0].directory / "upper"
            names = [name.lstrip("/") for name in names[1:]]
        for name in names:
            found = source / name
            if found.is_dir():
                ignored = shutil.ignore_patterns("__pycache__") if source == ROOT else None
                shutil.copytree(found, self._path(target), symlinks=True, ignore=ignored, dirs_exist_ok=True)
            else:
                self._path(target).mkdir(parents=True, exist_ok=True)
                shutil.copy2(found, self._path(target))

    def _path(self, path: str) -> Path:
        return (
            self.directory / "upper" / os.path.normpath(f"{self.place}/{path}" if path[0] != "/" else path).lstrip("/")
        )


def built(file: Path, directory: Path) -> Layer:
    """What the last stage makes. Raises OSError where this machine cannot, RuntimeError where a step fails."""
    layers: list[Layer] = []
    for number, steps in enumerate(stages(file)):
        layer = Layer(directory / f"stage-{number}")
        for step in steps:
            layer.take(step, layers)
        layers.append(layer)
    return layers[-1]
