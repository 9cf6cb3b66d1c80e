"""How evenly a cluster is filled: what is left of it when pods have moved.

The share of a node is what its pods request of its allocatable, in percent, of the scarcest of some resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restow.cluster.owners import owner_of
from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.schedulers import Schedulers
from restow.workloads.replacements import Replacements

#: Owners whose pods stay on a node as long as it is there.
_OF_THE_NODE = ("DaemonSet", "Node")


@dataclass(slots=True, frozen=True)
class Balance:
    """What the table says of a cluster."""

    #: Standard deviation of the nodes' shares.
    deviation: float
    #: The share of the fullest node.
    fullest: float
    #: Nodes that run nothing but what belongs to every node.
    empty: int


class Filling:
    """A cluster whose pods move from node to node, by index."""

    def __init__(self, cluster: ClusterSnapshot, resources: Iterable[str]) -> None:
        nodes = cluster.nodes
        self._rows = [row for name in resources if (row := nodes.resource(name)) is not None]
        self._state = ClusterState(cluster)
        self._movable = np.array([_is_movable(cluster, pod) for pod in range(len(cluster.pods))], dtype=bool)
        placed = self._movable & self._state.holds_resources() & (self._state.node >= 0)
        self._pods = np.bincount(self._state.node[placed], minlength=len(nodes))
        self._requested = self._state.requested.copy()

    def leave(self, pod: int) -> None:
        """A pod leaves its node."""
        self._add(pod, int(self._state.node[pod]), -1)

    def land(self, pod: int, node: int) -> None:
        """The replacement of a pod lands."""
        self._add(pod, node, 1)

    def shares(self, more: int | None = None) -> npt.NDArray[np.float64]:
        """The share of each node, float64[node], as it would be with the replacement of a pod."""
        requested = self._requested if more is None else self._requested + self._state.requests_of(more)[:, None]
        allocatable = np.maximum(self._state.cluster.nodes.allocatable[self._rows], 1)
        shares: npt.NDArray[np.float64] = 100 * (requested[self._rows] / allocatable).max(axis=0)
        return shares

    def room_for(self, pod: int) -> npt.NDArray[np.bool_]:
        """Which nodes have all that a pod requests, and are not cordoned, bool[node]."""
        nodes, wanted = self._state.cluster.nodes, self._state.requests_of(pod)[:, None]
        fits = (self._requested + wanted <= nodes.allocatable) | (wanted == 0)
        room: npt.NDArray[np.bool_] = fits.all(axis=0) & ~nodes.unschedulable
        return room

    def best(self, pod: int, nodes: npt.NDArray[np.bool_], *, fill: bool) -> int:
        """The emptiest of some nodes (a mask), or with ``fill`` the fullest, with a pod; its own where there are none."""
        if not nodes.any():
            return int(self._state.node[pod])
        shares = np.where(nodes, self.shares(pod), np.nan)
        return int(np.nanargmax(shares) if fill else np.nanargmin(shares))

    def balance(self) -> Balance:
        """What there is to say of it now."""
        shares = self.shares()
        return Balance(float(shares.std()), float(shares.max()), int(np.count_nonzero(self._pods == 0)))

    def _add(self, pod: int, node: int, sign: int) -> None:
        self._requested[:, node] += sign * self._state.requests_of(pod)
        self._pods[node] += sign * int(self._movable[pod])


def balance_after(
    cluster: ClusterSnapshot, resources: Iterable[str], pods: Sequence[int], nodes: Sequence[str]
) -> Balance:
    """The balance when replacements of some pods have landed, each on a node by name; empty where it waits."""
    filling = Filling(cluster, resources)
    numbers: Mapping[str, int] = {name: number for number, name in enumerate(cluster.nodes.names)}
    for pod, node in zip(pods, nodes, strict=True):
        filling.leave(pod)
        if node:
            filling.land(pod, numbers[node])
    return filling.balance()


def intended_balance(cluster: ClusterSnapshot, resources: Sequence[str], pods: Sequence[int], *, fill: bool) -> Balance:
    """The balance if each replacement landed where a strategy hopes for: on the best node that no pod has left.

    That is the emptiest, or with ``fill`` the fullest, of those with room; no other rule is asked for. A pod for which
    none has room stays.
    """
    filling = Filling(cluster, resources)
    sources = _sources(cluster, pods)
    for pod in pods:
        filling.leave(pod)
    for pod in pods:
        filling.land(pod, filling.best(pod, filling.room_for(pod) & ~sources, fill=fill))
    return filling.balance()


def permitted_balance(
    cluster: ClusterSnapshot, resources: Sequence[str], pods: Sequence[int], *, fill: bool
) -> Balance:
    """The same if each replacement must also pass kube-scheduler's filters, as restow models them, where it lands."""
    filling, state = Filling(cluster, resources), ClusterState(cluster).fork()
    schedulers, replacements = Schedulers(Context.of(state), (DEFAULT_PROFILE,)), Replacements(state, now=0)
    sources = _sources(cluster, pods)
    for pod in pods:
        filling.leave(pod)
        state.remove(pod)
    for pod in pods:
        replacement = replacements.of(pod)
        state.place(replacement, PENDING)
        node = filling.best(pod, schedulers.fitting(replacement) & ~sources, fill=fill)
        filling.land(pod, node)
        state.place(replacement, node)
    return filling.balance()


def _sources(cluster: ClusterSnapshot, pods: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which nodes some pods are on, bool[node]."""
    return np.isin(np.arange(len(cluster.nodes)), cluster.pods.node[list(pods)])


def _is_movable(cluster: ClusterSnapshot, pod: int) -> bool:
    owner = owner_of(cluster.pods, pod)
    return owner is None or owner.kind not in _OF_THE_NODE
