"""What nodes and pods use: metrics objects of the input, and the samples that a watch collects of them.

Amounts are exact, in nano-units (nano-CPUs, nano-bytes): metrics are finer than a milli-CPU, and what is compared with
a limit must not have been rounded before. Source: metrics.k8s.io/v1beta1.

A daemon that runs keeps ``RecentUsage`` instead of a stored history: samples of all nodes, or of all pods, at the same
moments, as one array, so that figures of all come from one computation, and a new sample costs no more than a copy of
the old ones. It is among the objects of a cluster as one of the kind ``KIND``, and changes only as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import structs

from restow.cluster.amounts import LARGEST
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.cluster.usage_samples import NodeSamples, percentiles
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
    return {name: usage_of_node(metrics) for (_, name), metrics in cluster.kind("NodeMetrics").items()}


def usage_of_node(metrics: NodeMetrics) -> Amounts:
    """CPU and memory of one node."""
    usage = _amounts(metrics.usage)
    return {resource: usage.get(resource, 0) for resource in COLLECTED}


#: What a stored history is called, for people.
STORED_HISTORY = "stored history"


class StoredMetrics(NodeMetrics, frozen=True, gc=False):
    """The latest usage of a node in a stored history (``usage.stored``)."""


def source_of(cluster: ClusterSnapshot, node: str) -> str:
    """Who measured the usage of a node, for people."""
    stored = isinstance(cluster.kind("NodeMetrics").get(("", node)), StoredMetrics)
    return STORED_HISTORY if stored else METRICS_API


def time_of(cluster: ClusterSnapshot, node: str) -> int | None:
    """When the usage of a node was measured (nanoseconds since the epoch); None if unknown."""
    metrics = cluster.kind("NodeMetrics").get(("", node))
    return None if metrics is None else measured_at(metrics)


def measured_at(metrics: NodeMetrics) -> int | None:
    """When metrics are of (nanoseconds since the epoch); None if they do not say."""
    try:
        return parse_time(metrics.timestamp) if metrics.timestamp else None
    except ValueError:
        return None


class EstimatedMetrics(PodMetrics, frozen=True, gc=False):
    """What a pod used by its requests, since only the usage of its node is known (``usage.stored``)."""


def age_text(seconds: float) -> str:
    """How old a figure is, for people: ``12 s old``."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} old"
    return f"{max(seconds, 0):.0f} s old"


def pod_metrics(cluster: ClusterSnapshot, pod: int) -> PodMetrics | None:
    """The metrics of a pod, None where the input has none."""
    found: PodMetrics | None = cluster.kind("PodMetrics").get(key_of(cluster, pod))
    return found


def key_of(cluster: ClusterSnapshot, pod: int) -> Key:
    """The namespace and name of a pod."""
    pods = cluster.pods
    return pods.tables.namespaces[pods.namespace[pod]], pods.names[pod]


def pod_usage(metrics: PodMetrics) -> Amounts:
    """What the containers of a pod use together; a resource that one of them leaves out is unknown."""
    used = [container_usage(each) for each in metrics.containers or ()]
    return {name: sum(each[name] for each in used) for name in COLLECTED if all(name in each for each in used)}


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


KIND: Final = "RecentUsage"
#: The keys of the samples of nodes, by their names, and of pods, by namespace/name.
KEY: Final[Key] = ("", "")
OF_PODS: Final[Key] = ("", "pods")

#: Nano-units in the unit of each resource: milli-CPUs and bytes.
NANO: Final = {"cpu": NANO_PER_MILLI, "memory": NANO_PER_UNIT}

Amount = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RecentUsage:
    """Milli-CPUs and bytes: ``values[time, resource, name]``, resources as ``COLLECTED``, not-a-number if unknown."""

    names: tuple[str, ...]
    #: Seconds since the epoch, ascending.
    times: npt.NDArray[np.int64]
    values: Amount

    @property
    def end(self) -> int:
        """When the newest sample was taken."""
        return int(self.times[-1])

    def samples(self, name: str, resource: str, now: float) -> NodeSamples | None:
        """The samples of one node or pod up to a time in seconds; None of a name without any."""
        at, row = self._index.get(name), COLLECTED.index(resource)
        if at is None:
            return None
        known = ~np.isnan(self.values[:, row, at]) & (self.times <= now)
        return NodeSamples(name, self.times[known].astype(np.float64), self.values[known, row, at])

    def percentiles(self, percentile: float, window: float, now: float) -> Amount:
        """The percentile of a window (seconds) before a time, float[resource, name]; not-a-number without a sample."""
        some = self.values[(self.times > now - window) & (self.times <= now)]
        return percentiles(some, percentile) if len(some) else np.full(self.values.shape[1:], np.nan)

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    def figures(self, nodes: Sequence[str], window: int) -> tuple[Amount, Amount]:
        """Mean and standard deviation (of the population) of the last ``window`` seconds, float[resource, node] each.

        Not-a-number, and 0 for the deviation, of a node without a sample.
        """
        some = self.values[self.times > self.end - window]
        known = ~np.isnan(some)
        count = known.sum(axis=0)
        with np.errstate(invalid="ignore"):
            mean = np.where(known, some, 0.0).sum(axis=0) / count
            std = np.sqrt(np.where(known, (some - mean) ** 2, 0.0).sum(axis=0) / count)
        at = _positions(self.names, nodes)
        unknown = at < 0
        return _taken(mean, at, unknown, np.nan), np.nan_to_num(_taken(std, at, unknown, 0.0))


def with_sample(before: RecentUsage | None, at: int, used: Mapping[str, Amounts], keep: int) -> RecentUsage:
    """Add a sample of some nodes or pods and drop what is older than ``keep`` seconds; replaces one of the same time.

    ``used`` are nano-units by name, as ``node_usage`` has them; a resource that is left out is unknown. Names without any
    sample left are forgotten.
    """
    names = tuple(sorted(used))
    now = np.array(
        [[min(used[name].get(each, np.nan) / NANO[each], float(LARGEST)) for name in names] for each in COLLECTED]
    ).reshape(len(COLLECTED), len(names))
    if before is None:
        return RecentUsage(names, np.array([at], dtype=np.int64), now[None])
    kept = (before.times > at - keep) & (before.times < at)
    old = before.values[kept]
    known = np.flatnonzero(~np.isnan(old).all(axis=(0, 1)))
    every = tuple(sorted({*names, *(before.names[each] for each in known.tolist())}))
    rows = [_columns(old, before.names, every), _columns(now[None], names, every)]
    return RecentUsage(every, np.append(before.times[kept], at), np.concatenate(rows))


def recent_usage(cluster: ClusterSnapshot, key: Key = KEY) -> RecentUsage | None:
    """Return the watched usage of the nodes of a cluster, or of its pods (``OF_PODS``); None if there is none."""
    found: RecentUsage | None = cluster.kind(KIND).get(key)
    return found


def _columns(values: Amount, names: tuple[str, ...], every: tuple[str, ...]) -> Amount:
    """The samples of some nodes as those of more of them."""
    if names == every:
        return values
    at = _positions(names, every)
    return _taken(values, at, at < 0, np.nan)


def _taken(values: Amount, at: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_], instead: float) -> Amount:
    """Columns by position; another value where there is none."""
    if not values.shape[-1]:
        return np.full((*values.shape[:-1], len(at)), instead)
    return np.where(missing, instead, values[..., at])


def _positions(names: Sequence[str], wanted: Sequence[str]) -> npt.NDArray[np.int64]:
    index = {name: at for at, name in enumerate(names)}
    return np.fromiter((index.get(name, -1) for name in wanted), dtype=np.int64, count=len(wanted))
