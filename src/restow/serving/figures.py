"""Metrics of the last cycle, as figures without names of pods, and of steering: the chosen mode, gates and fences.

They are collectors and groups of metrics in the registry of ``serving.metrics``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

from restow.policies.codes import SteeringMode
from restow.serving.exposition import series

#: How a cycle ended; ``skipped`` is one with fewer than two usable nodes.
CycleResult = Literal["done", "skipped", "failed"]


@dataclass(slots=True, frozen=True, kw_only=True)
class CycleFigures:
    """The figures of one cycle."""

    result: CycleResult
    #: When it ended, in seconds since the epoch.
    ended: float
    #: From its beginning to its end, what was executed included.
    seconds: float
    #: Seconds by phase, such as ``decide``.
    phases: Mapping[str, float] = field(default_factory=dict)
    #: Decided moves by profile, strategy and certainty, which is empty where it was not computed.
    moves: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    #: Pods that a strategy wanted and that stay, by stage and code.
    refusals: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: By resource, the standard deviation over the nodes of the requested share, before and as decided.
    imbalance: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class FormerName(Collector):
    """A metric under its former name: counted once, exported twice."""

    def __init__(self, metric: MetricWrapperBase, now: str, former: str) -> None:
        self._metric = metric
        self._now = now
        self._former = former

    def collect(self) -> Iterator[Metric]:
        """Return the one family."""
        for family in self._metric.collect():
            former = Metric(self._former, f"The former name of {self._now}.", family.type)
            former.samples = [
                each._replace(name=each.name.replace(self._now, self._former, 1)) for each in series(family)
            ]
            yield former


class LastCycle(Collector):
    """What the last cycle decided. Each cycle replaces the one before, so that no series is out of date."""

    def __init__(self) -> None:
        self.figures = CycleFigures(result="done", ended=0, seconds=0)

    def collect(self) -> Iterator[Metric]:
        """Return moves, refusals and imbalance."""
        moves = GaugeMetricFamily(
            "restow_last_cycle_moves",
            "Moves that the last cycle decided on; certainty is empty without predictions.",
            labels=["profile", "strategy", "certainty"],
        )
        for labels, number in self.figures.moves.items():
            moves.add_metric(labels, number)
        refusals = GaugeMetricFamily(
            "restow_last_cycle_refusals",
            "Pods that a strategy wanted to move but the last cycle refused, by stage and code of the refusal.",
            labels=["stage", "code"],
        )
        for reason, number in self.figures.refusals.items():
            refusals.add_metric(reason, number)
        yield from (moves, refusals, self._imbalance())

    def _imbalance(self) -> Metric:
        family = GaugeMetricFamily(
            "restow_imbalance",
            "Standard deviation over the nodes of the share of a resource that is requested, before the last cycle and "
            "as it decided.",
            labels=["resource", "moment"],
        )
        for resource, (before, after) in self.figures.imbalance.items():
            family.add_metric((resource, "before"), before)
            family.add_metric((resource, "after"), after)
        return family


class OfKinds(Collector):
    """A gauge with a value for each kind that is kept."""

    def __init__(self, name: str, documentation: str, values: Callable[[], Mapping[str, float]]) -> None:
        self._name = name
        self._documentation = documentation
        self._values = values

    def collect(self) -> Iterator[Metric]:
        """Return the one family."""
        family = GaugeMetricFamily(self._name, self._documentation, labels=["kind"])
        for kind, value in self._values().items():
            family.add_metric((kind,), value)
        yield family


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


class ShadowMetrics:
    """Figures about evictions that others make, in a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._evictions = Counter(
            "restow_shadow_evictions",
            "Evictions by others, by what they came to.",
            ["outcome"],
            registry=registry,
        )
        self._repeated = Counter(
            "restow_shadow_repeated_evictions",
            "Evictions by others of pods that had themselves replaced an evicted pod within the hour.",
            registry=registry,
        )
        self._errors = Counter(
            "restow_shadow_forecast_errors",
            "Sum of the squared errors of the forecasts, each 0 to 1.",
            ["certainty"],
            registry=registry,
        )
        self._forecasts = Counter(
            "restow_shadow_forecasts",
            "Forecasts of evictions by others whose outcome is known.",
            ["certainty"],
            registry=registry,
        )
        self._planned = Counter(
            "restow_shadow_planned_moves",
            "Pods that restow would have moved, each counted once.",
            ["certainty"],
            registry=registry,
        )

    def came_to(self, outcome: str, *, repeated: bool) -> None:
        """Count an eviction by what it came to."""
        self._evictions.labels(outcome).inc()
        self._repeated.inc(int(repeated))

    def forecast(self, certainty: str, error: float) -> None:
        """Count a forecast and its squared error."""
        self._forecasts.labels(certainty).inc()
        self._errors.labels(certainty).inc(error)

    def planned(self, certainty: str) -> None:
        """Count a pod that restow would have moved."""
        self._planned.labels(certainty).inc()
