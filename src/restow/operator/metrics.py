"""What an operator counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from restow.operator.objects import Object
from restow.serving.exposition import add_process_metrics, exposition

#: The outcome of a sync.
SyncResult = Literal["done", "failed"]

_SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250)
_RESULTS: Final[tuple[SyncResult, ...]] = ("done", "failed")


class OperatorMetrics:
    """The metrics of ``/metrics``."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._leads = self._gauge("leader", "1 while this process holds the lease and syncs; 0 while it waits.")
        self._last = self._gauge("last_sync_timestamp_seconds", "End of the last sync that did not fail; 0 before it.")
        self._conditions = self._gauge(
            "condition", "1 while the condition of the KubeDescheduler is True, else 0.", "condition"
        )
        self._syncs = Counter("restow_operator_syncs", "Syncs by result.", ["result"], registry=self.registry)
        self._seconds = Histogram(
            "restow_operator_sync_duration_seconds",
            "Duration of a sync: reading the cluster, and writing what differs.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        for result in _RESULTS:
            self._syncs.labels(result)
        add_process_metrics(self.registry)

    def text(self) -> str:
        """Return all of it in Prometheus' text format."""
        return exposition(self.registry)

    def leads(self, leading: bool) -> None:  # noqa: FBT001 - a gauge's value
        """Set whether this process syncs; if not, the process that does has the metrics of the resource."""
        self._leads.set(leading)
        if not leading:
            self.conditions(())

    def synced(self, result: SyncResult, seconds: float, ended: float) -> None:
        """Count a sync that ended at a time in seconds since 1970."""
        self._syncs.labels(result).inc()
        self._seconds.observe(seconds)
        if result == "done":
            self._last.set(ended)

    def conditions(self, conditions: Sequence[Object]) -> None:
        """Set the conditions of the resource that counts; none if there is no such resource."""
        self._conditions.clear()
        for each in conditions:
            self._conditions.labels(each["type"]).set(each["status"] == "True")

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"restow_operator_{name}", meaning, labels, registry=self.registry)
