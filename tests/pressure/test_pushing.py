"""Pushing again and again, with the gateway and the measurement given; the real gateway is asked in tests/e2e."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from restow.errors import InputError
from restow.pressure.pushing import Gateway, NodeMemory, keep_pushing, node_memory

TROUBLE = ConnectionError("http://gateway cannot be reached: no route to host")

KIB, MIB = 2**10, 2**20
MEMINFO = """MemTotal:       16265616 kB
MemFree:         1201312 kB
MemAvailable:   11034492 kB
HugePages_Total:       0
"""
CAPACITY = 16265616 * KIB


@dataclass(frozen=True)
class Written(Gateway):
    """Keeps what is pushed; fails where it is told to."""

    url: str = "http://gateway"
    instance: str = "n1"
    failing: set[int] = field(default_factory=set)
    said: list[object] = field(default_factory=list)

    def push(self, available: int) -> None:
        self._say(available)

    def delete(self) -> None:
        self._say("deleted")

    def _say(self, what: object) -> None:
        self.said.append(what)
        if len(self.said) in self.failing:
            raise TROUBLE


@dataclass
class After:
    """Stops after so many waits."""

    waits: int
    waited: list[float] = field(default_factory=list)

    def wait(self, timeout: float) -> bool:
        self.waited.append(timeout)
        return len(self.waited) >= self.waits


def kept(gateway: Gateway, pushes: int, measured: Callable[[], int] = lambda: 7) -> list[str]:
    """What is told of so many pushes."""
    warnings: list[str] = []
    stopping = After(pushes)
    keep_pushing(gateway, measured, 30.0, stopping, warnings.append)
    assert stopping.waited == [30.0] * pushes
    return warnings


def test_the_figure_is_pushed_at_each_turn_and_deleted_at_the_end() -> None:
    gateway = Written()
    assert kept(gateway, 3) == []
    assert gateway.said == [7, 7, 7, "deleted"]


def test_trouble_is_told_once_and_so_is_its_end() -> None:
    gateway = Written(failing={2, 3})
    assert kept(gateway, 4) == [str(TROUBLE), "http://gateway has the figure of n1 again"]


def test_what_cannot_be_measured_is_not_pushed_and_may_pass() -> None:
    figures = iter([7, InputError("memory.stat has no line anon"), 8])

    def measured() -> int:
        figure = next(figures)
        if isinstance(figure, Exception):
            raise figure
        return figure

    gateway = Written()
    told = kept(gateway, 3, measured)
    assert told == ["memory.stat has no line anon", "http://gateway has the figure of n1 again"]
    assert gateway.said == [7, 8, "deleted"]


def test_a_figure_that_stays_behind_is_told() -> None:
    assert kept(Written(failing={2}), 1) == [f"the last figure of n1 was not deleted: {TROUBLE}"]


@pytest.mark.parametrize("user", [None, ("who", "secret")])
def test_nobody_there_is_a_sentence_without_the_password(user: tuple[str, str] | None) -> None:
    with pytest.raises(ConnectionError, match=r"^http://127.0.0.1:1 cannot be reached: ") as raised:
        Gateway("http://127.0.0.1:1", "n1", user).push(1)
    assert "secret" not in str(raised.value)


@pytest.fixture
def meminfo(tmp_path: Path) -> Path:
    file = tmp_path / "meminfo"
    file.write_text(MEMINFO)
    return file


@pytest.fixture
def cgroups(tmp_path: Path) -> Path:
    root = tmp_path / "cgroup"
    root.mkdir()
    return root


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_in_bytes", "@").replace("_", ".").replace("@", "_in_bytes")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def first_version(root: Path, usage: object = 12_582_912_000) -> None:
    """As on a node of Kubernetes 1.24 with systemd 245."""
    statistics = f"""cache 9663676416
rss 2147483648
inactive_file 4096
total_cache 9663676416
total_inactive_file {5 * 2**30}
total_active_file 1073741824
"""
    write(root, memory__memory_usage_in_bytes=f"{usage}\n", memory__memory_stat=statistics)


def second_version(root: Path) -> None:
    """As on a node of Kubernetes 1.36 with systemd 255: the root has no memory.current."""
    statistics = f"""anon {3 * 2**30}
file {7 * 2**30}
kernel 512000000
inactive_anon 1024
active_anon 2048
inactive_file {4 * 2**30}
active_file {3 * 2**30}
"""
    write(root, memory_stat=statistics, kubepods_slice__memory_current="1\n", cgroup_controllers="cpu memory\n")


def test_version_1_counts_what_the_root_uses_without_its_inactive_file_pages(cgroups: Path, meminfo: Path) -> None:
    first_version(cgroups)
    memory = node_memory(cgroups, meminfo)
    assert memory == NodeMemory(CAPACITY, 12_582_912_000, 5 * 2**30)
    assert memory.available == CAPACITY - (12_582_912_000 - 5 * 2**30)


def test_version_2_counts_anonymous_and_file_pages_of_the_root(cgroups: Path, meminfo: Path) -> None:
    second_version(cgroups)
    memory = node_memory(cgroups, meminfo)
    assert memory == NodeMemory(CAPACITY, 10 * 2**30, 4 * 2**30)
    assert memory.available == CAPACITY - 6 * 2**30


def test_a_node_that_is_a_container_itself_says_what_it_uses(cgroups: Path, meminfo: Path) -> None:
    """kind: below the root of the node there are the cgroups of its pods."""
    second_version(cgroups)
    write(cgroups, memory_current=f"{11 * 2**30}\n")
    assert node_memory(cgroups, meminfo).usage == 11 * 2**30


def test_the_cgroup_of_one_container_is_not_the_nodes(cgroups: Path, meminfo: Path) -> None:
    write(cgroups, memory_stat="anon 1\nfile 1\ninactive_file 1\n", memory_current="2\n")
    with pytest.raises(InputError, match="is the cgroup of one container, not the node's: mount the host's"):
        node_memory(cgroups, meminfo)


def test_the_working_set_is_never_negative(cgroups: Path, meminfo: Path) -> None:
    first_version(cgroups, usage=MIB)
    memory = node_memory(cgroups, meminfo)
    assert (memory.working_set, memory.available) == (0, CAPACITY)


@pytest.mark.parametrize(
    ("breaks", "sentence"),
    [
        (lambda root: None, "has neither memory.stat .cgroup v2. nor the directory memory .v1.: mount the host's"),
        (lambda root: write(root, memory_stat="anon 1\nfile 1\n"), "memory.stat has no line inactive_file"),
        (lambda root: write(root, memory_stat="anon\nfile x\n"), "memory.stat has no line anon"),
        (lambda root: first_version(root, usage="-5"), 'memory.usage_in_bytes: "-5" is not a number of bytes'),
        (lambda root: first_version(root, usage="9" * 5000), 'memory.usage_in_bytes: "9{40}" is not a number of bytes'),
        (lambda root: (root / "memory").mkdir(), "memory.usage_in_bytes cannot be read: No such file"),
    ],
)
def test_what_cannot_be_read_is_named(cgroups: Path, meminfo: Path, breaks, sentence: str) -> None:
    breaks(cgroups)
    with pytest.raises(InputError, match=sentence):
        node_memory(cgroups, meminfo)


def test_without_meminfo_there_is_no_capacity(cgroups: Path, tmp_path: Path) -> None:
    first_version(cgroups)
    with pytest.raises(InputError, match="meminfo cannot be read: No such file"):
        node_memory(cgroups, tmp_path / "meminfo")
