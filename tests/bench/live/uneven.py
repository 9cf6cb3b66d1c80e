"""Clusters whose nodes are filled unevenly, made once and kept below build/bench/live.

All pods are alike, those of a ReplicaSet are on nodes chosen at random, always the same ones, and restow's account is there
with all that steering and fences need. No budgets: what limits a run is the run itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.live.clusters import CACHE, add_nodes
from e2e.control_plane import ControlPlane
from e2e.placed import Placed, place
from e2e.steered import install, shipped_for_fences
from e2e.workloads import replica_set

#: Thousandths of a processor: of a node, and what the pods of a full node request together.
NODE, _FULL = 16_000, 11_750
#: Percent: nodes below the first take pods, nodes above the second lose some. A full node is just below the second.
THIN, FULL = 30, 74
#: What of all nodes is thin in each cluster.
_COLD, _SPARSE = 0.4, 0.2
_REPLICAS = 10
#: ReplicaSets in a namespace.
_TOGETHER = 50


@dataclass(slots=True, frozen=True)
class Uneven:
    """How many pods are on each node, and how many of them fill a node."""

    counts: tuple[int, ...]
    pods_per_node: int

    @property
    def cpu(self) -> int:
        """What a pod requests, in thousandths of a processor."""
        return _FULL // self.pods_per_node

    @property
    def thin(self) -> frozenset[str]:
        """The nodes that are used by less than ``THIN`` percent."""
        return frozenset(
            f"node-{at}" for at, count in enumerate(self.counts, 1) if 100 * count * self.cpu < THIN * NODE
        )

    @property
    def checkpoint(self) -> Path:
        """Where it is kept."""
        made_of = hashlib.sha256(f"{self} {self.cpu} {_REPLICAS} {_TOGETHER}".encode()).hexdigest()[:8]
        return CACHE / f"uneven-{sum(self.counts)}-{len(self.counts)}-{made_of}"

    def make(self, plane: ControlPlane) -> None:
        """Create it on a new control plane."""
        nodes = add_nodes(plane, len(self.counts))
        slots = [node for node, count in zip(nodes, self.counts, strict=True) for _ in range(count)]
        Random(0).shuffle(slots)
        chosen = [tuple(slots[at : at + _REPLICAS]) for at in range(0, len(slots), _REPLICAS)]
        for number in range(0, len(chosen), _TOGETHER):
            plane.namespace(_namespace(number))
        place(plane, [self._placed(number, where) for number, where in enumerate(chosen)])
        install(plane)
        for each in shipped_for_fences():
            plane.admin.create(each)

    def _placed(self, number: int, nodes: tuple[str, ...]) -> Placed:
        name, namespace = f"app-{number}", _namespace(number)
        return Placed(replica_set(name, len(nodes), namespace=namespace, cpu=f"{self.cpu}m", memory="32Mi"), nodes)

    def __str__(self) -> str:
        return f"{sum(self.counts):,} pods on {len(self.counts):,} nodes"


def two_halves(nodes: int, moves: int, pods_per_node: int) -> Uneven:
    """Three nodes of five are full and have so many pods too many in all; the others are nearly empty.

    The full ones are the first, as where nodes were added later.
    """
    cold = round(_COLD * nodes)
    there = pods_per_node * cold * 9 // 94
    if moves + there > pods_per_node * cold * THIN // FULL:
        raise ValueError(f"{nodes} nodes are too few for {moves} moves: {cold} of them take all")
    hot = [pods_per_node + count for count in _shared(moves, nodes - cold)]
    return Uneven((*hot, *_shared(there, cold)), pods_per_node)


def sparse(nodes: int, moves: int, pods_per_node: int) -> Uneven:
    """A node of five has few pods, so many in all; the others have room for them."""
    thin = round(_SPARSE * nodes)
    if moves >= pods_per_node * thin * THIN // FULL:
        raise ValueError(
            f"{nodes} nodes are too few for {moves} moves: they are on {thin} of them, which are not thin then"
        )
    return Uneven((*[pods_per_node * 5 // 6] * (nodes - thin), *_shared(moves, thin)), pods_per_node)


def _shared(count: int, nodes: int) -> list[int]:
    """So many in all, as evenly as can be."""
    return [count // nodes + (at < count % nodes) for at in range(nodes)]


def _namespace(number: int) -> str:
    return f"team-{number // _TOGETHER}"
