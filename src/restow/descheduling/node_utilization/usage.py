"""Where usage comes from: what pods request, or what metrics say; ``queried`` has the usage of a query.

Each source gives the same ``Usage``, taken once at the start: the strategies lower it as pods go. Source: Descheduler
0.36, the usage clients of plugins/nodeutilization.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pods import NO_POD
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.cluster.usage import (
    Amounts,
    age_text,
    container_usage,
    node_usage,
    pod_metrics,
    share_before,
    source_of,
    time_of,
)
from restow.cluster.usage_changes import UsageChange
from restow.cluster.usage_samples import NO_USAGE
from restow.descheduling.framework import StrategyError, View
from restow.descheduling.node_utilization.capacity import add_unseen, step
from restow.kube.duration import SECOND
from restow.kube.quantity import NANO_PER_UNIT

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


def measured(view: View, names: tuple[str, ...]) -> Usage:
    """What the metrics objects of the input say; StrategyError with upstream's text if one is missing."""
    if not view.collects_metrics:
        raise StrategyError("error initializing usage client: metrics client not initialized")
    cluster = view.state.cluster
    collected = node_usage(cluster)
    by_node = {node: _collected(view, node, collected, names) for node in view.compared.tolist()}
    _carry(view, names, by_node)
    add_unseen(view, by_node, partial(_share_unseen, view))
    origins = {node: _origin(view, node) for node in by_node}
    return Usage(names, by_node, partial(_pod_measured, cluster, names), origins)


def _share_unseen(view: View, change: UsageChange) -> float:
    """The share of a change that the mean does not include: all if it is after the newest sample, else a part."""
    taken = time_of(view.state.cluster, change.node)
    return share_before(((view.now if taken is None else taken) - change.at) / SECOND)


def _origin(view: View, node: int) -> str:
    cluster = view.state.cluster
    name = cluster.nodes.names[node]
    source, taken = source_of(cluster, name), time_of(cluster, name)
    return source if taken is None else f"{source}, {age_text((view.now - taken) / SECOND)}"


def _carry(view: View, names: tuple[str, ...], by_node: Mapping[int, Amounts]) -> None:
    """Count replacements on their nodes with the measured usage of the pods that they replace."""
    state, pods = view.state, view.pods
    for replacement in pods.where(state.exists & (pods.replaces != NO_POD) & (state.node >= 0)).tolist():
        metrics = pod_metrics(state.cluster, replacement)
        if metrics is None:
            continue
        places = ((int(pods.node[pods.original(replacement)]), -1), (int(state.node[replacement]), 1))
        for container in metrics.containers or ():
            used = container_usage(container)
            for node, sign in places:
                for name in used.keys() & set(names) if node in by_node else ():
                    by_node[node][name] += sign * used[name]


def _collected(view: View, node: int, collected: Mapping[str, Amounts], names: tuple[str, ...]) -> Amounts:
    node_name = view.state.cluster.nodes.names[node]
    if node_name not in collected:
        raise StrategyError(f'{NO_USAGE}: unable to find node "{node_name}" in the collected metrics')
    usage = collected[node_name] | {"pods": int(view.state.running[node]) * NANO_PER_UNIT}
    for name in names:
        if name not in usage:
            raise StrategyError(f'{NO_USAGE}: unable to find "{name}" resource for collected "{node_name}" node metric')
    return {name: usage[name] for name in names}


def _pod_measured(cluster: ClusterSnapshot, names: tuple[str, ...], pod: int) -> Mapping[str, int] | None:
    metrics = pod_metrics(cluster, pod)
    if metrics is None:
        return None
    usage = dict.fromkeys(names, 0)
    for container in metrics.containers or ():
        used = container_usage(container)
        for name in names:
            if name != "pods":
                if name not in used:
                    return None
                usage[name] += used[name]
    usage["pods"] = NANO_PER_UNIT
    return usage
