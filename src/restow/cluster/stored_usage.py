"""The histories of usage that an input holds, and what they say of one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from restow.cluster.snapshot import Cluster, Key
from restow.cluster.usage import StoredMetrics
from restow.cluster.usage_columns import KIND, RESOURCES, unpacked
from restow.cluster.usage_history import Sample, Series, UsageHistory, latest
from restow.cluster.usage_shares import pod_shares
from restow.kube.objects import ObjectMeta, WireQuantity
from restow.kube.timestamps import SECOND, format_time

_METRICS, _POD_METRICS = "NodeMetrics", "PodMetrics"


def stored_history(cluster: Cluster) -> UsageHistory:
    """The history of amounts in the input; empty where it holds none."""
    nodes: dict[str, dict[str, Series]] = {}
    for wire in cluster.kind(KIND).values():
        if wire.resource in RESOURCES:
            nodes.setdefault(wire.node, {})[wire.resource] = unpacked(wire)
    return UsageHistory(nodes)


@dataclass(slots=True, frozen=True)
class UsageAt:
    """A cluster with the usage of one moment."""

    cluster: Cluster
    #: How many nodes have their usage from the history, and when the oldest sample was taken.
    nodes: int
    oldest: int
    #: Whether what pods used is estimated.
    estimated: bool


def with_usage_at(cluster: Cluster, now: int) -> UsageAt:
    """The cluster, where each node without metrics of its own used what its history last says by a time in seconds.

    The metrics of a node are those that metrics.k8s.io would have served then. Where the input has no metrics of pods at
    all, the usage of these nodes is that of their pods (``cluster.usage_shares``).
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


def _last(history: UsageHistory, node: str, now: int) -> dict[str, Sample]:
    """The last sample of each resource that has one by then."""
    found = ((resource, latest(series, now)) for resource, series in history.nodes[node].items())
    return {resource: sample for resource, sample in found if sample is not None}


def _metrics(node: str, samples: Mapping[str, Sample]) -> StoredMetrics:
    usage: dict[str, WireQuantity] = {
        resource: f"{sample.value}m" if resource == "cpu" else str(sample.value) for resource, sample in samples.items()
    }
    measured = min(sample.at for sample in samples.values())
    return StoredMetrics(ObjectMeta(name=node), usage, format_time(measured * SECOND))
