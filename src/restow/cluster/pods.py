"""Pods as columns: one array a property, one row a pod.

A column ends in either a number (priority, times) or an identifier into a table of distinct values (tolerations,
owners, states...). The number of a row is the identity of its pod and says nothing of its order: that is ``rank``, by
namespace and name, and a replacement right after the pod that it replaces. Where a pod is *now* is the business of
``cluster.state``, which alone adds rows and changes them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, GrowingColumns, IdArray, IntArray, by_appearance, hashable
from restow.cluster.pod_values import OVER, Flag, Phase, PodTables

#: ``node`` of a pod that has none, and of a pod on the first of the nodes that are not there
#: (``Pods.unknown_nodes``); that of a pod on the next one is one less, and so on.
PENDING, UNKNOWN_NODE = -1, -2

#: Everything that is known of one pod, by name of the column.
PodRow = dict[str, Any]
#: ``replaces`` of a pod that replaces no other, and ``replaced_by`` of one that no other replaces.
NO_POD: Final = -1
#: Rows are added in batches of this size.
SPARE_ROWS: Final = 64
#: How far apart the ranks of pods are that were read together.
_APART: Final = 1 << 32


class CopiedRow(NamedTuple):
    """A row that copies another except for some columns."""

    pod: int
    like: int
    changed: frozenset[str]


@dataclass(slots=True)
class Pods:
    """All pods of a cluster; every array has one row a pod.

    Rows of pods that are gone are used again, and there are some at the end that no pod has had yet. So a row counts only
    where a ``ClusterState`` says that its pod exists.
    """

    names: list[str]
    uids: list[str]
    namespace: IdArray
    #: Index of the node, or PENDING, or UNKNOWN_NODE and less.
    node: IdArray
    #: Index of the node for which its status nominates the pod, negative as in ``node``.
    nominated: IdArray
    labels: IdArray
    owners: IdArray
    resources: IdArray
    #: What a pod holds on the node where it was observed; -1 where that is what it requests.
    held: IdArray
    tolerations: IdArray
    rules: IdArray
    spread: IdArray
    images: IdArray
    init_images: IdArray
    volume_images: IdArray
    ports: IdArray
    schedulers: IdArray
    gates: IdArray
    group_marks: IdArray
    volumes: IdArray
    claims: IdArray
    origins: IdArray
    vetoes: IdArray
    states: IdArray
    conditions: IdArray
    phase: npt.NDArray[np.int8]
    #: 0 BestEffort, 1 Burstable, 2 Guaranteed.
    qos: npt.NDArray[np.int8]
    #: ``spec.priority``, 0 where absent; ``has_priority`` distinguishes the two.
    priority: npt.NDArray[np.int64]
    has_priority: npt.NDArray[np.bool_]
    #: creationTimestamp and status.startTime, nanoseconds since the epoch, or NO_TIME.
    created: npt.NDArray[np.int64]
    started: npt.NDArray[np.int64]
    flags: npt.NDArray[np.int16]
    #: The row of the pod that a replacement replaces (``workloads.replacements``), NO_POD for every other pod.
    replaces: IdArray
    #: The row of the last replacement of a pod, NO_POD if it has none.
    replaced_by: IdArray
    #: The sort key of canonical order.
    rank: IntArray
    tables: PodTables
    #: The names of nodes that are not there, or were not once; what stands for them counts down from UNKNOWN_NODE.
    unknown_nodes: list[str] = field(default_factory=list)
    #: Every row that was written since these columns are kept here, oldest first.
    written: list[int] = field(default_factory=list, init=False)
    #: What is kept of the rows as ``values``, and forgotten once one of them is written (``cluster.pod_columns``).
    followers: list[dict[str, Any]] = field(default_factory=list, init=False)
    #: The row that was written last, if it was copied from another.
    copied: CopiedRow | None = field(default=None, init=False)
    #: Rows that may be used again.
    _free: list[int] = field(default_factory=list, init=False)
    #: Rows at the end that no pod has had yet.
    _spare: int = field(default=0, init=False)
    #: None while others may have the same arrays and tables.
    _columns: GrowingColumns | None = field(default=None, init=False)
    #: Identifiers by value, for tables that got a value.
    _interned: dict[str, dict[Hashable, int]] = field(default_factory=dict, init=False)
    #: Whether the order of rows is that of ranks.
    _rows_in_order: bool = field(default=True, init=False)

    def __len__(self) -> int:
        return len(self.names)

    def shared(self) -> Pods:
        """The pods for another state; the first of the two to write copies the columns."""
        self._columns = None
        other = replace(self)
        other._free, other._spare = list(self._free), self._spare  # noqa: SLF001  of the same class
        other._rows_in_order = self._rows_in_order  # noqa: SLF001
        return other

    @property
    def used(self) -> int:
        """How many rows have had a pod: they come first, and those after them are unused."""
        return len(self.names) - self._spare

    def read(self) -> BoolArray:
        """The pods that were read, and are no replacements, bool[pod]."""
        read: BoolArray = self.replaces == NO_POD
        read[self._free] = False
        read[self.used :] = False
        return read

    def row(self, pod: int) -> PodRow:
        """Everything that the columns know of a pod."""
        return {name: getattr(self, name)[pod] for name in _COLUMNS}

    def intern(self, table: str, value: Any) -> int:
        """The identifier of a value in one of the tables, which has it from then on."""
        if self._columns is None:
            self._own()
        values: list[Any] = getattr(self.tables, table)
        if table not in self._interned:
            # Conditions hold times, so those that were read are all different and none is looked up again.
            known = values if table != "conditions" else []
            self._interned[table] = {hashable(each): identifier for identifier, each in enumerate(known)}
        identifier = self._interned[table].setdefault(hashable(value), len(values))
        if identifier == len(values):
            values.append(value)
        return identifier

    def drop_unused(self, table: str) -> None:
        """Drop the values of a table that no row has; identifiers change."""
        if self._columns is None:
            self._own()
        column: IdArray = getattr(self, table)
        column[:], kept = by_appearance(column)
        values: list[Any] = getattr(self.tables, table)
        values[:] = [values[each] for each in kept]
        self._interned.pop(table, None)

    def unknown_node(self, name: str) -> int:
        """What stands in ``node`` and ``nominated`` for a node that is not there."""
        if name not in self.unknown_nodes:
            self.unknown_nodes = [*self.unknown_nodes, name]
        return UNKNOWN_NODE - self.unknown_nodes.index(name)

    def own_places(self) -> tuple[IdArray, IdArray]:
        """``node`` and ``nominated``, which may be changed: their nodes have other positions from now on."""
        if self._columns is None:
            self._own()
        return self.node, self.nominated

    @property
    def has_free_rows(self) -> bool:
        """Whether the next pod takes the row of one that is gone."""
        return bool(self._free)

    def add(self, row: PodRow) -> int:
        """Put a pod into a row that is free, or else into a new one; returns which."""
        if not self._free:
            return self.append(row)
        pod = self._free.pop()
        self.write(pod, row)
        return pod

    def append(self, row: PodRow) -> int:
        """Put a pod into a row that no pod has had; returns which."""
        pod, is_first = self._next_row()
        self.write(pod, row)
        if is_first:
            self._fill_spare_rows(pod)
        return pod

    def append_like(self, pod: int, changed: PodRow) -> int:
        """Copy a pod except for some columns into a row that no pod has had; returns the row."""
        new, is_first = self._next_row()
        for name in _COLUMNS:
            column = getattr(self, name)
            column[new] = changed[name] if name in changed else column[pod]
        self._notify_followers(new)
        self.copied = CopiedRow(new, pod, frozenset(changed))
        if is_first:
            self._fill_spare_rows(new)
        return new

    def _next_row(self) -> tuple[int, bool]:
        """A row that no pod has had, and whether it is the first of some more."""
        if self._columns is None:
            self._own()
        is_first = not self._spare
        if is_first:
            self._spare = SPARE_ROWS
            self.names += [""] * SPARE_ROWS
            self.uids += [""] * SPARE_ROWS
            self._resize(len(self.names))
        self._spare -= 1
        return self.used - 1, is_first

    def _fill_spare_rows(self, pod: int) -> None:
        """Have rows that no pod has had yet say what one pod's says, so that nothing new is found in them."""
        for name in _COLUMNS:
            column = getattr(self, name)
            if isinstance(column, np.ndarray):
                column[pod + 1 :] = NO_POD if name in _ELSEWHERE else column[pod]

    def write(self, pod: int, row: PodRow) -> None:
        """Change everything that is known of a pod."""
        if self._columns is None:
            self._own()
        for name, value in row.items():
            getattr(self, name)[pod] = value
        self._notify_followers(pod)

    def _notify_followers(self, pod: int) -> None:
        """A row is written."""
        self.written.append(pod)
        for kept in self.followers:
            kept.pop("values", None)
        self.followers.clear()
        self.copied = None
        self._rows_in_order = False

    def free(self, pod: int) -> None:
        """Let the row of a pod that is gone be used again."""
        self._free.append(pod)

    def take_back(self, pod: int, row: PodRow) -> None:
        """Give the row that was freed last back to its pod."""
        last = self._free.pop()
        assert last == pod, "rows are given back in reverse order"
        self.write(pod, row)

    def link(self, pod: int, replaces: int) -> None:
        """Make a pod the replacement of another one, or of none (NO_POD)."""
        if self._columns is None:
            self._own()
        self.replaces[pod] = replaces

    def in_order(self, pods: IntArray) -> IntArray:
        """Some pods in canonical order."""
        return pods[np.argsort(self.rank[pods], kind="stable")]

    def where(self, chosen: BoolArray) -> IntArray:
        """The pods of a mask, bool[pod], in canonical order."""
        found = np.flatnonzero(chosen)
        return found if self._rows_in_order else self.in_order(found)

    def only(self, rows: IntArray) -> Pods:
        """Some of the pods and no others, in the order given; what is derived from these pods stays theirs."""
        arrays = ((name, getattr(self, name)) for name in _COLUMNS)
        columns: dict[str, Any] = {name: each[rows] for name, each in arrays if isinstance(each, np.ndarray)}
        names, uids = ([texts[row] for row in rows.tolist()] for texts in (self.names, self.uids))
        return replace(self, **columns, names=names, uids=uids)

    def is_over(self, pod: int) -> bool:
        """Whether a pod is Succeeded or Failed."""
        return int(self.phase[pod]) in OVER

    def is_replacement(self, pod: int) -> bool:
        """Whether a pod is there in place of another one."""
        return bool(self.replaces[pod] != NO_POD)

    def original(self, pod: int) -> int:
        """The pod that a replacement goes back to, or the pod itself."""
        while self.replaces[pod] != NO_POD:
            pod = int(self.replaces[pod])
        return pod

    def _own(self) -> None:
        """Have columns of our own from now on."""
        arrays = {name: getattr(self, name) for name in _COLUMNS if isinstance(getattr(self, name), np.ndarray)}
        self._columns = GrowingColumns(arrays)
        self.names, self.uids = list(self.names), list(self.uids)
        self.tables = PodTables(**{each: list(getattr(self.tables, each)) for each in self.tables.__struct_fields__})
        self._resize(len(self.names))

    def _resize(self, count: int) -> None:
        assert self._columns is not None
        for name, column in self._columns.resized(count).items():
            setattr(self, name, column)

    def full_name(self, pod: int) -> str:
        """``namespace/name`` of a pod."""
        return f"{self.tables.namespaces[self.namespace[pod]]}/{self.names[pod]}"

    def carries(self, pod: int, flag: Flag) -> bool:
        """Whether a pod carries a flag."""
        return bool(int(self.flags[pod]) & int(flag))

    def has(self, flag: Flag) -> npt.NDArray[np.bool_]:
        """Which pods carry a flag, bool[pod]."""
        return np.bitwise_and(self.flags, int(flag)).astype(bool)

    def on_unknown_nodes(self) -> int:
        """How many pods are on nodes that the input does not hold."""
        return int((self.node <= UNKNOWN_NODE).sum())

    @property
    def terminal(self) -> npt.NDArray[np.bool_]:
        """Which pods are Succeeded or Failed: they hold no resources. bool[pod]."""
        return np.isin(self.phase, (Phase.SUCCEEDED, Phase.FAILED))


def ranks(count: int) -> IntArray:
    """Ranks for ``count`` pods in order."""
    return np.arange(count, dtype=np.int64) * _APART


#: Columns that name a node or another pod, where -1 is none.
_ELSEWHERE: Final = frozenset({"node", "nominated", "replaces", "replaced_by"})
_NOT_COLUMNS: Final = ("tables", "unknown_nodes")
_COLUMNS: Final = tuple(each.name for each in fields(Pods) if each.init and each.name not in _NOT_COLUMNS)
