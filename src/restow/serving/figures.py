"""Metrics of the last cycle: figures without names of pods, and the collector that exposes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

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
