"""Clusters that both descheduler are run on, made once on a real control plane and kept below build/bench/live.

ReplicaSets with a disruption budget each, their pods spread evenly over the nodes, and some nodes tainted afterwards, so
that their pods have to go: which ones and how many is the same for everybody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from bench.live.idleness import wait_until_idle
from e2e.binaries import ROOT
from e2e.checkpoints import restore, save
from e2e.control_plane import ControlPlane
from e2e.placed import Placed, place
from e2e.waiting import wait_until
from e2e.workloads import budget, replica_set

CACHE = ROOT / "build" / "bench" / "live"
#: Nodes that the pods of a ReplicaSet are apart; no divisor of any number of nodes.
_STRIDE = 7
#: Nodes that are waited for together.
_BATCH = 100
#: ReplicaSets in a namespace.
_TOGETHER = 50
_TAINT = {"key": "example.com/leave", "effect": "NoSchedule"}


class Kept(Protocol):
    """A cluster that is made once."""

    @property
    def checkpoint(self) -> Path:
        """Where it is kept; another place for every other cluster."""
        ...

    def make(self, plane: ControlPlane) -> None:
        """Create it on a new control plane."""
        ...


@dataclass(slots=True, frozen=True)
class Cluster:
    """How large it is."""

    nodes: int
    workloads: int
    replicas: int
    #: Nodes, the last ones, that all pods have to leave.
    tainted: int

    @property
    def pods(self) -> int:
        """Of all workloads."""
        return self.workloads * self.replicas

    @property
    def checkpoint(self) -> Path:
        """Where it is kept."""
        made_of = hashlib.sha256(f"{self} {_STRIDE} {_TOGETHER} {_TAINT}".encode()).hexdigest()[:8]
        return CACHE / f"{self.pods}-{self.nodes}-{made_of}"

    def make(self, plane: ControlPlane) -> None:
        """Create it on a new control plane."""
        nodes = add_nodes(plane, self.nodes)
        for number in range(0, self.workloads, _TOGETHER):
            plane.namespace(_namespace(number))
        place(plane, [_placed(number, self.replicas, nodes) for number in range(self.workloads)])
        for name in nodes[len(nodes) - self.tainted :]:
            plane.admin.patch("Node", name, {"spec": {"taints": [_TAINT]}})
        names = [(f"app-{number}", _namespace(number)) for number in range(self.workloads)]
        plane.admin.create_all(
            [budget(name, name, namespace=namespace, max_unavailable=1) for name, namespace in names]
        )
        wait_until("the budgets are worked out", lambda: _are_worked_out(plane, self), 60 + self.workloads)

    def __str__(self) -> str:
        return f"{self.pods:,} pods on {self.nodes:,} nodes"


SMALL = Cluster(nodes=5, workloads=10, replicas=5, tainted=3)
MEDIUM = Cluster(nodes=300, workloads=1_000, replicas=10, tainted=84)
LARGE = Cluster(nodes=1_000, workloads=2_000, replicas=10, tainted=30)


@contextmanager
def control_plane() -> Iterator[ControlPlane]:
    """A new one; its directory goes with it."""
    with TemporaryDirectory(prefix="restow-bench-") as directory, ControlPlane(Path(directory)) as plane:
        yield plane


@contextmanager
def control_plane_for(cluster: Kept) -> Iterator[ControlPlane]:
    """One that can be ``reset`` to a cluster, which is made first if it never was; minutes for the larger ones."""
    if not cluster.checkpoint.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with control_plane() as plane:
            cluster.make(plane)
            save(plane, cluster.checkpoint)
    with control_plane() as plane:
        yield plane


def reset(plane: ControlPlane, cluster: Kept) -> None:
    """All is as if nothing had happened to the cluster yet, and nobody is busy."""
    restore(plane, cluster.checkpoint)
    wait_until_idle(plane)


def add_nodes(plane: ControlPlane, count: int) -> list[str]:
    """So many nodes with 16 processors, which are waited for batch by batch; their names."""
    batches = (min(_BATCH, count - made) for made in range(0, count, _BATCH))
    return [name for each in batches for name in plane.add_nodes(each, cpu="16", memory="64Gi")]


def _placed(number: int, replicas: int, nodes: list[str]) -> Placed:
    first = number * replicas
    where = [nodes[(first + at) * _STRIDE % len(nodes)] for at in range(replicas)]
    return Placed(replica_set(f"app-{number}", replicas, namespace=_namespace(number)), where)


def _namespace(number: int) -> str:
    return f"team-{number // _TOGETHER}"


def _are_worked_out(plane: ControlPlane, cluster: Cluster) -> bool:
    told = (each.get("status", {}) for each in plane.admin.items("PodDisruptionBudget"))
    return all(each.get("currentHealthy") == cluster.replicas and each.get("disruptionsAllowed") == 1 for each in told)
