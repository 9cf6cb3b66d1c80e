"""What nodes and pods really use, from the metrics objects of the input.

Amounts are exact, in nano-units (nano-CPUs, nano-bytes): metrics are finer than a milli-CPU, and what is compared with
a limit must not have been rounded before. Source: metrics.k8s.io/v1beta1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from msgspec import structs

from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import ContainerMetrics, NodeMetrics, PodMetrics, WireQuantity
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT, parse_quantity
from restow.kube.timestamps import parse_time

#: Nano-units by resource name.
Amounts = dict[str, int]

#: Who serves metrics objects.
METRICS_API = "metrics.k8s.io"

#: What is collected of nodes; a resource that a sample leaves out is 0.
COLLECTED = ("cpu", "memory")

#: Between two samples (seconds).
INTERVAL: Final = 5.0
#: What counts of the mean so far.
_BETA: Final = 0.9
_STEPS: Final = {"cpu": (NANO_PER_MILLI, "m"), "memory": (NANO_PER_UNIT, "")}


def node_usage(cluster: ClusterSnapshot) -> dict[str, Amounts]:
    """CPU and memory by node name."""
    collected = {}
    for (_, name), metrics in cluster.kind("NodeMetrics").items():
        usage = _amounts(metrics.usage)
        collected[name] = {resource: usage.get(resource, 0) for resource in COLLECTED}
    return collected


class StoredMetrics(NodeMetrics, frozen=True, gc=False):
    """The latest usage of a node in a stored history (``cluster.stored_usage``)."""


def source_of(cluster: ClusterSnapshot, node: str) -> str:
    """Who measured the usage of a node, for people."""
    stored = isinstance(cluster.kind("NodeMetrics").get(("", node)), StoredMetrics)
    return "stored history" if stored else METRICS_API


def time_of(cluster: ClusterSnapshot, node: str) -> int | None:
    """When the usage of a node was measured (nanoseconds since the epoch); None if unknown."""
    metrics = cluster.kind("NodeMetrics").get(("", node))
    try:
        return parse_time(metrics.timestamp) if metrics is not None and metrics.timestamp else None
    except ValueError:
        return None


def age_text(seconds: float) -> str:
    """How old a figure is, for people: ``12 s old``."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} old"
    return f"{max(seconds, 0):.0f} s old"


def pod_metrics(cluster: ClusterSnapshot, pod: int) -> PodMetrics | None:
    """The metrics of a pod, None where the input has none."""
    pods = cluster.pods
    found: PodMetrics | None = cluster.kind("PodMetrics").get(
        (pods.tables.namespaces[pods.namespace[pod]], pods.names[pod])
    )
    return found


def container_usage(container: ContainerMetrics) -> Amounts:
    """What one container uses."""
    return _amounts(container.usage)


def _amounts(wire: Mapping[str, WireQuantity] | None) -> Amounts:
    """Quantities that ``cluster.left_out`` has checked."""
    return {resource: parse_quantity(text).nano for resource, text in (wire or {}).items()}


# A loop decides again and again, so one high sample must not move pods. The first sample of a node counts as it is;
# from then on CPU is kept in whole milli-CPUs and memory in whole bytes. Source: Descheduler 0.36,
# pkg/descheduler/metricscollector.
def share_before(seconds: float) -> float:
    """The share of a mean that is older than this many seconds, if samples come regularly."""
    return float(_BETA ** (max(seconds, 0.0) / INTERVAL))


def smoothed(before: NodeMetrics | None, sample: NodeMetrics) -> NodeMetrics:
    """A sample, weighed with what was before it."""
    if before is None:
        return sample
    usage = {name: _mean(before, sample, name) for name in COLLECTED}
    return structs.replace(sample, usage=(sample.usage or {}) | usage)


def _mean(before: NodeMetrics, sample: NodeMetrics, resource: str) -> str:
    mean = _BETA * _steps(before, resource) + (1 - _BETA) * _steps(sample, resource)
    # Half a step is rounded up; usage is never negative.
    return f"{math.floor(mean + 0.5)}{_STEPS[resource][1]}"


def _steps(metrics: NodeMetrics, resource: str) -> int:
    """An amount in whole steps, rounded up; what a sample leaves out is 0."""
    size = _STEPS[resource][0]
    return -(-parse_quantity((metrics.usage or {}).get(resource, "0")).nano // size)
