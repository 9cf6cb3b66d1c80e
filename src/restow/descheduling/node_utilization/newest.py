"""Usage as the metrics objects of the input say: the newest figure of every listed node, and of each of its pods.

As upstream reads them, a node without one keeps the strategy from working. Source: Descheduler 0.36, the usage clients of
plugins/nodeutilization.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.usage_samples import NO_USAGE, UsageChange
from restow.descheduling.framework import StrategyError, View
from restow.descheduling.node_utilization.usage import COUNTED, Usage, add_unseen, move_along
from restow.kube.duration import SECOND
from restow.kube.quantity import NANO_PER_UNIT
from restow.usage.measured import (
    Amounts,
    age_text,
    node_usage,
    pod_metrics,
    pod_usage,
    share_before,
    source_of,
    time_of,
)


def newest(view: View, names: tuple[str, ...]) -> Usage:
    """What the metrics objects say; StrategyError with upstream's text if one is missing."""
    cluster = view.state.cluster
    collected = node_usage(cluster)
    by_node = {node: _collected(view, node, collected, names) for node in view.compared.tolist()}
    of_pod = partial(newest_of_pod, cluster, names)
    move_along(view, by_node, of_pod)
    add_unseen(view, by_node, partial(share_of_mean_unseen, view))
    return Usage(names, by_node, of_pod, {node: _origin(view, node) for node in by_node}, _summary(view))


def share_of_mean_unseen(view: View, change: UsageChange) -> float:
    """The share of a change that the mean does not include: all if it is after the newest sample, else a part."""
    taken = time_of(view.state.cluster, change.node)
    return share_before(((view.now if taken is None else taken) - change.at) / SECOND)


def newest_of_pod(cluster: ClusterSnapshot, names: tuple[str, ...], pod: int) -> Mapping[str, int] | None:
    """What the metrics object of a pod says; None if it lacks a resource, or there is none."""
    metrics = pod_metrics(cluster, pod)
    return None if metrics is None else of_one_pod(pod_usage(metrics), names)


def of_one_pod(used: Mapping[str, int], names: tuple[str, ...]) -> Mapping[str, int] | None:
    """The usage of a pod of some resources; None if one of them is unknown."""
    used = {**used, COUNTED: NANO_PER_UNIT}
    return {name: used[name] for name in names} if used.keys() >= set(names) else None


def of_one_node(view: View, node: int, used: Mapping[str, int], names: tuple[str, ...]) -> Amounts:
    """The usage of a node of some resources; StrategyError with upstream's text for one that is not measured."""
    used = {**used, COUNTED: int(view.state.running[node]) * NANO_PER_UNIT}
    for name in names:
        if name not in used:
            node_name = view.state.cluster.nodes.names[node]
            raise StrategyError(f'{NO_USAGE}: unable to find "{name}" resource for collected "{node_name}" node metric')
    return {name: used[name] for name in names}


def listed(sources: Iterable[str]) -> str:
    """Who measured, for people."""
    return " and ".join(sorted(set(sources)))


def _collected(view: View, node: int, collected: Mapping[str, Amounts], names: tuple[str, ...]) -> Amounts:
    node_name = view.state.cluster.nodes.names[node]
    if node_name not in collected:
        raise StrategyError(f'{NO_USAGE}: unable to find node "{node_name}" in the collected metrics')
    return of_one_node(view, node, collected[node_name], names)


def _origin(view: View, node: int) -> str:
    cluster = view.state.cluster
    name = cluster.nodes.names[node]
    source, taken = source_of(cluster, name), time_of(cluster, name)
    return source if taken is None else f"{source}, {age_text((view.now - taken) / SECOND)}"


def _summary(view: View) -> str:
    """Who measured, and how old the oldest figure is that is known to be of a time."""
    cluster = view.state.cluster
    names = [cluster.nodes.names[node] for node in view.compared.tolist()]
    taken = [at for name in names if (at := time_of(cluster, name)) is not None]
    sources = listed(source_of(cluster, name) for name in names)
    return f"{sources}, at most {age_text((view.now - min(taken)) / SECOND)}" if taken else sources
