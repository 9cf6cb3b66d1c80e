"""A cluster that changes: which pods are where, and what that leaves on each node.

``ClusterState`` lays over a ``Cluster`` the few things that a plan changes. ``remove``, ``place`` and ``terminate`` are
the only ways to change it; each updates every derived count, notes what changed where (so that whoever caches verdicts
or counts can refresh just those) and writes a journal, so that ``undo`` is exact. ``fork`` copies a few arrays and shares all columns.
``validate`` recomputes every count from nothing and compares: tests and property tests call it after each step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IdArray, IntArray
from restow.cluster.owners import OwnerIndex
from restow.cluster.pods import PENDING, Flag
from restow.cluster.snapshot import Cluster

#: So many changes are looked through one by one.
_FEW = 64


class Change(NamedTuple):
    """One change of a node."""

    node: int
    pod: int
    #: How many pods more are on the node: 1, -1, or 0 where a pod began or ceased to terminate.
    present: int
    #: The same among the pods that are not terminating.
    staying: int
    #: Whether a pod came or went because an earlier change was taken back.
    undone: bool = False


class ClusterState:
    """Where every pod is now, with the sums that follow from it."""

    __slots__ = (
        "_arrived",
        "_changed",
        "_first",
        "_holds",
        "_journal",
        "_owned",
        "_owners",
        "_resident",
        "_vectors",
        "births",
        "by_status",
        "changes",
        "cluster",
        "exists",
        "held",
        "node",
        "requested",
        "running",
        "terminating",
    )

    def __init__(self, cluster: Cluster, *, by_status: bool = True) -> None:
        pods, nodes = cluster.pods, cluster.nodes
        #: What was observed.
        self.cluster = cluster
        #: Which pods (still) exist, bool[pod].
        self.exists: BoolArray = pods.observed.copy()
        #: The node of each pod now, int32[pod]; negative as in ``Pods.node``.
        self.node: IdArray = pods.node.copy()
        #: Which pods are on their way out, bool[pod]: they hold their place but spread ignores them.
        self.terminating: BoolArray = pods.has(Flag.TERMINATING)
        #: Every change of a node, oldest first; a cache remembers how far it has read.
        self.changes: list[Change] = []
        #: Every pod that began or ceased to exist, oldest first, wherever it is.
        self.births: list[int] = []
        self._vectors = _request_vectors(cluster)
        #: Whether pods that are being resized hold what kube-scheduler has them hold, else what they request.
        self.by_status = by_status
        #: What each pod takes of the node that it is on, as a row of ``request_vectors``.
        self.held: IdArray = pods.resources
        if by_status and pods.tables.held:
            self.held = np.where(pods.held >= 0, len(pods.tables.resources) + pods.held, pods.resources)
        self._holds = ~pods.terminal
        self._owners: OwnerIndex | None = None
        self._owned: npt.NDArray[np.int64] | None = None
        self._journal: list[tuple[int, int, bool, bool]] = []
        #: The last question for changed nodes, and the answer.
        self._changed: tuple[tuple[int, int], IntArray] = ((0, 0), np.zeros(0, dtype=np.int64))
        self._resident, self._first = _residents(pods.node, len(nodes))
        self._arrived: dict[int, list[int]] = {}
        #: Sum of the requests of the pods that hold resources, int64[resource, node].
        self.requested, self.running = self._sums()

    # Reading

    def pods_on(self, node: int) -> IntArray:
        """The pods on a node that hold resources (not Succeeded or Failed), in canonical order."""
        pods = self.all_pods_on(node)
        return pods[self._holds[pods]]

    def all_pods_on(self, node: int) -> IntArray:
        """The pods on a node whatever their phase, in canonical order."""
        residents = self._resident[self._first[node] : self._first[node + 1]]
        residents = residents[self.exists[residents] & (self.node[residents] == node)]
        arrived = self._arrived.get(node)
        return np.union1d(residents, arrived) if arrived else residents

    def requests_of(self, pod: int) -> npt.NDArray[np.int64]:
        """Effective requests of a pod, int64[resource], in the units of ``Nodes.allocatable``."""
        vector: npt.NDArray[np.int64] = self._vectors[self.cluster.pods.resources[pod]]
        return vector

    def held_by(self, pod: int) -> npt.NDArray[np.int64]:
        """What a pod takes of the node that it is on; the same but for pods that are being resized."""
        vector: npt.NDArray[np.int64] = self._vectors[self.held[pod]]
        return vector

    def request_vectors(self) -> npt.NDArray[np.int64]:
        """Effective requests by ``Pods.resources`` and by ``held``, int64[identifier, resource]."""
        return self._vectors

    def holds_resources(self) -> BoolArray:
        """Which pods count on their node: existing and not Succeeded or Failed, bool[pod]."""
        return self._holds & self.exists

    def changed_nodes(self, since: int) -> IntArray:
        """The nodes where pods have come or gone in all changes but the first ``since``, in order.

        A pod that begins to terminate keeps its place. Whoever else asks for the same gets the same.
        """
        question = since, len(self.changes)
        if self._changed[0] != question:
            self._changed = question, self._changed_since(since)
        return self._changed[1]

    def _changed_since(self, since: int) -> IntArray:
        nodes = [change.node for change in self.changes[since:] if change.present]
        if len(nodes) < _FEW:
            return np.array(sorted(set(nodes)), dtype=np.int64)
        return np.flatnonzero(np.bincount(nodes, minlength=len(self.cluster.nodes)))

    def siblings(self, pods: IntArray) -> npt.NDArray[np.int64]:
        """How many existing pods name each pod's only owner, itself included; -1 without exactly one owner."""
        owned, owners = self._count_owners()
        owner = owners.sole[pods]
        return np.where(owner >= 0, owned[owner], -1) if len(owned) else np.full(len(pods), -1)

    # Changing

    def remove(self, pod: int) -> None:
        """The pod is gone; it must exist."""
        assert self.exists[pod], f"{self.cluster.pods.full_name(pod)} is gone already"
        self._note(pod)
        self._leave(pod)
        self.exists[pod] = False
        self._recount(pod, -1)

    def place(self, pod: int, node: int) -> None:
        """The pod is on this node from now on, even if it was gone; PENDING takes it off its node."""
        self._note(pod)
        if self.exists[pod]:
            self._leave(pod)
        else:
            self.exists[pod] = True
            self._recount(pod, 1)
        self._enter(pod, node)

    def terminate(self, pod: int) -> None:
        """The pod is on its way out: it keeps its place until it is removed."""
        if not self.terminating[pod]:
            self._note(pod)
            self._mark(pod, terminating=True)

    def checkpoint(self) -> int:
        """A mark for ``undo``."""
        return len(self._journal)

    def undo(self, mark: int) -> None:
        """Take back every change since the mark."""
        while len(self._journal) > mark:
            pod, node, existed, terminating = self._journal.pop()
            if terminating != self.terminating[pod]:
                self._mark(pod, terminating=terminating)
                continue
            if existed != self.exists[pod]:
                self._recount(pod, 1 if existed else -1)
            if self.exists[pod]:
                self._leave(pod, undone=True)
            self.exists[pod] = existed
            self.node[pod] = node
            if existed:
                self._enter(pod, node, undone=True)

    def fork(self) -> ClusterState:
        """An independent copy that shares every column; costs a few array copies."""
        twin = ClusterState.__new__(ClusterState)
        for name in ("cluster", "by_status", "held", "_vectors", "_holds", "_owners", "_resident", "_first"):
            setattr(twin, name, getattr(self, name))
        twin._owned = None if self._owned is None else self._owned.copy()  # noqa: SLF001
        for name in ("exists", "node", "terminating", "requested", "running"):
            setattr(twin, name, getattr(self, name).copy())
        twin.changes, twin.births = list(self.changes), list(self.births)
        twin._changed = self._changed  # noqa: SLF001
        twin._journal = []  # noqa: SLF001  a fork is made inside the class
        twin._arrived = {node: list(pods) for node, pods in self._arrived.items()}  # noqa: SLF001
        return twin

    def validate(self) -> None:
        """Recompute every derived count from where the pods are; AssertionError where one differs."""
        requested, running = self._sums()
        assert np.array_equal(requested, self.requested), "requested differs from the sum over the pods"
        assert np.array_equal(running, self.running), "running differs from the count of the pods"
        owned, owners = self._count_owners()
        assert np.array_equal(owners.counts(self.exists), owned), "owned differs from the count of the pods"
        for node in range(len(self.cluster.nodes)):
            expected = np.flatnonzero(self.exists & (self.node == node))
            assert np.array_equal(self.all_pods_on(node), expected), f"the pods on node {node} differ"

    def _count_owners(self) -> tuple[npt.NDArray[np.int64], OwnerIndex]:
        """How many existing pods name each owner, int64[owner uid]: counted when first asked, kept from then on."""
        if self._owners is None or self._owned is None:
            self._owners = OwnerIndex.of(self.cluster.pods)
            self._owned = self._owners.counts(self.exists)
        return self._owned, self._owners

    def _recount(self, pod: int, more: int) -> None:
        self.births.append(pod)
        if self._owners is not None and self._owned is not None:
            self._owned[self._owners.of_pod(pod)] += more

    def _note(self, pod: int) -> None:
        self._journal.append((pod, int(self.node[pod]), bool(self.exists[pod]), bool(self.terminating[pod])))

    def _mark(self, pod: int, *, terminating: bool) -> None:
        self.terminating[pod] = terminating
        if self.exists[pod] and self.node[pod] >= 0:
            self.changes.append(Change(int(self.node[pod]), pod, 0, -1 if terminating else 1))

    def _leave(self, pod: int, *, undone: bool = False) -> None:
        node = int(self.node[pod])
        if node < 0:
            return
        arrived = self._arrived.get(node)
        if arrived and pod in arrived:
            arrived.remove(pod)
        self.changes.append(Change(node, pod, -1, 0 if self.terminating[pod] else -1, undone))
        if self._holds[pod]:
            self.requested[:, node] -= self.held_by(pod)
            self.running[node] -= 1

    def _enter(self, pod: int, node: int, *, undone: bool = False) -> None:
        self.node[pod] = node
        if node < 0:
            return
        if self.cluster.pods.node[pod] != node:
            self._arrived.setdefault(node, []).append(pod)
        self.changes.append(Change(node, pod, 1, 0 if self.terminating[pod] else 1, undone))
        if self._holds[pod]:
            self.requested[:, node] += self.held_by(pod)
            self.running[node] += 1

    def _sums(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        count = len(self.cluster.nodes)
        counted = np.flatnonzero(self.holds_resources() & (self.node > PENDING))
        running = np.bincount(self.node[counted], minlength=count).astype(np.int64)
        requested = np.zeros((len(self.cluster.nodes.resources), count), dtype=np.int64)
        vectors = self._vectors[self.held[counted]]
        for resource in range(len(requested)):
            np.add.at(requested[resource], self.node[counted], vectors[:, resource])
        return requested, running


def _request_vectors(cluster: Cluster) -> npt.NDArray[np.int64]:
    resources = cluster.nodes.resources
    tables = cluster.pods.tables
    amounts = [each.requests for each in tables.resources] + [requests for requests, _ in tables.held]
    rows = [[each.get(name, 0) for name in resources] for each in amounts]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(resources))


def _residents(node: IdArray, count: int) -> tuple[IntArray, IntArray]:
    """Pods grouped by the node they were observed on: the pods, and where each node's group starts."""
    order = np.argsort(node, kind="stable")
    placed = order[np.searchsorted(node[order], 0) :]
    starts = np.searchsorted(node[placed], np.arange(count + 1))
    return placed, starts
