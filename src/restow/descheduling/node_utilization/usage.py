"""How full a node is: what it can hold, what is used of that by requests or by metrics, and percentages of both.

Each source gives the same ``Usage``, taken once at the start: the strategies lower it as pods go (``queried`` has the usage
of a query). Amounts are exact integers in nano-units. Percentages are floats, computed from milli-CPUs and whole units in
the order of operations that upstream uses, because a node exactly at a threshold must fall on the same side of it.
Source: Descheduler 0.36, plugins/nodeutilization and its usage clients.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np

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


@dataclass(slots=True, frozen=True)
class Usage:
    """Usage of the listed nodes by index, in nano-units."""

    #: The resources that are tracked.
    names: tuple[str, ...]
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


def requested(view: View, names: tuple[str, ...]) -> Usage:
    """What pods request. A proven plan leaves out terminating pods, so that no others move in their place."""
    state = view.state
    rows = [state.cluster.nodes.resource(name) for name in names]
    columns = [
        state.running if name == "pods" else state.requested[row] if row is not None else None
        for name, row in zip(names, rows, strict=True)
    ]
    listed = view.compared.tolist()
    by_name = [
        [amount * step(name) for amount in column[view.compared].tolist()] if column is not None else [0] * len(listed)
        for name, column in zip(names, columns, strict=True)
    ]
    by_node = {node: dict(zip(names, amounts, strict=True)) for node, *amounts in zip(listed, *by_name, strict=True)}
    usage = Usage(names, by_node, partial(_requests, state, names, {}))
    if view.proves:
        _leave_out(usage, state, np.flatnonzero(state.terminating & state.holds_resources()))
    return usage


def _leave_out(usage: Usage, state: ClusterState, pods: IntArray) -> None:
    """Subtract the requests of some pods."""
    assert usage.of_pod is not None
    for pod in pods.tolist():
        used = usage.by_node.get(int(state.node[pod]), {})
        for name, amount in (usage.of_pod(pod) or {}).items() if used else ():
            used[name] -= amount


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
