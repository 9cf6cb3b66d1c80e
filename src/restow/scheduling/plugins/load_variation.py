"""LoadVariationRiskBalancing: prefer nodes whose usage is low and steady.

The risk of a node is the mean of two shares of what is allocatable: the average usage with what the pod requests, and
the standard deviation of usage, to the power of 1/sensitivity, times the margin. The score is what is left of 100, of
CPU or memory, whichever is worse. A node without known usage scores 0. Source: LoadVariationRiskBalancing of
kubernetes-sigs/scheduler-plugins.

A guard that is restow's own keeps pods from herding on the node that was coolest when usage was last measured: pods
that came since, or shortly before, count with their requests, because their load cannot be seen yet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from msgspec import Struct, structs

from restow.cluster.amounts import LARGEST
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import BASIC_RESOURCES, CPU, MEMORY, NodePart, Nodes
from restow.cluster.pod_columns import PodColumn
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.usage_series import SampleSeries, UsageHistory, mean, std
from restow.documents.findings import Issue
from restow.kube.objects import Int64
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT
from restow.kube.timestamps import SECOND
from restow.scheduling.framework.caches import PerNode
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import Availability, SchedulerPlugin, SchedulerPluginArgs, out_of_range
from restow.scheduling.framework.extension_points import MAX_SCORE, Scores
from restow.usage.measured import node_usage, recent_usage
from restow.usage.stored import stored_history

#: The rows of amount arrays that are measured.
MEASURED = (CPU, MEMORY)

_NANO = {CPU: NANO_PER_MILLI, MEMORY: NANO_PER_UNIT}

NAME = "LoadVariationRiskBalancing"

_Floats = npt.NDArray[np.float64]

#: Seconds of a year.
_LONGEST = 366 * 86_400
#: Seconds over which the load watcher of scheduler-plugins averages usage.
DEFAULT_WINDOW = 900


class MetricProvider(Struct, frozen=True, rename="camel"):
    """Where another scheduler has usage from; restow has it from its input."""

    type: str = ""
    address: str | None = None
    token: str | None = None
    insecure_skip_verify: bool | None = None


class LoadVariationRiskBalancingArgs(SchedulerPluginArgs, frozen=True):
    """What the risk of a node is made of. Source: scheduler-plugins, and restow's own ``window`` and ``guard``."""

    safe_variance_margin: float = 1.0
    safe_variance_sensitivity: float = 1.0
    watcher_address: str | None = None
    metric_provider: MetricProvider = MetricProvider()
    #: Over how long usage is averaged.
    window_seconds: Int64 = DEFAULT_WINDOW
    #: How long before the last sample pods came that count with their requests; None for no pods.
    guard_seconds: Int64 | None = None


def check(args: LoadVariationRiskBalancingArgs) -> list[Issue]:
    """Times within a year."""
    problems = out_of_range(("windowSeconds",), args.window_seconds, 1, _LONGEST)
    if args.guard_seconds is not None:
        problems += out_of_range(("guardSeconds",), args.guard_seconds, 0, _LONGEST)
    return problems


class LoadVariationRiskBalancing:
    """Score on usage."""

    name = NAME

    def __init__(self, context: Context, args: LoadVariationRiskBalancingArgs) -> None:
        self._state = context.state
        self._args = args
        cluster = context.state.cluster
        end = self._measure()
        self._recent = None if args.guard_seconds is None else _recent(context, end, args.guard_seconds)
        self._unseen = PerNode.following(context.state, self._requests_of_recent, capacity=1)
        self._scores = PerNode.following(context.state, self._compute)
        cluster.nodes.follow(NodePart.POSITION | NodePart.AMOUNTS, self._measure)

    def _measure(self) -> int | None:
        """Find what the nodes use, and of how much; returns when that was measured."""
        args, cluster = self._args, self._state.cluster
        measured = measured_usage(cluster, args.window_seconds)
        allocatable = cluster.nodes.allocatable[list(MEASURED)].astype(np.float64)
        self._known: BoolArray = ~np.isnan(measured.mean)
        self._capacity: _Floats = np.maximum(allocatable, 1.0)
        self._has_none: BoolArray = allocatable <= 0
        self._mean: _Floats = np.clip(np.where(self._known, measured.mean, 0.0), 0.0, self._capacity)
        self._spread = _spread(measured.std / self._capacity, args.safe_variance_margin, args.safe_variance_sensitivity)
        return measured.end

    def score(self, pod: int, nodes: IntArray) -> Scores:
        """0 to 100: more for a lower risk."""
        return self._scores.at(int(self._state.cluster.pods.resources[pod]), nodes)

    def score_all(self, pod: int, _feasible: BoolArray) -> Scores:
        """The scores of all nodes."""
        return self._scores.of(int(self._state.cluster.pods.resources[pod]))

    def signature(self, pod: int) -> Hashable:
        """Whether the load of a pod cannot be seen yet: its node counts without it once it is gone."""
        return bool(self._is_recent(np.array([pod]))[0])

    def _compute(self, resources: int, nodes: IntArray) -> Scores:
        request = self._state.request_vectors()[resources][list(MEASURED)].astype(np.float64)
        load = self._mean[:, nodes] + request[:, None]
        if self._recent is not None:
            load += self._unseen.at(0, nodes)
        average = np.minimum(load / self._capacity[:, nodes], 1.0)
        left = (1.0 - (average + self._spread[:, nodes]) / 2) * MAX_SCORE
        left = np.where(self._has_none[:, nodes], 0.0, left)
        known = self._known[:, nodes]
        worst = np.where(known, left, np.inf).min(axis=0)
        return np.floor(np.where(known.any(axis=0), worst, 0.0) + 0.5).astype(np.int16)

    def _requests_of_recent(self, _key: int, nodes: IntArray) -> _Floats:
        """What the pods on some nodes request whose load cannot be seen yet."""
        state = self._state
        unseen = np.zeros((len(MEASURED), len(nodes)))
        for at, node in enumerate(nodes.tolist()):
            pods = state.pods_on(node)
            came = (state.cluster.pods.node[pods] != node) | self._is_recent(pods)
            for pod in pods[came].tolist():
                unseen[:, at] += state.requests_of(pod)[list(MEASURED)]
        return unseen

    def _is_recent(self, pods: IntArray) -> BoolArray:
        return np.zeros(len(pods), dtype=bool) if self._recent is None else self._recent.of(pods)


def _spread(deviation: _Floats, margin: float, sensitivity: float) -> _Floats:
    """What the standard deviation, a share of what is allocatable, adds to the risk."""
    power = np.inf if sensitivity == 0 else 1 / sensitivity
    spread: _Floats = np.clip(np.clip(deviation, 0.0, 1.0) ** power * margin, 0.0, 1.0)
    return spread


def _recent(context: Context, end: int | None, guard: int) -> PodColumn[np.bool_]:
    """The pods that started within ``guard`` seconds before the last sample, or after it."""
    pods = context.state.cluster.pods
    if end is None:
        return PodColumn(pods, lambda some: np.zeros(len(some), dtype=bool))
    since = (end - guard) * SECOND
    return PodColumn(pods, lambda some: np.maximum(pods.started[some], pods.created[some]) > since)


# The history of the cluster ends with its newest sample, and a window reaches back from there: usage is judged as of that
# time. A node without samples in the window uses what its metrics (metrics.k8s.io) say, with unknown variation.
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


def _with_defaults(args: LoadVariationRiskBalancingArgs) -> LoadVariationRiskBalancingArgs:
    """Negative factors are no choice."""
    margin, sensitivity = args.safe_variance_margin, args.safe_variance_sensitivity
    return structs.replace(
        args,
        safe_variance_margin=1.0 if margin < 0 else margin,
        safe_variance_sensitivity=1.0 if sensitivity < 0 else sensitivity,
    )


PLUGIN = SchedulerPlugin(
    NAME,
    ("score",),
    LoadVariationRiskBalancing,
    args=LoadVariationRiskBalancingArgs,
    check=check,
    with_defaults=_with_defaults,
    availability=Availability.OPTIONAL,
)
