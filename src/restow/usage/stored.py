"""The usage histories that an input holds, and their figures at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import Struct

from restow.cluster.interning import IntArray
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.cluster.usage_samples import NodeSamples, QueryResult, UsageQuery
from restow.cluster.usage_series import (
    KIND,
    PER_SHARE,
    RESOURCES,
    SHARE,
    SampleSeries,
    UsageHistory,
    UsageSample,
    latest,
    unpacked,
)
from restow.kube.objects import ContainerMetrics, ObjectMeta, PodMetrics, WireQuantity
from restow.kube.timestamps import SECOND, format_time
from restow.usage.measured import EstimatedMetrics, StoredMetrics

_METRICS, _POD_METRICS = "NodeMetrics", "PodMetrics"


def stored_history(cluster: ClusterSnapshot) -> UsageHistory:
    """The history of amounts in the input; empty where it holds none."""
    nodes: dict[str, dict[str, SampleSeries]] = {}
    for wire in cluster.kind(KIND).values():
        if wire.resource in RESOURCES:
            nodes.setdefault(wire.node, {})[wire.resource] = unpacked(wire)
    return UsageHistory(nodes)


class UsageAt(Struct, frozen=True):
    """A cluster with the usage of one moment."""

    cluster: ClusterSnapshot
    #: How many nodes have their usage from the history, and when the oldest sample was taken.
    nodes: int
    oldest: int
    #: Whether what pods used is estimated.
    estimated: bool


def with_usage_at(cluster: ClusterSnapshot, now: int) -> UsageAt:
    """The cluster, where each node without metrics of its own used what its history last says by a time in seconds.

    The metrics of a node are those that metrics.k8s.io would have served then. Where the input has no metrics of pods at
    all, the usage of these nodes is that of their pods (``usage.stored``).
    """
    history = stored_history(cluster)
    known = cluster.kind(_METRICS)
    samples = {
        name: found for name in history.nodes if ("", name) not in known and (found := _last(history, name, now))
    }
    if not samples:
        return UsageAt(cluster, 0, now, estimated=False)
    metrics: dict[Key, Any] = {("", name): _metrics(name, found) for name, found in samples.items()}
    others = {**cluster.others, _METRICS: dict(sorted((metrics | dict(known)).items()))}
    estimated = not cluster.kind(_POD_METRICS)
    if estimated:
        amounts = {name: {resource: each.value for resource, each in found.items()} for name, found in samples.items()}
        others[_POD_METRICS] = dict(sorted(pod_shares(cluster, amounts).items()))
    oldest = min(each.at for found in samples.values() for each in found.values())
    return UsageAt(replace(cluster, others=others), len(samples), oldest, estimated)


def _last(history: UsageHistory, node: str, now: int) -> dict[str, UsageSample]:
    """The last sample of each resource that has one by then."""
    found = ((resource, latest(series, now)) for resource, series in history.nodes[node].items())
    return {resource: sample for resource, sample in found if sample is not None}


def _metrics(node: str, samples: Mapping[str, UsageSample]) -> StoredMetrics:
    usage: dict[str, WireQuantity] = {
        resource: f"{sample.value}m" if resource == "cpu" else str(sample.value) for resource, sample in samples.items()
    }
    measured = min(sample.at for sample in samples.values())
    return StoredMetrics(ObjectMeta(name=node), usage, format_time(measured * SECOND))


# A series that is of no query, as those of CSV, stands for any. Each step of the history before counts as one cycle, so
# that a condition over several cycles can be judged.
def stored_results(
    cluster: ClusterSnapshot, queries: Iterable[UsageQuery], now: int, cycles: int = 1, *, source: str
) -> dict[UsageQuery, QueryResult]:
    """The results of the queries that are stored, at a time in seconds, with those of the cycles before.

    What is stored with the text of a query is the answer of ``source``. Nodes without a sample by then have none; a query
    without nodes has no result.
    """
    shares = [each for each in cluster.kind(KIND).values() if each.resource == SHARE]
    series = [(each.query, each.node, unpacked(each)) for each in sorted(shares, key=lambda each: each.query)]
    found = {}
    for query in queries:
        # The exact query sorts behind the empty one, so it replaces that.
        texts = ("", query.text) if query.source == source else ("",)
        of_node = {node: each for own, node, each in series if own in texts}
        result = _result(of_node, now)
        if result.samples:
            earlier = tuple(_result(of_node, now - back * _step(of_node)) for back in range(1, cycles))
            found[query] = QueryResult(
                result.at, result.samples, earlier=tuple(each for each in earlier if each.samples)
            )
    return found


def _result(of_node: Mapping[str, SampleSeries], at: int) -> QueryResult:
    samples = []
    for node, series in sorted(of_node.items()):
        end = int(np.searchsorted(series.times, at, side="right"))
        if end:
            shares = series.values[:end] / PER_SHARE
            samples.append(NodeSamples(node, series.times[:end].astype(np.float64), shares))
    return QueryResult(float(at), tuple(samples))


def _step(of_node: Mapping[str, SampleSeries]) -> int:
    """The usual seconds between two samples; a minute where there are no two."""
    steps = np.concatenate([np.diff(series.times) for series in of_node.values()])
    return int(np.median(steps)) if len(steps) else 60


# That is an estimate. A pod that requests none of a resource has no share of it.
def pod_shares(cluster: ClusterSnapshot, used: Mapping[str, Mapping[str, int]]) -> dict[Key, PodMetrics]:
    """The metrics of all pods on some nodes, of which is known what they used: milli-CPUs and bytes, by name."""
    pods, nodes = cluster.pods, cluster.nodes
    on_node = np.flatnonzero(pods.read() & ~pods.terminal & (pods.node >= 0))
    on_node = on_node[np.isin(pods.node[on_node], [nodes.index[name] for name in used if name in nodes.index])]
    columns = {resource: _shares(cluster, on_node, used, resource) for resource in RESOURCES}
    rows = zip(on_node.tolist(), *(columns[resource].tolist() for resource in RESOURCES), strict=True)
    return {key: metrics for pod, cpu, memory in rows for key, metrics in [_share_metrics(cluster, pod, cpu, memory)]}


def _shares(
    cluster: ClusterSnapshot, on_node: IntArray, used: Mapping[str, Mapping[str, int]], resource: str
) -> IntArray:
    pods = cluster.pods
    requests = np.array([each.requests.get(resource, 0) for each in pods.tables.resources], dtype=np.float64)
    wanted, where = requests[pods.resources[on_node]], pods.node[on_node]
    total = np.bincount(where, weights=wanted, minlength=len(cluster.nodes))
    amounts = np.array([float(used.get(name, {}).get(resource, 0)) for name in cluster.nodes.names])
    return (amounts[where] * wanted / np.maximum(total[where], 1.0)).astype(np.int64)


def _share_metrics(cluster: ClusterSnapshot, pod: int, cpu: int, memory: int) -> tuple[Key, PodMetrics]:
    pods = cluster.pods
    namespace, name = pods.tables.namespaces[pods.namespace[pod]], pods.names[pod]
    container = ContainerMetrics(usage={"cpu": f"{cpu}m", "memory": str(memory)})
    return (namespace, name), EstimatedMetrics(ObjectMeta(name=name, namespace=namespace), (container,))
