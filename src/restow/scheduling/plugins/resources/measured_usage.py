"""What nodes are measured to use: mean and standard deviation over the last minutes of what is watched or stored.

The history of the cluster ends with its newest sample, and a window reaches back from there: usage is judged as of that
time. A node without samples in the window uses what its metrics (metrics.k8s.io) say, with unknown variation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restow.cluster.amounts import LARGEST
from restow.cluster.nodes import BASIC_RESOURCES, CPU, MEMORY, Nodes
from restow.cluster.recent_usage import recent_usage
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.stored_usage import stored_history
from restow.cluster.usage import node_usage
from restow.cluster.usage_history import SampleSeries, UsageHistory, mean, std
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT

#: The rows of amount arrays that are measured.
MEASURED = (CPU, MEMORY)

_NANO = {CPU: NANO_PER_MILLI, MEMORY: NANO_PER_UNIT}


@dataclass(slots=True, frozen=True, eq=False)
class NodeUsage:
    """Amounts of each node, in rows as ``MEASURED``; not-a-number where unknown."""

    mean: npt.NDArray[np.float64]
    #: 0 where it is not known how usage varies.
    std: npt.NDArray[np.float64]
    #: When the newest sample was taken, in seconds since the epoch; None without a history.
    end: int | None


def measured_usage(cluster: ClusterSnapshot, window: int) -> NodeUsage:
    """What is watched now; else the history of the last ``window`` seconds, then the metrics in the input."""
    recent = recent_usage(cluster)
    if recent is not None:
        return NodeUsage(*recent.figures(cluster.nodes.names, window), recent.end)
    history, nodes = stored_history(cluster), cluster.nodes
    means, stds = np.full((len(MEASURED), len(nodes)), np.nan), np.zeros((len(MEASURED), len(nodes)))
    _take_metrics(cluster, means)
    end = max((int(each.times[-1]) for series in history.nodes.values() for each in series.values()), default=None)
    if end is not None:
        for row, resource in enumerate(MEASURED):
            for node, series in _series(history, nodes, BASIC_RESOURCES[resource]):
                average, deviation = mean(series, window, end), std(series, window, end)
                if average is not None:
                    means[row, node], stds[row, node] = average, deviation
    return NodeUsage(means, stds, end)


def _series(history: UsageHistory, nodes: Nodes, resource: str) -> Iterator[tuple[int, SampleSeries]]:
    """The series of the nodes that have one, by index."""
    for node, name in enumerate(nodes.names):
        series = history.series(name, resource)
        if series is not None:
            yield node, series


def _take_metrics(cluster: ClusterSnapshot, means: npt.NDArray[np.float64]) -> None:
    for name, usage in node_usage(cluster).items():
        node = cluster.nodes.index.get(name)
        for row, resource in enumerate(MEASURED) if node is not None else ():
            means[row, node] = min(usage[BASIC_RESOURCES[resource]] / _NANO[resource], float(LARGEST))
