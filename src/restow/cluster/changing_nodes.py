"""Nodes that come, change and go in a ``ClusterState``, and the sums of what pods request on each.

The index of a node is its place in the order of names, so a node that comes or goes shifts those after it by one: that
costs a pass over a few arrays of nodes and of pods, and data derived from nodes is rebuilt. A node that changes costs
its own row. Pods that name a missing node are on none, and are on it as soon as it comes. Requests are vectors, one for
each distinct set of amounts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IdArray, IntArray
from restow.cluster.journal import NodeChange, NodeCreation, NodeDeletion, NodeUpdate
from restow.cluster.nodes import NodePart, NodeRow
from restow.cluster.pod_order import Residents
from restow.cluster.pods import NO_POD, PENDING
from restow.cluster.snapshot import ClusterSnapshot


def add_missing_resources(cluster: ClusterSnapshot) -> int:
    """Give the nodes' amounts a row for every resource that a pod names; returns how many were added."""
    tables = cluster.pods.tables
    named = {name for each in tables.resources for name in each.requests}
    missing = sorted(named.difference(cluster.nodes.resources))
    cluster.nodes.add_resources(missing)
    return len(missing)


def sums_by_node(
    vectors: npt.NDArray[np.int64], nodes: IdArray, count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """What pods hold (a vector each) on each of ``count`` nodes, int64[resource, node], and how many they are."""
    requested = np.zeros((vectors.shape[1], count), dtype=np.int64)
    for resource in range(len(requested)):
        np.add.at(requested[resource], nodes, vectors[:, resource])
    return requested, np.bincount(nodes, minlength=count).astype(np.int64)


def request_vectors_of(cluster: ClusterSnapshot) -> npt.NDArray[np.int64]:
    """The rows of ``PodTables.resources``, then those of ``held`` from the end, int64[identifier, resource]."""
    resources, tables = cluster.nodes.resources, cluster.pods.tables
    amounts = [each.requests for each in tables.resources] + [requests for requests, _ in reversed(tables.held)]
    rows = [[each.get(name, 0) for name in resources] for each in amounts]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(resources))


#: Up to this many changes are searched one by one.
_FEW = 64


class ChangingNodes(ABC):
    """What a ``ClusterState`` does with its nodes."""

    __slots__ = ("_changed", "_vectors", "requested", "running")

    cluster: ClusterSnapshot
    exists: BoolArray
    node: IdArray
    changes: list[NodeChange]
    before_rewriting: list[Callable[[], object]]
    _journal: list[Any]
    _residents: Residents

    requested: npt.NDArray[np.int64]
    running: npt.NDArray[np.int64]
    _vectors: npt.NDArray[np.int64]
    #: The last question for changed nodes, and the answer.
    _changed: tuple[tuple[int, int], IntArray]

    def node_called(self, name: str) -> int:
        """What stands in the rows of pods for a node, there or not: its index if it is; PENDING for an empty name."""
        if not name:
            return PENDING
        node = self.cluster.nodes.index.get(name)
        return self.cluster.pods.unknown_node(name) if node is None else node

    def create_node(self, row: NodeRow) -> int:
        """A node comes that is not there yet, with the pods that name it; returns its index.

        The indices of nodes after it are one higher from now on, in ``changes`` that were there before as little as in
        decisions.
        """
        assert row.name not in self.cluster.nodes.index, f"node {row.name} is there already"
        node = self._insert(row)
        self._journal.append(NodeCreation(node))
        return node

    def update_node(self, node: int, row: NodeRow) -> NodePart:
        """A node is as its row says from now on; its name stays. Returns what is different."""
        assert row.name == self.cluster.nodes.names[node], "a node keeps its name"
        before = self.cluster.nodes.row(node)
        changed = self._write(node, row)
        if changed:
            self._journal.append(NodeUpdate(node, before))
        return changed

    def delete_node(self, node: int) -> None:
        """A node goes; its pods stay and are on a node that is not there. Indices after it are one lower from now on."""
        self._journal.append(NodeDeletion(self.cluster.nodes.row(node)))
        self._take_out(node)

    def dismiss_followers(self) -> None:
        """Drop all subscribers so far: what they keep is invalid from now on."""
        self.before_rewriting.clear()
        self.cluster.nodes.dismiss_followers()

    def changed_nodes(self, since: int) -> IntArray:
        """The nodes that changed, or where pods came or went, in all changes but the first ``since``, in order.

        A pod that begins to terminate keeps its place. Equal questions share one answer.
        """
        question = since, len(self.changes)
        if self._changed[0] != question:
            self._changed = question, self._changed_since(since)
        return self._changed[1]

    def validate_nodes(self) -> None:
        """AssertionError where what is known of nodes contradicts itself, or a pod is not on the node that it names."""
        nodes, pods = self.cluster.nodes, self.cluster.pods
        nodes.validate()
        for name in pods.unknown_nodes:
            away = pods.unknown_node(name)
            is_there = name in nodes.index
            assert not (
                is_there and any((places == away).any() for places in (self.node, pods.node, pods.nominated))
            ), f"a pod is not on node {name}"

    def _changed_since(self, since: int) -> IntArray:
        nodes = [each.node for each in self.changes[since:] if each.present or each.pod == NO_POD]
        if len(nodes) < _FEW:
            return np.array(sorted(set(nodes)), dtype=np.int64)
        return np.flatnonzero(np.bincount(nodes, minlength=len(self.cluster.nodes)))

    def _take_back(self, entry: NodeCreation | NodeUpdate | NodeDeletion) -> None:
        match entry:
            case NodeCreation(node):
                self._take_out(node)
            case NodeUpdate(node, row):
                self._write(node, row)
            case NodeDeletion(row):
                self._insert(row)

    def _write(self, node: int, row: NodeRow) -> NodePart:
        changed = self.cluster.nodes.write(node, row)
        if changed:
            self._take_in_resources()
            self.changes.append(NodeChange(node, NO_POD, 0, 0))
            self.cluster.nodes.notify(changed)
        return changed

    def _insert(self, row: NodeRow) -> int:
        nodes, pods = self.cluster.nodes, self.cluster.pods
        self._let_readers_catch_up()
        node, away = bisect_left(nodes.names, row.name), pods.unknown_node(row.name)
        nodes.insert(node, row)
        self._take_in_resources()
        self.requested = np.insert(self.requested, node, 0, axis=1)
        self.running = np.insert(self.running, node, 0)
        for places in (self.node, *pods.own_places()):
            places[places >= node] += 1
            places[places == away] = node
        self._residents.insert(node)
        # They are there again, and have what they had; where they never were, they have nothing.
        for pod in np.flatnonzero(self.exists & (self.node == node)).tolist():
            self._enter(pod, node, undone=True)
        self._notify_of_positions()
        return node

    def _take_out(self, node: int) -> None:
        nodes, pods = self.cluster.nodes, self.cluster.pods
        away = pods.unknown_node(nodes.names[node])
        for pod in np.flatnonzero(self.exists & (self.node == node)).tolist():
            self._leave(pod)
            self.node[pod] = away
        self._let_readers_catch_up()
        nodes.take_out(node)
        self.requested = np.delete(self.requested, node, axis=1)
        self.running = np.delete(self.running, node)
        for places in (self.node, *pods.own_places()):
            places[places == node] = away
            places[places > node] -= 1
        self._residents.take_out(node)
        self._notify_of_positions()

    def _notify_of_positions(self) -> None:
        self._changed = (-1, -1), np.zeros(0, dtype=np.int64)
        self.cluster.nodes.notify(NodePart.POSITION)

    def _take_in_resources(self) -> None:
        """Sum up resources that no node and no pod has named before."""
        more = len(self.cluster.nodes.resources) - len(self.requested)
        if more:
            self.requested = np.pad(self.requested, ((0, more), (0, 0)))
            self._vectors = request_vectors_of(self.cluster)

    def _let_readers_catch_up(self) -> None:
        for read in self.before_rewriting:
            read()

    @abstractmethod
    def _leave(self, pod: int, *, undone: bool = False) -> None:
        """A pod no longer counts on its node."""

    @abstractmethod
    def _enter(self, pod: int, node: int, *, undone: bool = False) -> None:
        """A pod counts on a node."""
