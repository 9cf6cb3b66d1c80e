"""From wire nodes to columns, in order of their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restow.cluster.amounts import parse_amounts
from restow.cluster.interning import BoolArray, Interner
from restow.cluster.nodes import BASIC_RESOURCES, Nodes
from restow.errors import InputError
from restow.kube.excerpts import title
from restow.kube.objects import Node, Taint, WireQuantity


@dataclass(slots=True, frozen=True)
class ReadNode:
    """A wire node with its amounts."""

    wire: Node
    allocatable: dict[str, int]
    capacity: dict[str, int]


def read_node(node: Node) -> ReadNode:
    """The node with its amounts; InputError names node and field of an amount that cannot be read."""
    return ReadNode(
        node,
        allocatable=_amounts(node, "allocatable", node.status.allocatable),
        capacity=_amounts(node, "capacity", node.status.capacity),
    )


def node_index(names: Iterable[str]) -> dict[str, int]:
    """The position of each node by name: nodes are in order of their names."""
    return {name: i for i, name in enumerate(sorted(names))}


def node_columns(nodes: Mapping[str, ReadNode], index: Mapping[str, int], pod_resources: Iterable[str]) -> Nodes:
    """The columns of nodes by name, in the order of ``index``.

    ``pod_resources`` are the resource names that pods request: a row is made for each name that either side uses.
    """
    read = [nodes[name] for name in index]
    ordered = [node.wire for node in read]
    allocatable = [node.allocatable for node in read]
    capacity = [node.capacity for node in read]
    resources = _resource_names(allocatable, capacity, pod_resources)
    taint_sets: Interner[tuple[Taint, ...]] = Interner()
    taints = taint_sets.ids(node.spec.taints or () for node in ordered)
    return Nodes(
        names=tuple(node.metadata.name for node in ordered),
        index=index,
        labels=tuple(node.metadata.labels or {} for node in ordered),
        resources=resources,
        allocatable=_table(allocatable, resources),
        capacity=_table(capacity, resources),
        lists_allocatable=_listed(allocatable, resources),
        lists_capacity=_listed(capacity, resources),
        unschedulable=np.array([node.spec.unschedulable for node in ordered], dtype=bool),
        ready=np.array([_is_ready(node) for node in ordered], dtype=bool),
        taints=np.array(taints, dtype=np.int32),
        taint_sets=tuple(taint_sets.keys()),
        images=tuple(node.status.images or () for node in ordered),
    )


def _is_ready(node: Node) -> bool:
    """A node without a Ready condition counts as ready. Source: Descheduler 0.36, node.ReadyNodes."""
    return all(each.type != "Ready" or each.status == "True" for each in node.status.conditions or ())


def _amounts(node: Node, field: str, wire: Mapping[str, WireQuantity] | None) -> dict[str, int]:
    try:
        return parse_amounts(wire or {})
    except ValueError as error:
        raise InputError(f"{title('Node', '', node.metadata.name)}: status.{field}: {error}") from error


def _resource_names(
    allocatable: Sequence[Mapping[str, int]], capacity: Sequence[Mapping[str, int]], requested: Iterable[str]
) -> tuple[str, ...]:
    found = set(requested).union(*allocatable, *capacity)
    return (*BASIC_RESOURCES, *sorted(found.difference(BASIC_RESOURCES)))


def _table(rows: Sequence[Mapping[str, int]], resources: Sequence[str]) -> npt.NDArray[np.int64]:
    return np.array([[row.get(name, 0) for row in rows] for name in resources], dtype=np.int64)


def _listed(rows: Sequence[Mapping[str, int]], resources: Sequence[str]) -> BoolArray:
    return np.array([[name in row for row in rows] for name in resources], dtype=bool)
