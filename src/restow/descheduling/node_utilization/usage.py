"""How full a node is: what it can hold, what is used of that by requests or by metrics, and percentages of both.

Each source gives the same ``Usage``, taken once at the start: the strategies lower it as pods go (``queried`` has the usage
of a query). Amounts are exact integers in nano-units. Percentages are floats, computed from milli-CPUs and whole units in
the order of operations that upstream uses, because a node exactly at a threshold must fall on the same side of it.
Source: Descheduler 0.36, plugins/nodeutilization and its usage clients.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
from msgspec import Struct, field

from restow.cluster.interning import IntArray
from restow.cluster.nodes import NodePart, Nodes
from restow.cluster.pods import NO_POD
from restow.cluster.state import ClusterState
from restow.cluster.usage_samples import UsageChange
from restow.descheduling.framework import View
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT
from restow.usage.measured import Amounts

#: The only resource with Prometheus: the result of the query, of which every node has 100.
METRIC_RESOURCE = "MetricResource"

#: Resource name to percent of capacity.
Percentages = dict[str, float]

#: The share of a change that the figure of its node does not include yet, 0 to 1.
ShareUnseen = Callable[[UsageChange], float]

#: It is never measured: the number of pods is always known.
COUNTED: Final = "pods"


def step(resource: str) -> int:
    """The smallest amount that counts in percentages, in nano-units: 1m of CPU, 1 of anything else."""
    return NANO_PER_MILLI if resource == "cpu" else NANO_PER_UNIT


def steps(resource: str, nano: int) -> int:
    """An amount in whole steps, rounded up."""
    return -(-nano // step(resource))


def capacities(nodes: Nodes, chosen: Iterable[int]) -> dict[int, Amounts]:
    """What each of these nodes can hold: its allocatable, or its capacity where allocatable is empty."""
    at = np.fromiter(chosen, dtype=np.int64)
    listed, amounts = nodes.lists_allocatable[:, at], nodes.allocatable[:, at]
    lists_any = listed.any(axis=0)
    listed = np.where(lists_any, listed, nodes.lists_capacity[:, at])
    amounts = np.where(lists_any, amounts, nodes.capacity[:, at])
    resources = [(name, step(name)) for name in nodes.resources]
    return {
        node: _capacity(resources, *of_node)
        for node, *of_node in zip(at.tolist(), listed.T.tolist(), amounts.T.tolist(), strict=True)
    }


class Capacities:
    """What the nodes of a state can hold, found again when that has changed."""

    def __init__(self, state: ClusterState) -> None:
        self._nodes = state.cluster.nodes
        self._known: dict[int, Amounts] = {}
        self._nodes.follow(NodePart.AMOUNTS | NodePart.POSITION, self._forget)

    def _forget(self) -> None:
        # Who has asked goes on with what was true then.
        self._known = {}

    def of(self, chosen: Collection[int]) -> Mapping[int, Amounts]:
        """Those of some nodes, by index; not to be changed."""
        if not self._known.keys() >= set(chosen):
            self._known |= capacities(self._nodes, chosen)
        return self._known if len(chosen) == len(self._known) else {node: self._known[node] for node in chosen}


def _capacity(resources: Sequence[tuple[str, int]], listed: Sequence[bool], amounts: Sequence[int]) -> Amounts:
    """What one node can hold of the resources that it lists, each with its step."""
    held = zip(resources, listed, amounts, strict=True)
    capacity = {name: amount * size for (name, size), is_listed, amount in held if is_listed}
    capacity[METRIC_RESOURCE] = 100 * NANO_PER_UNIT
    return capacity


def percentages(usage: Amounts, capacity: Amounts) -> Percentages:
    """Usage in percent of capacity; a resource that the node does not have is left out, an empty one is 0 %."""
    return {name: percentage(name, used, capacity) for name, used in usage.items() if name in capacity}


def percentage(resource: str, used: int, capacity: Amounts) -> float:
    """Usage of one resource in percent of capacity; 0 if that is empty, or if the node does not have the resource."""
    size = step(resource)
    total = -(-capacity.get(resource, 0) // size)
    return -(-used // size) / total * 100 if total > 0 else 0.0


def ceilings(capacity: Amounts, thresholds: Mapping[str, float], names: Iterable[str]) -> Amounts:
    """The usage that each resource may reach: its threshold, cut to a whole step, or all of its capacity."""
    return {name: _ceiling(name, capacity.get(name, 0), thresholds.get(name)) for name in names}


def _ceiling(resource: str, capacity: int, threshold: float | None) -> int:
    if threshold is None:
        return capacity
    return int(threshold * 0.01 * steps(resource, capacity)) * step(resource)


def total(usage: Amounts) -> int:
    """What nodes are ordered by: milli-CPUs plus units of everything else, so that bytes decide."""
    return sum(steps(resource, used) for resource, used in usage.items())


def add_unseen(view: View, by_node: Mapping[int, Amounts], share_unseen: ShareUnseen) -> None:
    """Add pods that came since the nodes were measured, and subtract those that left, as far as the figures lack them."""
    cluster = view.state.cluster
    if not cluster.usage_changes:
        return
    numbers = {cluster.nodes.names[node]: node for node in by_node}
    for change in cluster.usage_changes:
        amounts = by_node.get(numbers.get(change.node, -1), {})
        for name in amounts.keys() & change.amounts.keys() - {COUNTED}:
            amounts[name] = max(0, amounts[name] + round(change.amounts[name] * share_unseen(change)))


#: The usage of a pod; None if the source should know it and does not.
PodUsage = Callable[[int], Mapping[str, int] | None]


class Usage(Struct, frozen=True):
    """Usage of the listed nodes by index, in nano-units."""

    #: The resources that are tracked.
    names: tuple[str, ...]
    #: The amounts of a node are never changed, but replaced: others may have the same.
    by_node: dict[int, Amounts]
    #: None for a source that has no usage of pods.
    of_pod: PodUsage | None
    #: For people, by node: where its figures were measured, and how old they are. Empty for requests.
    origins: Mapping[int, str] = field(default_factory=dict)
    #: The same of all nodes together, for people; empty for requests.
    summary: str = ""
    #: The nodes whose usage was lowered or raised since it was taken.
    changes: list[int] = field(default_factory=list)

    def changed_nodes(self, since: int) -> IntArray:
        """The nodes of all changes from the position ``since`` on."""
        return np.array(sorted(set(self.changes[since:])), dtype=np.int64)


class KnownRequests:
    """What pods request of the nodes of a state, as it was found last."""

    def __init__(self, _state: ClusterState) -> None:
        #: By names of resources: the nodes, their amounts as an array, and as ``Usage`` has them.
        self._known: dict[tuple[str, ...], tuple[IntArray, IntArray, dict[int, Amounts]]] = {}

    def of(self, names: tuple[str, ...], nodes: IntArray, amounts: IntArray) -> dict[int, Amounts]:
        """The amounts of some nodes, int64[name, node], in nano-units by the index of the node."""
        before, known, by_node = self._known.get(names, (nodes[:0], amounts[:, :0], {}))
        if np.array_equal(before, nodes):
            changed = np.flatnonzero((known != amounts).any(axis=0))
        else:
            changed, by_node = np.arange(len(nodes)), {}
        sizes = [step(name) for name in names]
        for node, now in zip(nodes[changed].tolist(), amounts[:, changed].T.tolist(), strict=True):
            by_node[node] = {name: amount * size for name, amount, size in zip(names, now, sizes, strict=True)}
        self._known[names] = nodes, amounts, by_node
        return dict(by_node)


def requested(view: View, names: tuple[str, ...]) -> Usage:
    """What pods request. A proven plan leaves out terminating pods, so that no others move in their place."""
    state = view.state
    rows = [state.cluster.nodes.resource(name) for name in names]
    columns = np.zeros((len(names), len(state.cluster.nodes)), dtype=np.int64)
    for column, name, row in zip(columns, names, rows, strict=True):
        if name == "pods" or row is not None:
            column[:] = state.running if name == "pods" else state.requested[row]
    if view.proves:
        columns -= _leaving(state, rows, names)
    by_node = view.once(KnownRequests).of(names, view.compared, columns[:, view.compared])
    return Usage(names, by_node, partial(_requests, state, names, {}))


def _leaving(state: ClusterState, rows: Sequence[int | None], names: Sequence[str]) -> IntArray:
    """What terminating pods request of each node, int64[name, node]."""
    pods = np.flatnonzero(state.terminating & state.holds_resources() & (state.node >= 0))
    found = np.zeros((len(names), len(state.cluster.nodes)), dtype=np.int64)
    requests = state.request_vectors()[state.cluster.pods.resources[pods]]
    for amounts, name, row in zip(found, names, rows, strict=True):
        if name == "pods" or row is not None:
            np.add.at(amounts, state.node[pods], 1 if name == "pods" else requests[:, row])
    return found


def add(usage: Usage, node: int, used: Mapping[str, int], times: int) -> None:
    """Count a pod that comes to a node, or leaves it (-1); ignored if the usage of the node is unknown."""
    amounts = usage.by_node.get(node)
    if amounts is not None:
        usage.by_node[node] = {name: amounts[name] + times * used[name] for name in usage.names}
        usage.changes.append(node)


def _requests(state: ClusterState, names: tuple[str, ...], known: dict[int, Amounts], pod: int) -> Mapping[str, int]:
    identifier = int(state.cluster.pods.resources[pod])
    usage = known.get(identifier)
    if usage is None:
        requests = state.cluster.pods.tables.resources[identifier].requests
        usage = known[identifier] = {name: requests.get(name, 0) * step(name) for name in names}
        if "pods" in usage:
            usage["pods"] = NANO_PER_UNIT
    return usage


def moved_pods(view: View) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
    """Yield the replacements that have a place, each with the node that its pod has left (-1) and its own (1)."""
    state, pods = view.state, view.pods
    for replacement in pods.where(state.exists & (pods.replaces != NO_POD) & (state.node >= 0)).tolist():
        yield replacement, ((int(pods.node[pods.original(replacement)]), -1), (int(state.node[replacement]), 1))


def move_along(view: View, by_node: Mapping[int, Amounts], of_pod: PodUsage) -> None:
    """Count replacements on their nodes with the measured usage of the pods that they replace."""
    for replacement, places in moved_pods(view):
        used = of_pod(replacement) or {}
        for node, sign in places:
            for name in used.keys() - {COUNTED} if node in by_node else ():
                by_node[node][name] += sign * used[name]
