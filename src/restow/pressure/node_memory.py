"""How much memory a node has left, by the kubelet's own reckoning.

The kubelet evicts pods by ``memory.available``: the machine's memory less the working set of the root cgroup, which is what
is used without the file pages that nobody has touched for a while. ``MemAvailable`` of the kernel is another figure. Under
cgroup v1 the root says what is used; under v2 it does not, and the sum of anonymous and file pages stands in for it. Where
the node is a container itself, its root is a cgroup like any other and does say so. Source: the kubelet's signal memory.available (Kubernetes 1.36); cAdvisor's working set; libcontainer's statistics of the
root cgroup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from restow.errors import InputError

CGROUPS: Final = Path("/sys/fs/cgroup")
MEMORY_FILE: Final = Path("/proc/meminfo")
_KIB: Final = 1024
_LONGEST: Final = 1 << 20


@dataclass(slots=True, frozen=True)
class NodeMemory:
    """What a machine's memory is used for, in bytes."""

    capacity: int
    usage: int
    inactive_file: int

    @property
    def working_set(self) -> int:
        """What is used and cannot be had back at once."""
        return max(0, self.usage - self.inactive_file)

    @property
    def available(self) -> int:
        """``memory.available``; less than nothing where a cgroup counts more than the machine has."""
        return self.capacity - self.working_set


def node_memory(cgroups: Path = CGROUPS, memory_file: Path = MEMORY_FILE) -> NodeMemory:
    """The memory of the machine whose cgroups are mounted there, of version 1 or 2; ``memory_file`` is its meminfo.

    InputError names the file that is missing or lacks a figure.
    """
    capacity = _Figures.of(memory_file)["MemTotal"] * _KIB
    if (cgroups / "memory.stat").exists():
        return _second_version(capacity, cgroups)
    if (cgroups / "memory").is_dir():
        return _first_version(capacity, cgroups / "memory")
    raise InputError(
        f"{cgroups} has neither memory.stat (cgroup v2) nor the directory memory (v1): "
        "mount the host's /sys/fs/cgroup there, or name its place with --cgroup-root"
    )


def _first_version(capacity: int, root: Path) -> NodeMemory:
    usage = _amount(root / "memory.usage_in_bytes")
    return NodeMemory(capacity, usage, _Figures.of(root / "memory.stat")["total_inactive_file"])


def _second_version(capacity: int, root: Path) -> NodeMemory:
    told, current = _Figures.of(root / "memory.stat"), root / "memory.current"
    if not current.exists():
        usage = told["anon"] + told["file"]
    elif any(each.is_dir() for each in root.iterdir()):
        usage = _amount(current)
    else:
        raise InputError(
            f"{root} is the cgroup of one container, not the node's: mount the host's /sys/fs/cgroup, and name its place "
            "with --cgroup-root"
        )
    return NodeMemory(capacity, usage, told["inactive_file"])


@dataclass(slots=True, frozen=True)
class _Figures:
    """A file of names and figures, as it was at one moment: ``anon 4096`` and ``MemTotal:  16 kB`` alike."""

    file: Path
    figures: Mapping[str, str]

    @staticmethod
    def of(file: Path) -> _Figures:
        fields = (line.split() for line in _text(file).splitlines())
        return _Figures(file, {found[0].removesuffix(":"): found[1] for found in fields if len(found) > 1})

    def __getitem__(self, name: str) -> int:
        if name not in self.figures:
            raise InputError(f"{self.file} has no line {name}")
        return _number(self.file, self.figures[name])


def _amount(file: Path) -> int:
    """The one figure of a file."""
    return _number(file, _text(file).strip())


def _number(file: Path, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise InputError(f'{file}: "{text[:40]}" is not a number of bytes')
    return int(text)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_LONGEST).decode(errors="replace")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
