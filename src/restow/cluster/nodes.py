"""Nodes as columns, in order of their names.

The number of a row is the position of its node: it changes when a node comes or goes before it. Only ``cluster.state``
adds rows, changes them and takes them out, in arrays of its own: arrays that others hold do not change. Code that
derives data from nodes subscribes (``follow``), and is called when the data is stale.

Amounts are ``int64[resource, node]``: CPU in milli, everything else in whole units, rounded up as Kubernetes'
``Quantity.Value`` does. Labels are read one key at a time: ``label_column`` gives each node a code for its value, so a
selector costs one comparison of an array, not one look-up a node.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from restow.cluster.interning import BoolArray, IdArray, IntArray, Interner
from restow.kube.objects import ContainerImage, Taint
from restow.kube.taints import FENCE

#: Resources that every node is asked for, in the first rows of every amount array.
CPU, MEMORY, PODS = 0, 1, 2
BASIC_RESOURCES = ("cpu", "memory", "pods")
#: What a scheduler has an amount of for every node, listed or not.
ALWAYS_COUNTED = (*BASIC_RESOURCES, "ephemeral-storage")
#: The tables of resources by nodes.
_AMOUNTS = ("allocatable", "capacity", "lists_allocatable", "lists_capacity")

#: The code of a node that does not carry a label.
NO_LABEL = -1


class NodePart(enum.Flag):
    """What of nodes may change."""

    #: A node came or went: positions are others, and everything else may be too.
    POSITION = enum.auto()
    LABELS = enum.auto()
    #: A label key that was read.
    ASKED_LABELS = enum.auto()
    #: Taints, or the cordon.
    TAINTS = enum.auto()
    AMOUNTS = enum.auto()
    IMAGES = enum.auto()
    READINESS = enum.auto()
    #: What Karpenter may do with it.
    DISRUPTION = enum.auto()


#: Anything.
ANY_PART: Final = ~NodePart(0)


class NodeRow(Struct, frozen=True):
    """Everything that is known of one node, by value."""

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    capacity: Mapping[str, int]
    unschedulable: bool
    ready: bool
    taints: tuple[Taint, ...]
    images: tuple[ContainerImage, ...]
    do_not_disrupt: bool = False


class LabelColumn(Struct, frozen=True):
    """One label over all nodes: ``values[codes[node]]`` is the value, ``codes[node] == NO_LABEL`` its absence."""

    values: tuple[str, ...]
    codes: IdArray
    index: Mapping[str, int]

    def code(self, value: str) -> int:
        """The code of a value; a value that no node carries gets a code that matches nothing."""
        return self.index.get(value, len(self.values))


@dataclass(slots=True)
class Nodes:
    """All nodes of a cluster; every array has one entry a node."""

    names: tuple[str, ...]
    index: Mapping[str, int]
    labels: tuple[Mapping[str, str], ...]
    #: Resource names of the amount arrays' rows; the first three are BASIC_RESOURCES.
    resources: tuple[str, ...]
    allocatable: npt.NDArray[np.int64]
    capacity: npt.NDArray[np.int64]
    #: Which amounts the node lists at all, bool[resource, node].
    lists_allocatable: BoolArray
    lists_capacity: BoolArray
    unschedulable: BoolArray
    #: Not disqualified by a Ready condition whose status is not True.
    ready: BoolArray
    #: Index into ``taint_sets``.
    taints: IdArray
    taint_sets: tuple[tuple[Taint, ...], ...]
    images: tuple[tuple[ContainerImage, ...], ...]
    #: Whether the annotation ``karpenter.sh/do-not-disrupt`` is "true".
    do_not_disrupt: BoolArray
    _columns: dict[str, LabelColumn] = field(default_factory=dict)
    #: Every row that was changed since the last one came or went, oldest first.
    written: list[int] = field(default_factory=list, init=False)
    _followers: list[tuple[NodePart, Callable[[], object]]] = field(default_factory=list, init=False)

    def __len__(self) -> int:
        return len(self.names)

    def follow(self, parts: NodePart, forget: Callable[[], object]) -> None:
        """Have ``forget`` called once one of these parts of some node has changed, from now on."""
        self._followers.append((parts, forget))

    def dismiss_followers(self) -> None:
        """Drop all subscribers so far."""
        self._followers.clear()

    def notify(self, parts: NodePart) -> None:
        """Notify subscribers that some parts changed."""
        for followed, forget in self._followers:
            if followed & parts:
                forget()

    def row(self, node: int) -> NodeRow:
        """Everything that the columns know of a node."""
        return NodeRow(
            name=self.names[node],
            labels=self.labels[node],
            allocatable=_listed(self.resources, self.allocatable[:, node], self.lists_allocatable[:, node]),
            capacity=_listed(self.resources, self.capacity[:, node], self.lists_capacity[:, node]),
            unschedulable=bool(self.unschedulable[node]),
            ready=bool(self.ready[node]),
            taints=self.taint_sets[self.taints[node]],
            images=self.images[node],
            do_not_disrupt=bool(self.do_not_disrupt[node]),
        )

    def insert(self, node: int, row: NodeRow) -> None:
        """Have one node more, at a position that its name fits to."""
        self._renamed((*self.names[:node], row.name, *self.names[node:]))
        self.labels = (*self.labels[:node], row.labels, *self.labels[node:])
        self.images = (*self.images[:node], row.images, *self.images[node:])
        for name in _AMOUNTS:
            setattr(self, name, np.insert(getattr(self, name), node, 0, axis=1))
        self._write_amounts(node, row)
        self.unschedulable = np.insert(self.unschedulable, node, row.unschedulable)
        self.ready = np.insert(self.ready, node, row.ready)
        self.do_not_disrupt = np.insert(self.do_not_disrupt, node, row.do_not_disrupt)
        self.taints = np.insert(self.taints, node, 0)
        self._write_taints(node, row.taints)

    def take_out(self, node: int) -> None:
        """Have one node less."""
        self._renamed((*self.names[:node], *self.names[node + 1 :]))
        self.labels = (*self.labels[:node], *self.labels[node + 1 :])
        self.images = (*self.images[:node], *self.images[node + 1 :])
        for name in _AMOUNTS:
            setattr(self, name, np.delete(getattr(self, name), node, axis=1))
        for name in ("unschedulable", "ready", "do_not_disrupt", "taints"):
            setattr(self, name, np.delete(getattr(self, name), node))

    def write(self, node: int, row: NodeRow) -> NodePart:
        """Change what is known of a node; returns what is different now."""
        before = self.row(node)
        changed = self._write_labels(node, before.labels, row.labels)
        if row.taints != before.taints:
            changed |= NodePart.TAINTS
            self._write_taints(node, row.taints)
        if row.unschedulable != before.unschedulable:
            changed |= NodePart.TAINTS
            self.unschedulable = _with(self.unschedulable, node, row.unschedulable)
        if row.ready != before.ready:
            changed |= NodePart.READINESS
            self.ready = _with(self.ready, node, row.ready)
        if row.do_not_disrupt != before.do_not_disrupt:
            changed |= NodePart.DISRUPTION
            self.do_not_disrupt = _with(self.do_not_disrupt, node, row.do_not_disrupt)
        if (row.allocatable, row.capacity) != (before.allocatable, before.capacity):
            changed |= NodePart.AMOUNTS
            self._write_amounts(node, row)
        if row.images != before.images:
            changed |= NodePart.IMAGES
            self.images = (*self.images[:node], row.images, *self.images[node + 1 :])
        if changed:
            self.written.append(node)
        return changed

    def validate(self) -> None:
        """AssertionError where the columns do not fit together."""
        assert list(self.names) == sorted(self.index), "nodes are not in order of their names"
        assert self.index == {name: node for node, name in enumerate(self.names)}, "the index of the nodes differs"
        for key, column in self._columns.items():
            fresh = _label_column(self.labels, key)
            assert np.array_equal(column.codes, fresh.codes), f"the column of the label {key} differs"
            assert column.values == fresh.values, f"the values of the label {key} differ"

    def _renamed(self, names: tuple[str, ...]) -> None:
        self.names, self.index = names, {name: node for node, name in enumerate(names)}
        self._columns = {}
        self.written = []

    def _write_labels(self, node: int, before: Mapping[str, str], labels: Mapping[str, str]) -> NodePart:
        if labels == before:
            return NodePart(0)
        self.labels = (*self.labels[:node], labels, *self.labels[node + 1 :])
        keys = {key for key, _ in labels.items() ^ before.items()}
        kept = {key: column for key, column in self._columns.items() if key not in keys}
        was_asked, self._columns = len(kept) < len(self._columns), kept
        return NodePart.LABELS | NodePart.ASKED_LABELS if was_asked else NodePart.LABELS

    def _write_amounts(self, node: int, row: NodeRow) -> None:
        self._add_rows(sorted({*row.allocatable, *row.capacity}.difference(self.resources)))
        amounts = [(row.allocatable.get(name, 0), row.capacity.get(name, 0)) for name in self.resources]
        listed = [(name in row.allocatable, name in row.capacity) for name in self.resources]
        columns = (*zip(*amounts, strict=True), *zip(*listed, strict=True))
        for name, column in zip(_AMOUNTS, columns, strict=True):
            setattr(self, name, _with(getattr(self, name), node, column))

    def _write_taints(self, node: int, taints: tuple[Taint, ...]) -> None:
        sets = self.taint_sets if taints in self.taint_sets else (*self.taint_sets, taints)
        self.taints = _with(self.taints, node, sets.index(taints))
        if len(sets) > len(self):
            used, numbers = np.unique(self.taints, return_inverse=True)
            sets, self.taints = tuple(sets[each] for each in used.tolist()), numbers.astype(np.int32)
        self.taint_sets = sets

    def add_resources(self, names: Sequence[str]) -> None:
        """Have rows for resources that no node has, in arrays of our own."""
        if names:
            self._add_rows(names)
            self.notify(NodePart.AMOUNTS)

    def _add_rows(self, names: Sequence[str]) -> None:
        more = ((0, len(names)), (0, 0))
        self.resources = (*self.resources, *names)
        self.allocatable, self.capacity = np.pad(self.allocatable, more), np.pad(self.capacity, more)
        self.lists_allocatable = np.pad(self.lists_allocatable, more)
        self.lists_capacity = np.pad(self.lists_capacity, more)

    def lasting_taint_sets(self) -> tuple[tuple[Taint, ...], ...]:
        """``taint_sets`` without restow's own fences, which end with their plan: no reason to move a pod."""
        return tuple(tuple(each for each in taints if each.key != FENCE) for taints in self.taint_sets)

    def fenced(self, some: IntArray, effect: str) -> Nodes:
        """These nodes with fences on some of them, by index, and on no others."""
        lasting = self.lasting_taint_sets()
        fence = Taint(FENCE, "planned", effect)
        taints = self.taints.copy()
        taints[some] += len(lasting)
        sets = (*lasting, *((*each, fence) for each in lasting))
        return replace(self, taints=taints, taint_sets=sets)

    def resource(self, name: str) -> int | None:
        """The row of a resource, or None where neither a node nor a pod names it."""
        return self.resources.index(name) if name in self.resources else None

    def label_column(self, key: str) -> LabelColumn:
        """The values of one label over all nodes."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = _label_column(self.labels, key)
        return column

    def zone(self, node: int) -> str:
        """The zone of a node, or an empty string."""
        labels = self.labels[node]
        return labels.get("topology.kubernetes.io/zone") or labels.get("failure-domain.beta.kubernetes.io/zone", "")


def _label_column(labels: tuple[Mapping[str, str], ...], key: str) -> LabelColumn:
    interner: Interner[str] = Interner()
    values = (node.get(key) for node in labels)
    codes = [NO_LABEL if value is None else interner.id(value) for value in values]
    found = tuple(interner.keys())
    return LabelColumn(found, np.array(codes, dtype=np.int32), {value: code for code, value in enumerate(found)})


def _listed(resources: Iterable[str], amounts: IntArray, is_listed: BoolArray) -> dict[str, int]:
    every = zip(resources, amounts.tolist(), is_listed.tolist(), strict=True)
    return {name: amount for name, amount, listed in every if listed}


def _with(array: npt.NDArray[Any], node: int, value: Any) -> npt.NDArray[Any]:
    """A copy in which a node has another value, or column of values."""
    changed = array.copy()
    changed[..., node] = value
    return changed
