"""Canonical order of pods that come and go: by namespace, then name; a replacement right after the pod it replaces.

Ranks leave room: a pod that comes gets one between those of its neighbours. If no room is left, all ranks are
reassigned, which is so rare that a pod costs a binary search on average.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np

from restow.cluster.interning import BoolArray, IdArray, IntArray
from restow.cluster.pods import NO_POD, PENDING, Pods, ranks

#: (namespace, name).
Key = tuple[str, str]
#: Room that is kept after each rank for the replacements of the pod.
_LEAST = 1 << 12
#: How far a pod before the first or after the last one is from it.
_BEYOND = 1 << 32

#: How far a pod between two others is from the first at most.
_STEP = 1 << 20
#: How many pods are kept together.
_BLOCK = 512
#: Of how many keys one may have been touched; where there are more, all are sorted.
_SHARE = 8


class PodOrder:
    """The pods of one state by name, without replacements.

    They are in blocks: a pod that comes or goes moves those of its block in memory, and no others.
    """

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        rows: list[int] = pods.where(pods.read()).tolist()
        begins = range(0, max(len(rows), 1), _BLOCK)
        self._rows = [rows[begin : begin + _BLOCK] for begin in begins]
        self._keys = [list(map(self._key, block)) for block in self._rows]
        #: The first key of each block but the first.
        self._firsts = [block[0] for block in self._keys[1:]]

    def copied(self, pods: Pods) -> PodOrder:
        """A copy of the order, for a copy of the pods."""
        other = PodOrder.__new__(PodOrder)
        other._pods, other._firsts = pods, list(self._firsts)  # noqa: SLF001  of the same class
        other._rows, other._keys = list(map(list, self._rows)), list(map(list, self._keys))  # noqa: SLF001
        return other

    def enter(self, pod: int) -> None:
        """Rank a new pod."""
        key = self._key(pod)
        block = bisect_right(self._firsts, key)
        position = bisect_right(self._keys[block], key)
        former, following = self._rank_at(block, position - 1), self._rank_at(block, position)
        self._keys[block].insert(position, key)
        self._rows[block].insert(position, pod)
        before = former if former is not None else 0 if following is None else following - _BEYOND
        after = before + _BEYOND if following is None else following
        # Names that count upwards come one after the other: most of the room is left for those.
        self._pods.rank[pod] = before + min((after - before) // 2, _STEP)
        if after - before < 2 * _LEAST:
            self._renumber()
        if len(self._keys[block]) > 2 * _BLOCK:
            self._split(block)

    def leave(self, pod: int, exists: BoolArray) -> None:
        """Remove a pod whose columns still hold its name; its first existing replacement succeeds it."""
        block, position = self._place(pod)
        _, heir = self._heir(pod, exists)
        if heir == NO_POD:
            self._drop(block, position)
        else:
            self._pods.link(heir, NO_POD)
            self._rows[block][position] = heir

    def come_back(self, pod: int, exists: BoolArray) -> None:
        """Take back that a pod has gone, and no other change since; its columns are what they were."""
        before, heir = self._heir(pod, exists)
        if heir == NO_POD:
            self.enter(pod)
        else:
            block, position = self._place(heir)
            self._rows[block][position] = pod
            self._pods.link(heir, before)
            self._pods.rank[pod] = self._pods.rank[heir]
        while self._pods.replaced_by[pod] != NO_POD:
            replacement = int(self._pods.replaced_by[pod])
            self._pods.rank[replacement] = self._pods.rank[pod] + 1
            pod = replacement

    def find(self, namespace: str, name: str) -> int:
        """The pod of a name that came last, NO_POD if there is none."""
        key = namespace, name
        block = bisect_right(self._firsts, key)
        position = bisect_right(self._keys[block], key) - 1
        return self._rows[block][position] if position >= 0 and self._keys[block][position] == key else NO_POD

    def _place(self, pod: int) -> tuple[int, int]:
        """The block of a pod, and its position there."""
        key = self._key(pod)
        block = bisect_left(self._firsts, key)
        position = bisect_left(self._keys[block], key)
        # Several pods may have one name.
        while pod not in self._rows[block][position : position + 1]:
            block, position = (block, position + 1) if position < len(self._rows[block]) else (block + 1, 0)
        return block, position

    def _drop(self, block: int, position: int) -> None:
        del self._keys[block][position], self._rows[block][position]
        if not self._keys[block] and len(self._keys) > 1:
            del self._keys[block], self._rows[block], self._firsts[max(block - 1, 0)]
        elif block and not position:
            self._firsts[block - 1] = self._keys[block][0]

    def _split(self, block: int) -> None:
        """Make two blocks of one."""
        for blocks in (self._keys, self._rows):
            whole: list[Any] = blocks[block]
            blocks[block : block + 1] = [whole[:_BLOCK], whole[_BLOCK:]]
        self._firsts.insert(block, self._keys[block + 1][0])

    def _heir(self, pod: int, exists: BoolArray) -> tuple[int, int]:
        """The first replacement of a pod that exists, NO_POD if none does, and the pod that it replaces."""
        before, heir = pod, int(self._pods.replaced_by[pod])
        while heir != NO_POD and not exists[heir]:
            before, heir = heir, int(self._pods.replaced_by[heir])
        return before, heir

    def _rank_at(self, block: int, position: int) -> int | None:
        """The rank of the pod at a position, which may be one before or after those of the block; None without one."""
        if position < 0:
            block, position = block - 1, -1
        elif position == len(self._rows[block]):
            block, position = block + 1, 0
        if not 0 <= block < len(self._rows) or not self._rows[block]:
            return None
        return int(self._pods.rank[self._rows[block][position]])

    def _renumber(self) -> None:
        pods = self._pods
        before = pods.rank.copy()
        rows = [row for block in self._rows for row in block]
        pods.rank[rows] = ranks(len(rows))
        for pod in np.flatnonzero(pods.replaces != NO_POD).tolist():
            original = pods.original(pod)
            pods.rank[pod] = pods.rank[original] + before[pod] - before[original]

    def _key(self, pod: int) -> Key:
        return self._pods.tables.namespaces[self._pods.namespace[pod]], self._pods.names[pod]


# Sorting a set of keys costs as much as there are keys. Here that happens once; from then on a key that was touched
# costs a binary search and a move of memory.
class KeyOrder:
    """The keys of a mapping to rows, by namespace and name, and what some columns have in these rows.

    Mapping and columns have another owner, who reports changes.
    """

    def __init__(self, row_of: Mapping[Key, int], columns: Mapping[str, list[Any]]) -> None:
        self._keys: list[Key] = []
        self._rows = array("q")
        self._touched: set[Key] = set()
        self.renumber(row_of, columns)

    def touch(self, key: Key) -> None:
        """Note that a key came, has another row, or is gone."""
        if self._in_order is not None:
            self._touched.add(key)

    def renumber(self, row_of: Mapping[Key, int], columns: Mapping[str, list[Any]]) -> None:
        """All rows have changed."""
        self._row_of, self._columns = row_of, columns
        self._in_order: dict[str, list[Any]] | None = None

    def rows(self) -> IntArray:
        """The rows of all keys in order."""
        self._catch_up()
        return np.array(self._rows, dtype=np.int64)

    def column(self, name: str) -> list[Any]:
        """What a column has for all keys, in their order."""
        return list(self._catch_up()[name])

    def _catch_up(self) -> dict[str, list[Any]]:
        if self._in_order is None or len(self._touched) * _SHARE > len(self._keys):
            self._keys = sorted(self._row_of)
            self._rows = array("q", map(self._row_of.__getitem__, self._keys))
            self._in_order = {name: list(map(column.__getitem__, self._rows)) for name, column in self._columns.items()}
        else:
            for key in self._touched:
                self._place(key, self._in_order)
        self._touched.clear()
        return self._in_order

    def _place(self, key: Key, in_order: Mapping[str, list[Any]]) -> None:
        position, row = bisect_left(self._keys, key), self._row_of.get(key)
        is_known = position < len(self._keys) and self._keys[position] == key
        replaced = slice(position, position + is_known)
        self._keys[replaced] = [key] if row is not None else []
        self._rows[replaced] = array("q", [row] if row is not None else [])
        for name, ordered in in_order.items():
            ordered[replaced] = [self._columns[name][row]] if row is not None else []


class Residents:
    """The pods on each of ``count`` nodes."""

    def __init__(self, pods: Pods, count: int) -> None:
        order = pods.where(np.ones(len(pods), dtype=bool))
        order = order[np.argsort(pods.node[order], kind="stable")]
        #: The pods that were there at first, by node, and where each node's begin.
        self._settled = order[np.searchsorted(pods.node[order], 0) :]
        self._first = np.searchsorted(pods.node[self._settled], np.arange(count + 1))
        #: Where each pod was at first.
        self._home: IdArray = pods.node
        #: The pods that came later, by node.
        self.arrived: dict[int, list[int]] = {}

    def copied(self) -> Residents:
        """A copy for another state."""
        other = Residents.__new__(Residents)
        other._settled, other._first, other._home = self._settled, self._first, self._home  # noqa: SLF001
        other.arrived = {node: list(pods) for node, pods in self.arrived.items()}
        return other

    def on(self, node: int, exists: BoolArray, now: IdArray) -> tuple[IntArray, bool]:
        """The pods on a node, and whether all of them have been there from the beginning; ``now`` is where pods are."""
        settled = self._settled[self._first[node] : self._first[node + 1]]
        settled = settled[exists[settled] & (now[settled] == node)]
        arrived = self.arrived.get(node)
        return (np.concatenate((settled, arrived)), False) if arrived else (settled, True)

    def enter(self, pod: int, node: int) -> None:
        """Add a pod."""
        if pod >= len(self._home) or self._home[pod] != node:
            self.arrived.setdefault(node, []).append(pod)

    def insert(self, node: int) -> None:
        """Insert a node without pods; those after it shift by one."""
        self._first = np.insert(self._first, node, self._first[node])
        self._home = np.where(self._home >= node, self._home + 1, self._home)
        self.arrived = {at + (at >= node): pods for at, pods in self.arrived.items()}

    def take_out(self, node: int) -> None:
        """A node has gone, and its pods before it."""
        begin, end = self._first[node : node + 2].tolist()
        self._settled = np.delete(self._settled, slice(begin, end))
        self._first = np.delete(self._first, node)
        self._first[node:] -= end - begin
        self._home = np.where(self._home == node, PENDING, self._home - (self._home > node))
        self.arrived = {at - (at > node): pods for at, pods in self.arrived.items() if at != node}
