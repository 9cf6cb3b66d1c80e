"""The samples of nodes from metrics.k8s.io up to one moment: a stored history, or a watched one, and the metrics object.

The metrics object is the newest sample, and the only one of a node without a history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct

from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.usage_samples import NodeSamples
from restow.cluster.usage_series import UsageHistory
from restow.kube.duration import SECOND
from restow.usage.measured import (
    NANO,
    STORED_HISTORY,
    Amounts,
    RecentUsage,
    node_usage,
    recent_usage,
    source_of,
    time_of,
)
from restow.usage.stored import stored_history


class NodeHistories(Struct, frozen=True):
    """Milli-CPUs and bytes of each node; times are seconds since the epoch."""

    cluster: ClusterSnapshot
    now: float
    newest: Mapping[str, Amounts]
    watched: RecentUsage | None
    stored: UsageHistory

    @classmethod
    def of(cls, cluster: ClusterSnapshot, now: float) -> NodeHistories:
        """What a cluster holds, up to a time in seconds."""
        return cls(cluster, now, node_usage(cluster), recent_usage(cluster), stored_history(cluster))

    def source(self, name: str) -> str:
        """Who measured a node, for people."""
        return STORED_HISTORY if name in self.stored.nodes else source_of(self.cluster, name)

    def samples(self, name: str, resources: Iterable[str]) -> dict[str, NodeSamples]:
        """The samples of a node by resource, of ``COLLECTED``, without resources that were never measured."""
        found = {each: self._with_newest(name, each, self._history(name, each)) for each in resources}
        return {each: samples for each, samples in found.items() if len(samples.times)}

    def _history(self, name: str, resource: str) -> NodeSamples:
        watched = None if self.watched is None else self.watched.samples(name, resource, self.now)
        series = self.stored.series(name, resource)
        if watched is not None or series is None:
            return watched or NodeSamples(name, np.zeros(0), np.zeros(0))
        until = np.searchsorted(series.times, self.now, side="right")
        return NodeSamples(name, series.times[:until].astype(np.float64), series.values[:until].astype(np.float64))

    def _with_newest(self, name: str, resource: str, before: NodeSamples) -> NodeSamples:
        """The samples with the metrics object, if that is newer."""
        taken = time_of(self.cluster, name)
        at = self.now if taken is None else min(taken / SECOND, self.now)
        if name not in self.newest or (len(before.times) and at <= before.times[-1]):
            return before
        value = self.newest[name][resource] / NANO[resource]
        return NodeSamples(name, np.append(before.times, at), np.append(before.values, value))
