"""A cluster that changes: which pods are where, and what that leaves on each node.

``ClusterState`` has the columns of a ``ClusterSnapshot`` and what follows from where its pods are. ``create``, ``update`` and
``delete`` are for pods that come, change and go, ``create_node`` and so on for nodes (``cluster.changing_nodes``);
``remove``, ``place`` and ``terminate`` move pods that stay known. Each updates every derived count, notes what changed where (so that caches refresh just that) and writes a journal, so that
``undo`` is exact. ``fork`` copies a few arrays and shares all columns until one of the two writes. ``validate`` recomputes
every count from nothing and compares: tests and property tests call it after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.cluster.changing_nodes import ChangingNodes, add_missing_resources, request_vectors_of, sums_by_node
from restow.cluster.interning import BoolArray, GrowingColumns, IdArray, IntArray
from restow.cluster.journal import Creation, Deletion, Entry, NodeChange, ObjectEdit, OtherObjects, PodMove, Update
from restow.cluster.owners import OwnerCounts
from restow.cluster.pod_order import PodOrder, Residents
from restow.cluster.pod_values import Flag
from restow.cluster.pods import NO_POD, PENDING, PodRow
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.kube.objects import PersistentVolumeClaim

#: The arrays of a state that have one entry a pod.
_PER_POD = ("exists", "node", "terminating", "held", "holds")


class ClusterState(ChangingNodes):
    """Where every pod is now, with the sums that follow from it."""

    __slots__ = (
        "_claims",
        "_columns",
        "_journal",
        "_order",
        "_others",
        "_owners",
        "_residents",
        "before_rewriting",
        "births",
        "by_status",
        "changes",
        "cluster",
        "exists",
        "held",
        "holds",
        "node",
        "terminating",
    )

    def __init__(self, cluster: ClusterSnapshot, *, by_status: bool = True) -> None:
        #: What was observed, and every pod that came since.
        self._others = OtherObjects(cluster.others)
        self.cluster = cluster = replace(
            cluster, nodes=replace(cluster.nodes), pods=cluster.pods.shared(), others=self._others.kinds
        )
        pods, nodes = cluster.pods, cluster.nodes
        #: Which pods (still) exist, bool[pod].
        self.exists: BoolArray = pods.read()
        #: The node of each pod now, int32[pod]; negative as in ``Pods.node``.
        self.node: IdArray = pods.node.copy()
        #: Which pods are on their way out, bool[pod]: they hold their place but spread ignores them.
        self.terminating: BoolArray = pods.has(Flag.TERMINATING)
        #: Every change of a node, oldest first; a cache remembers how far it has read.
        self.changes: list[NodeChange] = []
        #: Every pod that began or ceased to exist, oldest first, on any node.
        self.births: list[int] = []
        #: Called before the row of a pod is written, or the place of a node changes, that ``changes`` may mention.
        self.before_rewriting: list[Callable[[], object]] = []
        self._vectors = request_vectors_of(cluster)
        #: Whether pods that are being resized hold what kube-scheduler has them hold, else what they request.
        self.by_status = by_status
        #: What each pod takes of the node that it is on, as a row of ``request_vectors``.
        self.held: IdArray = pods.resources.copy()
        if by_status and pods.tables.held:
            self.held = np.where(pods.held >= 0, -1 - pods.held, pods.resources)
        #: Which pods count on their node as long as they exist, bool[pod]: those that are not Succeeded or Failed.
        self.holds: BoolArray = ~pods.terminal
        self._owners: OwnerCounts | None = None
        #: What has come with replacements.
        self._claims: list[Key] = []
        self._journal: list[Entry] = []
        #: Created when a pod first comes or goes by its name.
        self._order: PodOrder | None = None
        self._changed = (0, 0), np.zeros(0, dtype=np.int64)
        self._residents = Residents(pods, len(nodes))
        #: The arrays of ``_PER_POD``; None before the first pod came.
        self._columns: GrowingColumns | None = None
        #: Sum of the requests of the pods that hold resources, int64[resource, node].
        self.requested, self.running = self._sums(self.exists, self.node)

    def pods_on(self, node: int) -> IntArray:
        """The pods on a node that hold resources (not Succeeded or Failed), in canonical order."""
        pods = self.all_pods_on(node)
        return pods[self.holds[pods]]

    def all_pods_on(self, node: int) -> IntArray:
        """The pods on a node in any phase, in canonical order."""
        residents, settled = self._residents.on(node, self.exists, self.node)
        # Where rows are used again, those that were there at first need not be in order.
        return residents if settled and self._order is None else self.cluster.pods.in_order(residents)

    def requests_of(self, pod: int) -> npt.NDArray[np.int64]:
        """Effective requests of a pod, int64[resource], in the units of ``Nodes.allocatable``."""
        vector: npt.NDArray[np.int64] = self._vectors[self.cluster.pods.resources[pod]]
        return vector

    def held_by(self, pod: int) -> npt.NDArray[np.int64]:
        """What a pod takes of its node; differs from its requests only during a resize."""
        vector: npt.NDArray[np.int64] = self._vectors[self.held[pod]]
        return vector

    def requested_at_first(self) -> npt.NDArray[np.int64]:
        """What the pods that were read hold of each node where they were, int64[resource, node]."""
        return self._sums(self.cluster.pods.read(), self.cluster.pods.node)[0]

    def request_vectors(self) -> npt.NDArray[np.int64]:
        """Effective requests by ``Pods.resources`` and by ``held``, int64[identifier, resource].

        What pods hold that are being resized stands at the end, and has negative identifiers.
        """
        return self._vectors

    def holding(self, pods: IntArray) -> BoolArray:
        """Which of some pods count on their node: existing and not Succeeded or Failed."""
        return np.logical_and(self.holds[pods], self.exists[pods])

    def holds_resources(self) -> BoolArray:
        """Which pods count on their node: existing and not Succeeded or Failed, bool[pod]."""
        return self.holds & self.exists

    def siblings(self, pods: IntArray) -> npt.NDArray[np.int64]:
        """How many existing pods name each pod's only owner, itself included; -1 without exactly one owner."""
        return self._owner_counts().siblings(pods)

    def reserve(self, replaces: int, changed: PodRow, claims: Iterable[tuple[Key, PersistentVolumeClaim]] = ()) -> int:
        """A row for the replacement of a pod, a copy except for some columns; it does not exist until it is placed.

        Like its row, the claims that come with it stay when changes are undone.
        """
        for key, claim in claims:
            self._claims.append(key)
            self._others.replace("PersistentVolumeClaim", key, claim)
        pods = self.cluster.pods
        changed |= {"replaces": replaces, "replaced_by": NO_POD, "rank": pods.rank[replaces] + 1}
        # A row of its own: undoing the removal of a pod finds its row again.
        pod = pods.append_like(replaces, changed)
        pods.replaced_by[replaces] = pod
        self._admit(pod)
        return pod

    def forget_replacements(self) -> bool:
        """Let the rows of replacements be used again, of which none exists; whether claims had come with any."""
        pods = self.cluster.pods
        claims, self._claims = self._claims, []
        for key in claims:
            self._others.replace("PersistentVolumeClaim", key, None)
        for row in np.flatnonzero(pods.replaces != NO_POD).tolist():
            assert not self.exists[row], f"{pods.full_name(row)} is there"
            replaced = int(pods.replaces[row])
            pods.link(row, NO_POD)
            pods.replaced_by[replaced] = NO_POD
            pods.free(row)
        return bool(claims)

    def create(self, row: PodRow) -> int:
        """A pod comes, to the node that its row names; returns its row."""
        pods, order = self.cluster.pods, self.order
        if pods.has_free_rows:
            self._let_readers_catch_up()
        pod = pods.add(row)
        self._admit(pod)
        order.enter(pod)
        self._journal.append(Creation(pod))
        self._appear(pod)
        return pod

    def delete(self, pod: int) -> None:
        """A pod that exists, and is no replacement, goes for good: its row is used again, and its replacement is none."""
        assert self.exists[pod], f"{self.cluster.pods.full_name(pod)} is gone already"
        self._journal.append(
            Deletion(pod, self.cluster.pods.row(pod), int(self.node[pod]), bool(self.terminating[pod]))
        )
        self._vanish(pod)

    def update(self, pod: int, row: PodRow) -> None:
        """A pod that exists is as its row says from now on, on the node that it names; its name stays.

        The row may lack columns that stay as they are, but for ``node`` and ``flags``.
        """
        pods = self.cluster.pods
        before = {name: getattr(pods, name)[pod] for name in row}
        self._journal.append(Update(pod, before, int(self.node[pod]), bool(self.terminating[pod])))
        self._rewrite(pod, row, int(row["node"]), terminating=bool(int(row["flags"]) & int(Flag.TERMINATING)))

    def put(self, kind: str, key: Key, changed: Any) -> None:
        """An object of a kind other than Node and Pod comes, changes, or is gone (None)."""
        self._journal.append(ObjectEdit(kind, key, self._others.replace(kind, key, changed)))

    def version(self, kind: str) -> int:
        """Changes each time objects of a kind other than Node and Pod may have changed."""
        return self._others.version(kind)

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

    def commit(self) -> None:
        """Nothing that has happened so far will be taken back."""
        self._journal.clear()

    def checkpoint(self) -> int:
        """A mark for ``undo``."""
        return len(self._journal)

    def undo(self, mark: int) -> None:
        """Take back every change since the mark."""
        while len(self._journal) > mark:
            match self._journal.pop():
                case PodMove() as move:
                    self._move_back(move)
                case Creation(pod):
                    self._vanish(pod, undone=True)
                case Deletion(pod, row, node, terminating):
                    self._let_readers_catch_up()
                    self.cluster.pods.take_back(pod, row)
                    self._admit(pod)
                    self.order.come_back(pod, self.exists)
                    self.terminating[pod] = terminating
                    self.node[pod] = node
                    self._appear(pod, undone=True)
                case Update(pod, row, node, terminating):
                    self._rewrite(pod, row, node, terminating=terminating, undone=True)
                case ObjectEdit(kind, key, before):
                    self._others.replace(kind, key, before)
                case entry:
                    self._take_back(entry)

    @property
    def order(self) -> PodOrder:
        """The pods by name."""
        if self._order is None:
            self._order = PodOrder(self.cluster.pods)
        return self._order

    def fork(self) -> ClusterState:
        """An independent copy that shares every column; costs a few array copies."""
        fork = copy(self)
        fork._others = self._others.shared()  # noqa: SLF001  a fork is made inside the class
        fork.cluster = replace(
            self.cluster,
            nodes=replace(self.cluster.nodes),
            pods=self.cluster.pods.shared(),
            others=fork._others.kinds,  # noqa: SLF001
        )
        # It counts its own pods when it is asked.
        fork._columns = fork._owners = None  # noqa: SLF001
        for name in (*_PER_POD, "requested", "running"):
            setattr(fork, name, getattr(self, name).copy())
        fork._order = None if self._order is None else self._order.copied(fork.cluster.pods)  # noqa: SLF001
        fork.changes, fork.births = list(self.changes), list(self.births)
        fork.before_rewriting, fork._journal, fork._claims = [], [], list(self._claims)  # noqa: SLF001
        fork._residents = self._residents.copied()  # noqa: SLF001
        return fork

    def without_past(self) -> ClusterState:
        """A fork without followers: it starts with no changes, and without statuses that no pod has any more."""
        fork = self.fork()
        fork.changes, fork.births = [], []
        for table in ("states", "conditions"):
            fork.cluster.pods.drop_unused(table)
        return fork

    def validate(self) -> None:
        """Recompute every derived count from where the pods are; AssertionError where one differs."""
        requested, running = self._sums(self.exists, self.node)
        self.validate_nodes()
        assert np.array_equal(requested, self.requested), "requested differs from the sum over the pods"
        assert np.array_equal(running, self.running), "running differs from the count of the pods"
        self._owner_counts().validate(self.exists)
        for node in range(len(self.cluster.nodes)):
            expected = self.cluster.pods.where(self.exists & (self.node == node))
            assert np.array_equal(self.all_pods_on(node), expected), f"the pods on node {node} differ"

    def _owner_counts(self) -> OwnerCounts:
        """How many existing pods name each owner: counted when first asked, kept from then on."""
        if self._owners is None:
            self._owners = OwnerCounts(self.cluster.pods, self.exists)
        return self._owners

    def _move_back(self, move: PodMove) -> None:
        pod, node, existed, terminating = move
        if terminating != self.terminating[pod]:
            self._mark(pod, terminating=terminating)
            return
        if existed != self.exists[pod]:
            self._recount(pod, 1 if existed else -1)
        if self.exists[pod]:
            self._leave(pod, undone=True)
        self.exists[pod] = existed
        self.node[pod] = node
        if existed:
            self._enter(pod, node, undone=True)

    def _appear(self, pod: int, *, undone: bool = False) -> None:
        """A pod exists from now on, where it is."""
        self.exists[pod] = True
        self._recount(pod, 1)
        self._enter(pod, int(self.node[pod]), undone=undone)

    def _vanish(self, pod: int, *, undone: bool = False) -> None:
        """A pod does not exist any more, and its row is free."""
        self._leave(pod, undone=undone)
        self.exists[pod] = False
        self._recount(pod, -1)
        self.order.leave(pod, self.exists)
        self.cluster.pods.free(pod)

    def _rewrite(self, pod: int, row: PodRow, node: int, *, terminating: bool, undone: bool = False) -> None:
        """What is known of a pod changes; it is as if it left and came back as another."""
        pods = self.cluster.pods
        self._leave(pod, undone=undone)
        self._recount(pod, -1)
        self._let_readers_catch_up()
        pods.write(pod, row | {name: getattr(pods, name)[pod] for name in ("rank", "replaces", "replaced_by")})
        self._refresh(pod)
        self.terminating[pod], self.node[pod] = terminating, node
        self._appear(pod, undone=undone)

    def _admit(self, pod: int) -> None:
        """Keep for a row what is kept for each: its pod does not exist yet."""
        pods = self.cluster.pods
        if pod >= len(self.exists):
            if self._columns is None:
                self._columns = GrowingColumns({name: getattr(self, name) for name in _PER_POD})
            for name, column in self._columns.resized(len(pods)).items():
                column[pod:] = PENDING if name == "node" else 0
                setattr(self, name, column)
        self.exists[pod] = False
        self.node[pod] = pods.node[pod]
        self.terminating[pod] = pods.carries(pod, Flag.TERMINATING)
        self._refresh(pod)

    def _refresh(self, pod: int) -> None:
        """What follows from the row of a pod."""
        pods = self.cluster.pods
        if len(self._vectors) < len(pods.tables.resources) + len(pods.tables.held):
            self.requested = np.pad(self.requested, ((0, add_missing_resources(self.cluster)), (0, 0)))
            self._vectors = request_vectors_of(self.cluster)
        self.held[pod] = -1 - pods.held[pod] if self.by_status and pods.held[pod] >= 0 else pods.resources[pod]
        self.holds[pod] = not pods.is_over(pod)

    def _recount(self, pod: int, more: int) -> None:
        self.births.append(pod)
        if self._owners is not None:
            self._owners.change(pod, more)

    def _note(self, pod: int) -> None:
        self._journal.append(PodMove(pod, int(self.node[pod]), bool(self.exists[pod]), bool(self.terminating[pod])))

    def _mark(self, pod: int, *, terminating: bool) -> None:
        self.terminating[pod] = terminating
        if self.exists[pod] and self.node[pod] >= 0:
            self.changes.append(NodeChange(int(self.node[pod]), pod, 0, -1 if terminating else 1))

    def _leave(self, pod: int, *, undone: bool = False) -> None:
        node = int(self.node[pod])
        if node < 0:
            return
        arrived = self._residents.arrived.get(node)
        if arrived and pod in arrived:
            arrived.remove(pod)
        self.changes.append(NodeChange(node, pod, -1, 0 if self.terminating[pod] else -1, undone))
        if self.holds[pod]:
            self.requested[:, node] -= self.held_by(pod)
            self.running[node] -= 1

    def _enter(self, pod: int, node: int, *, undone: bool = False) -> None:
        self.node[pod] = node
        if node < 0:
            return
        self._residents.enter(pod, node)
        self.changes.append(NodeChange(node, pod, 1, 0 if self.terminating[pod] else 1, undone))
        if self.holds[pod]:
            self.requested[:, node] += self.held_by(pod)
            self.running[node] += 1

    def _sums(self, exists: BoolArray, node: IdArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """What the pods that exist, on these nodes, request of each node, and how many they are."""
        counted = np.flatnonzero(exists & self.holds & (node > PENDING))
        return sums_by_node(self._vectors[self.held[counted]], node[counted], len(self.cluster.nodes))
