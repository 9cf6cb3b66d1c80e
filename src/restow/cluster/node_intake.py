"""From wire nodes to columns, in order of their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from restow.cluster.amounts import parse_amounts
from restow.cluster.interning import BoolArray, Interner
from restow.cluster.nodes import BASIC_RESOURCES, Nodes
from restow.errors import InputError
from restow.kube.objects import Node, Taint, WireQuantity


def node_columns(nodes: Iterable[Node], pod_resources: Iterable[str]) -> tuple[Nodes, int]:
    """The columns, and how many nodes were given twice (the last one counts).

    ``pod_resources`` are the resource names that pods request: a row is made for each name that either side uses.
    InputError names the node and field of an amount that cannot be read.
    """
    wire = list(nodes)
    by_name = {node.metadata.name: node for node in wire}
    ordered = [by_name[name] for name in sorted(by_name)]
    allocatable = [_amounts(node, "allocatable", node.status.allocatable) for node in ordered]
    capacity = [_amounts(node, "capacity", node.status.capacity) for node in ordered]
    resources = _resource_names(allocatable, capacity, pod_resources)
    taint_sets: Interner[tuple[Taint, ...]] = Interner()
    taints = taint_sets.ids(node.spec.taints or () for node in ordered)
    columns = Nodes(
        names=tuple(node.metadata.name for node in ordered),
        index={node.metadata.name: i for i, node in enumerate(ordered)},
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
    return columns, len(wire) - len(ordered)


def _is_ready(node: Node) -> bool:
    """A node without a Ready condition counts as ready. Source: Descheduler 0.36, node.ReadyNodes."""
    return all(each.type != "Ready" or each.status == "True" for each in node.status.conditions or ())


def _amounts(node: Node, field: str, wire: Mapping[str, WireQuantity] | None) -> dict[str, int]:
    try:
        return parse_amounts(wire or {})
    except ValueError as error:
        raise InputError(f"Node {node.metadata.name}: status.{field}: {error}") from error


def _resource_names(
    allocatable: Sequence[Mapping[str, int]], capacity: Sequence[Mapping[str, int]], requested: Iterable[str]
) -> tuple[str, ...]:
    found = set(requested).union(*allocatable, *capacity)
    return (*BASIC_RESOURCES, *sorted(found.difference(BASIC_RESOURCES)))


def _table(rows: Sequence[Mapping[str, int]], resources: Sequence[str]) -> npt.NDArray[np.int64]:
    return np.array([[row.get(name, 0) for row in rows] for name in resources], dtype=np.int64)


def _listed(rows: Sequence[Mapping[str, int]], resources: Sequence[str]) -> BoolArray:
    return np.array([[name in row for row in rows] for name in resources], dtype=bool)
