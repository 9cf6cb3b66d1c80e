"""One run of restow or of the Kubernetes Descheduler from start to end, and what the API server saw of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from builders.policies import Policy
from e2e.binaries import binaries
from e2e.control_plane import ControlPlane
from e2e.running import RESTOW, Descheduler

#: Client limits that hold nobody up; client-go's defaults allow five calls a second.
UNLIMITED = ("--client-connection-qps=1000", "--client-connection-burst=2000")

#: Both log it at the end of each cycle.
CYCLE_ENDS = "Number of evictions/requests"
_CREATED = 201
_REHEARSED = "Evicted pod in dry run mode"


def programs() -> Mapping[str, tuple[str, ...]]:
    """The command of each, by its name in tables."""
    return MappingProxyType({"Descheduler": (str(binaries() / "descheduler"),), "restow": RESTOW})


@dataclass(slots=True, frozen=True)
class Ran:
    """A run that has ended."""

    status: int
    #: Seconds from the start of the process to its end.
    wall: float
    #: Largest resident memory in bytes.
    peak: int
    #: The pods that the API server has evicted, ``namespace/name``, in order.
    evicted: tuple[str, ...]
    #: How often it answered an eviction with each status.
    answers: Counter[int]
    #: What the program says that it has evicted, or would have in a dry run, in order: (pod, strategy).
    told: tuple[tuple[str, str], ...]
    log: str

    @property
    def refusals(self) -> Counter[int]:
        """How often the API server refused an eviction, by status."""
        return Counter({status: times for status, times in self.answers.items() if status != _CREATED})


def run_once(
    plane: ControlPlane,
    program: str,
    policy: Policy,
    directory: Path,
    *,
    flags: Sequence[str] = (),
    limit: float = 120.0,
) -> Ran:
    """Runs a program of ``programs()`` once, until it ends by itself; TimeoutError after ``limit`` seconds."""
    plane.audit.restart()
    with a_descheduler(plane, program, policy, directory, flags) as descheduler:
        ended = descheduler.ended(limit)
    calls = plane.audit.calls("create", "pods", "eviction")
    return Ran(
        status=ended.status,
        wall=ended.wall,
        peak=ended.peak_rss,
        evicted=evicted(plane),
        answers=Counter(call.response_status.code for call in calls),
        told=tuple(_told(each) for each in descheduler.entries("Evicted pod") + descheduler.entries(_REHEARSED)),
        log=descheduler.log.read_text(errors="replace"),
    )


def a_descheduler(
    plane: ControlPlane,
    program: str,
    policy: Policy,
    directory: Path,
    flags: Sequence[str] = (),
    *,
    kubeconfig: Path | None = None,
) -> Descheduler:
    """A program of ``programs()`` with a new log in JSON, not yet started; an administrator unless its account is given."""
    made = Descheduler(
        directory,
        policy=policy,
        kubeconfig=kubeconfig or plane.kubeconfig,
        program=programs()[program],
        flags=["--v=3", "--logging-format=json", *UNLIMITED, *flags],
        name=program,
    )
    made.log.unlink(missing_ok=True)
    return made


def evicted(plane: ControlPlane) -> tuple[str, ...]:
    """The pods whose eviction the API server has granted since its audit log began, in order."""
    calls = plane.audit.calls("create", "pods", "eviction")
    return tuple(
        f"{call.object_ref.namespace}/{call.object_ref.name}" for call in calls if call.response_status.code == _CREATED
    )


def _told(entry: Mapping[str, Any]) -> tuple[str, str]:
    pod = entry["pod"]
    name = pod if isinstance(pod, str) else f"{pod['namespace']}/{pod['name']}"
    return name, str(entry.get("strategy", ""))
