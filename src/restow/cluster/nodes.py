"""Nodes as columns, in order of their names.

Amounts are ``int64[resource, node]``: CPU in milli, everything else in whole units, rounded up as Kubernetes'
``Quantity.Value`` does. Labels are read one key at a time: ``label_column`` gives each node a code for its value, so a
selector costs one comparison of an array, not one look-up a node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IdArray, IntArray, Interner
from restow.kube.objects import ContainerImage, Taint
from restow.kube.taints import FENCE

#: Resources that every node is asked for, in the first rows of every amount array.
CPU, MEMORY, PODS = 0, 1, 2
BASIC_RESOURCES = ("cpu", "memory", "pods")

#: The code of a node that does not carry a label.
NO_LABEL = -1


@dataclass(slots=True, frozen=True)
class LabelColumn:
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
    _columns: dict[str, LabelColumn] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def add_resources(self, names: Sequence[str]) -> None:
        """Have rows for resources that no node has, in arrays of our own."""
        more = ((0, len(names)), (0, 0))
        self.resources = (*self.resources, *names)
        self.allocatable, self.capacity = np.pad(self.allocatable, more), np.pad(self.capacity, more)
        self.lists_allocatable = np.pad(self.lists_allocatable, more)
        self.lists_capacity = np.pad(self.lists_capacity, more)

    def lasting_taint_sets(self) -> tuple[tuple[Taint, ...], ...]:
        """``taint_sets`` without restow's own fences, which end with their plan: no reason to move a pod."""
        return tuple(tuple(each for each in taints if each.key != FENCE) for taints in self.taint_sets)

    def fenced(self, some: IntArray, effect: str) -> Nodes:
        """The same nodes where some of them, by index, are fenced, and no others."""
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
