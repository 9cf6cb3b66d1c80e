"""The metrics of steering in ``/metrics``: the chosen mode, gates, and fences."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from restow.policies.codes import SteeringMode


class SteeringMetrics:
    """Figures about steering, in a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._count_gates(registry)
        self._count_fences(registry)
        self._steering = Gauge(
            "restow_steering",
            "1 for the way in which replacements were steered in the last cycle, 0 for the others.",
            ["mode"],
            registry=registry,
        )
        self.steers(SteeringMode.NONE)
        for review in ("gated", "unchanged"):
            self._reviews.labels(review)

    def _count_gates(self, registry: CollectorRegistry) -> None:
        self._gates = Counter(
            "restow_gates_released",
            "Pods that restow released from its scheduling gate without a nomination.",
            registry=registry,
        )
        self._gate_waits = Gauge(
            "restow_gate_wait_seconds",
            "The longest time in seconds that a pod has been waiting behind restow's scheduling gate; 0 if none is waiting.",
            registry=registry,
        )
        self._reviews = Counter(
            "restow_webhook_reviews",
            "New pods about which the API server has asked restow's webhook, by what became of them: gated or unchanged.",
            ["result"],
            registry=registry,
        )

    def _count_fences(self, registry: CollectorRegistry) -> None:
        self._fenced_nodes = Gauge(
            "restow_fenced_nodes", "Nodes that carry the taint restow.dev/fence now.", registry=registry
        )
        self._fence_age = Gauge(
            "restow_fence_age_seconds",
            "Seconds for which this process has seen the node fenced that it has seen fenced longest; 0 where none is.",
            registry=registry,
        )
        self._unfenced = Counter(
            "restow_fences_removed",
            "Fenced nodes from which this process took a fence that nobody held any more.",
            registry=registry,
        )

    def gate_released(self) -> None:
        """Count a pod that was released without a nomination."""
        self._gates.inc()

    def gates_wait(self, seconds: float) -> None:
        """Set the longest time that a pod has been waiting behind the gate."""
        self._gate_waits.set(seconds)

    def reviewed(self, *, gated: bool) -> None:
        """Count an admission review of a new pod."""
        self._reviews.labels("gated" if gated else "unchanged").inc()

    def steers(self, mode: str) -> None:
        """Set how replacements are steered in this cycle."""
        for each in SteeringMode:
            self._steering.labels(each).set(each == mode)

    def fences_stand(self, nodes: int, seconds: float) -> None:
        """Set how many nodes are fenced, and the seconds since the first of them was."""
        self._fenced_nodes.set(nodes)
        self._fence_age.set(seconds)

    def fences_removed(self, nodes: int) -> None:
        """Count nodes from which an abandoned fence was removed."""
        self._unfenced.inc(nodes)
