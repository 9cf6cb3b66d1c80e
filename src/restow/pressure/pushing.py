"""Push a node's memory, as the kubelet measures it, to a Pushgateway for Prometheus and its rules.

A pushed figure stays until it is deleted. So a program that pushes in intervals deletes its figure at the end: a node
that is no longer measured has no sample, rather than an old one. Source: Pushgateway 1.11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol
from urllib.error import HTTPError, URLError

from prometheus_client import CollectorRegistry, Gauge, delete_from_gateway, push_to_gateway
from prometheus_client.exposition import basic_auth_handler

from restow.errors import InputError
from restow.kube.excerpts import excerpt

#: As the rules of dynamic schedulers ask for it.
METRIC: Final = "k8_node_cgroups_mem_available"
JOB: Final = "CollectK8sCgroupsMem"
#: Seconds that a request may take.
_REQUEST: Final = 10.0

_CGROUPS: Final = Path("/sys/fs/cgroup")
_MEMORY_FILE: Final = Path("/proc/meminfo")
_KIB: Final = 1024
_LONGEST: Final = 1 << 20


@dataclass(slots=True, frozen=True)
class Gateway:
    """A Pushgateway, and the labels of what is pushed to it."""

    #: Without user and password.
    url: str
    #: The node: its address or name.
    instance: str
    #: User and password.
    user: tuple[str, str] | None = None

    def push(self, available: int) -> None:
        """Replace the node's figure (bytes); ConnectionError with a sentence where that fails."""
        registry = CollectorRegistry()
        help_text = "Memory that the kubelet counts as available, in bytes."
        Gauge(METRIC, help_text, registry=registry).set(available)
        with self._trouble():
            push_to_gateway(self.url, JOB, registry, self._group(), _REQUEST, self._handler())

    def delete(self) -> None:
        """Delete the node's figure; ConnectionError with a sentence where that fails."""
        with self._trouble():
            delete_from_gateway(self.url, JOB, self._group(), _REQUEST, self._handler())

    def _group(self) -> dict[str, str]:
        return {"instance": self.instance}

    def _handler(self) -> Callable[..., Callable[[], None]]:
        user, password = self.user or (None, None)
        return partial(basic_auth_handler, username=user, password=password)

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        try:
            yield
        except HTTPError as error:
            raise ConnectionError(f"{self.url} answered {error.code}: {excerpt(error.reason)}") from error
        except URLError as error:
            raise ConnectionError(f"{self.url} cannot be reached: {excerpt(error.reason)}") from error
        except OSError as error:
            raise ConnectionError(f"{self.url} did not answer: {excerpt(error)}") from error


class Stopping(Protocol):
    """When to end; ``threading.Event`` is one."""

    def wait(self, timeout: float) -> bool:
        """Wait for ``timeout`` seconds at most; returns whether to end."""
        ...


# The kubelet evicts pods by ``memory.available``: the machine's memory minus the working set of the root cgroup, which
# is the used memory without file pages that were not accessed for a while. ``MemAvailable`` of the kernel is another
# figure. Under cgroup v1 the root reports what is used; under v2 it does not, and the sum of anonymous and file pages
# is used instead. If the node is a container itself, its root is an ordinary cgroup and does report it.
# Source: the kubelet's signal memory.available (Kubernetes 1.36); cAdvisor's working set; libcontainer's statistics of
# the root cgroup.
@dataclass(slots=True, frozen=True)
class NodeMemory:
    """The memory of a machine and its use, in bytes."""

    capacity: int
    usage: int
    inactive_file: int

    @property
    def working_set(self) -> int:
        """What is used and cannot be reclaimed at once."""
        return max(0, self.usage - self.inactive_file)

    @property
    def available(self) -> int:
        """``memory.available``; negative if a cgroup counts more than the machine has."""
        return self.capacity - self.working_set


def keep_pushing(
    gateway: Gateway,
    measured: Callable[[], int],
    seconds: float,
    stopping: Stopping,
    warn: Callable[[str], None],
) -> None:
    """Push what is measured, in intervals of ``seconds``, until stopped; then delete it.

    A problem is reported once when it begins and once when it ends.
    """
    trouble = ""
    while True:
        before, trouble = trouble, _pushed(gateway, measured)
        if trouble and trouble != before:
            warn(trouble)
        elif before and not trouble:
            warn(f"{gateway.url} has the figure of {gateway.instance} again")
        if stopping.wait(seconds):
            break
    try:
        gateway.delete()
    except ConnectionError as error:
        warn(f"the last figure of {gateway.instance} was not deleted: {error}")


def _pushed(gateway: Gateway, measured: Callable[[], int]) -> str:
    """Why nothing could be pushed; empty if it was."""
    try:
        gateway.push(measured())
    except (InputError, ConnectionError) as error:
        return str(error)
    return ""


def node_memory(cgroups: Path = _CGROUPS, memory_file: Path = _MEMORY_FILE) -> NodeMemory:
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
    stat, current = _Figures.of(root / "memory.stat"), root / "memory.current"
    if not current.exists():
        usage = stat["anon"] + stat["file"]
    elif any(each.is_dir() for each in root.iterdir()):
        usage = _amount(current)
    else:
        raise InputError(
            f"{root} is the cgroup of one container, not the node's: mount the host's /sys/fs/cgroup, and name its place "
            "with --cgroup-root"
        )
    return NodeMemory(capacity, usage, stat["inactive_file"])


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
