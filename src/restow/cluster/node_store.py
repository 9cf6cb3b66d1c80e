"""From wire nodes to columns, in order of their names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from restow.cluster.amounts import LARGEST, parse_amounts
from restow.cluster.interning import BoolArray, Interner
from restow.cluster.nodes import BASIC_RESOURCES, NodeRow, Nodes
from restow.cluster.pods import Pods
from restow.errors import InputError
from restow.kube.excerpts import title
from restow.kube.objects import Node, Taint, WireQuantity


class ReadNode(Struct, frozen=True):
    """A wire node and its row."""

    wire: Node
    row: NodeRow


def read_node(node: Node) -> ReadNode:
    """The node with its row; InputError names node and field of an amount that cannot be read."""
    return ReadNode(
        node,
        NodeRow(
            name=node.metadata.name,
            labels=node.metadata.labels or {},
            allocatable=_amounts(node, "allocatable", node.status.allocatable),
            capacity=_amounts(node, "capacity", node.status.capacity),
            unschedulable=node.spec.unschedulable,
            ready=_is_ready(node),
            taints=node.spec.taints or (),
            images=node.status.images or (),
            do_not_disrupt=node.metadata.annotations is not None and node.metadata.annotations.do_not_disrupt == "true",
        ),
    )


def node_index(names: Iterable[str]) -> dict[str, int]:
    """The position of each node by name: nodes are in order of their names."""
    return {name: i for i, name in enumerate(sorted(names))}


def node_columns(nodes: Mapping[str, ReadNode], index: Mapping[str, int], pod_resources: Iterable[str]) -> Nodes:
    """The columns of nodes by name, in the order of ``index``.

    ``pod_resources`` are the resource names that pods request: a row is made for each name that either side uses.
    """
    rows = [nodes[name].row for name in index]
    allocatable = [row.allocatable for row in rows]
    capacity = [row.capacity for row in rows]
    resources = _resource_names(allocatable, capacity, pod_resources)
    taint_sets: Interner[tuple[Taint, ...]] = Interner()
    taints = taint_sets.ids(row.taints for row in rows)
    return Nodes(
        names=tuple(row.name for row in rows),
        index=index,
        labels=tuple(row.labels for row in rows),
        resources=resources,
        allocatable=_table(allocatable, resources),
        capacity=_table(capacity, resources),
        lists_allocatable=_listed(allocatable, resources),
        lists_capacity=_listed(capacity, resources),
        unschedulable=np.array([row.unschedulable for row in rows], dtype=bool),
        ready=np.array([row.ready for row in rows], dtype=bool),
        taints=np.array(taints, dtype=np.int32),
        taint_sets=tuple(taint_sets.keys()),
        images=tuple(row.images for row in rows),
        do_not_disrupt=np.array([row.do_not_disrupt for row in rows], dtype=bool),
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


# Each amount fits, but kube-scheduler's sums wrap around there, and a node with two pods of 8 EiB looks empty. No
# kubelet takes such a pod; one that names the node itself is there for a moment.
def beyond_sums(pods: Pods) -> dict[int, str]:
    """The pods to leave out, so that each sum over the pods of a node, or meant for it, fits; and the resource of each."""
    found: dict[int, str] = {}
    for resource, amounts in _large_amounts(pods):
        for together in _by_node(pods):
            total = sum(amounts[pod] for pod in together)
            for pod in sorted(together, key=lambda each: (-amounts[each], each)):
                if total <= LARGEST:
                    break
                total -= amounts[pod]
                found.setdefault(pod, resource)
    return found


def _large_amounts(pods: Pods) -> Iterator[tuple[str, list[int]]]:
    """Each resource of which all pods together could have too much, with the amount of each pod."""
    tables = pods.tables
    wanted = [_larger(each.requests, each.nonzero) for each in tables.resources]
    held = [_larger(*each) for each in tables.held]
    largest: dict[str, int] = {}
    for each in (*wanted, *held):
        for resource, amount in each.items():
            largest[resource] = max(amount, largest.get(resource, 0))
    for resource in sorted(name for name, amount in largest.items() if amount * len(pods) > LARGEST):
        of_spec, of_status = (_column(each, resource) for each in (wanted, held))
        amounts = of_spec[pods.resources]
        resized = pods.held >= 0
        amounts[resized] = np.maximum(amounts[resized], of_status[pods.held[resized]])
        amounts[pods.terminal] = 0
        yield resource, amounts.tolist()


def _larger(requests: Mapping[str, int], nonzero: Mapping[str, int]) -> dict[str, int]:
    return {name: max(requests.get(name, 0), nonzero.get(name, 0)) for name in {**requests, **nonzero}}


def _column(rows: list[dict[str, int]], resource: str) -> npt.NDArray[np.int64]:
    return np.array([row.get(resource, 0) for row in rows], dtype=np.int64)


def _by_node(pods: Pods) -> list[list[int]]:
    """The pods of each node, those that are nominated for it included."""
    on_node: defaultdict[int, list[int]] = defaultdict(list)
    for pod, (node, nominated) in enumerate(zip(pods.node.tolist(), pods.nominated.tolist(), strict=True)):
        for each in {node, nominated}:
            if each >= 0:
                on_node[each].append(pod)
    return list(on_node.values())
