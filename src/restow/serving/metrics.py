"""What restow counts while it runs: the Descheduler's metrics under its names, and restow's own.

A registry belongs to one ``Metrics``, so that nothing is global. Series of pods that were evicted carry the node's name;
``keep_nodes`` drops those of nodes that are gone, or a cluster that scales up and down would fill the memory.
Source of the ``descheduler_*`` names, labels and buckets: Descheduler 0.36, package metrics.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from restow.policies.codes import SURENESS, LandingKind, LoopCause, MoveResult, Prediction, RefusalCode
from restow.serving.exposition import add_process_metrics, exposition
from restow.serving.figures import CycleFigures, FormerName, LastCycle, OfKinds, ShadowMetrics, SteeringMetrics
from restow.version import __version__

#: The outcome of an eviction, in the Descheduler's words; ``limit`` texts are labels too.
EvictionResult = Literal[
    "success",
    "error",
    "background",
    "maximum number of evicted pods per a descheduling cycle reached",
    "maximum number of evicted pods per node reached",
    "maximum number of evicted pods per namespace reached",
]
#: Why an event is lost: too many waited, the API server refused it or did not take it in time, or there was no time left.
EventLoss = Literal["full", "refused", "unavailable", "stopping"]

#: The version whose behaviour is followed.
FOLLOWS: Final = "v0.36.0"

_STRATEGY_BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100)
_LOOP_BUCKETS: Final = (*_STRATEGY_BUCKETS, 250, 500)
#: Up to where the buckets of predicted probabilities reach.
_PROBABILITIES: Final = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
#: The refusals that keep restow from moving pods for nothing.
_SUPPRESSED: Final = ((LoopCause.CIRCLE, RefusalCode.CYCLE), (LoopCause.BACK_OFF, RefusalCode.BACK_OFF))
_EVENT_LOSSES: Final[tuple[EventLoss, ...]] = ("full", "refused", "unavailable", "stopping")


class EvictionLabels(NamedTuple):
    """The labels of an evicted pod."""

    strategy: str
    profile: str
    namespace: str
    node: str


class Metrics:
    """All metrics of ``/metrics``; ``ages`` is called for seconds by kind, ``known`` for whether a kind is known."""

    def __init__(
        self, ages: Callable[[], Mapping[str, float]] = dict, known: Callable[[], Mapping[str, bool]] = dict
    ) -> None:
        self.registry = CollectorRegistry()
        self.steering = SteeringMetrics(self.registry)
        self.shadow = ShadowMetrics(self.registry)
        self._last_cycle = LastCycle()
        self._series_of: dict[str, set[tuple[str, ...]]] = {}
        self._count_as_the_descheduler()
        self._count_moves()
        self._count_cycles()
        self.registry.register(self._last_cycle)
        self._register_kinds(ages, known)
        add_process_metrics(self.registry)

    def _register_kinds(self, ages: Callable[[], Mapping[str, float]], known: Callable[[], Mapping[str, bool]]) -> None:
        help_text = "Seconds since the API server last reported on a kind."
        is_known = "1 while the objects of a kind are known; 0 otherwise, while pods that depend on it are not evicted."
        self.registry.register(OfKinds("restow_cache_age_seconds", help_text, ages))
        self.registry.register(OfKinds("restow_kind_known", is_known, known))

    def _count_as_the_descheduler(self) -> None:
        build = Gauge(
            "descheduler_build_info",
            "The program: its version, the version of the Descheduler that it follows, and the version of Python.",
            ["GoVersion", "AppVersion", "DeschedulerVersion", "GitBranch", "GitSha1"],
            registry=self.registry,
        )
        build.labels(f"python{platform.python_version()}", f"restow-{__version__}", FOLLOWS, "", "").set(1)
        self._evicted = Counter(
            "descheduler_pods_evicted",
            "Attempted evictions, by result; error is a pod that could not be evicted.",
            ["result", "strategy", "profile", "namespace", "node"],
            registry=self.registry,
        )
        self._loop_seconds = Histogram(
            "descheduler_loop_duration_seconds",
            "Duration of a whole cycle in seconds.",
            buckets=_LOOP_BUCKETS,
            registry=self.registry,
        )
        self._strategy_seconds = Histogram(
            "descheduler_strategy_duration_seconds",
            "Duration of one run of a strategy in seconds.",
            ["strategy", "profile"],
            buckets=_STRATEGY_BUCKETS,
            registry=self.registry,
        )
        for metric, now, former in (
            (self._evicted, "descheduler_pods_evicted_total", "descheduler_pods_evicted"),
            (self._loop_seconds, "descheduler_loop_duration_seconds", "descheduler_descheduler_loop_duration_seconds"),
            (
                self._strategy_seconds,
                "descheduler_strategy_duration_seconds",
                "descheduler_descheduler_strategy_duration_seconds",
            ),
        ):
            self.registry.register(FormerName(metric, now, former))

    def _count_moves(self) -> None:
        self._moves = Counter(
            "restow_moves",
            "Results of decided moves, with the code of the reason if there is one.",
            ["result", "reason"],
            registry=self.registry,
        )
        self._predictions = Counter(
            "restow_predictions",
            "Replacements of evicted pods: hit landed on a predicted node, miss elsewhere, void elsewhere after an earlier "
            "move had not gone as planned or while the API server was out of reach, missing did not come or was not Ready "
            "in time.",
            ["result", "certainty"],
            registry=self.registry,
        )
        self._targets = Counter(
            "restow_targets",
            "Replacements that landed, compared with the plan: target is the node that it names, other another node where "
            "the strategy gets what it wanted, missed any other node.",
            ["result", "certainty"],
            registry=self.registry,
        )
        self._landings = Counter(
            "restow_landings",
            "Replacements that landed on a predicted node, by the probability that the plan gave them of landing well, in "
            "buckets named by their upper end, and by whether they did: well or in-vain.",
            ["probability", "result"],
            registry=self.registry,
        )
        self._loops = Counter(
            "restow_loops_suppressed",
            "Moves not made because they would come to nothing: circle is known beforehand, back-off from experience "
            "with the workload.",
            ["cause"],
            registry=self.registry,
        )
        self._backing_off = Gauge(
            "restow_backed_off_workloads",
            "Workloads that restow is backing off from because moves of their pods failed.",
            registry=self.registry,
        )
        for result in MoveResult:
            self._moves.labels(result, "")
        for prediction in Prediction:
            for certainty in SURENESS:
                self._predictions.labels(prediction, certainty)
        for landing in LandingKind:
            for certainty in SURENESS:
                self._targets.labels(landing, certainty)
        for cause in LoopCause:
            self._loops.labels(cause)

    def _count_cycles(self) -> None:
        self._cycles = Counter("restow_cycles", "Cycles by result.", ["result"], registry=self.registry)
        self._phase_seconds = Histogram(
            "restow_cycle_phase_duration_seconds",
            "Duration of a phase of a cycle in seconds.",
            ["phase"],
            buckets=_LOOP_BUCKETS,
            registry=self.registry,
        )
        self._left_out = Gauge(
            "restow_left_out_objects",
            "Unreadable objects that the last cycle left out; the log names them.",
            ["kind"],
            registry=self.registry,
        )
        self._last_ended = Gauge(
            "restow_last_cycle_timestamp_seconds",
            "End of the last cycle that did not fail; 0 before the first.",
            registry=self.registry,
        )
        self._leads = Gauge(
            "restow_leader",
            "1 while this process may evict, because it holds the lease or needs none; 0 while it waits.",
            registry=self.registry,
        )
        self._policy_loads = Counter(
            "restow_policy_loads",
            "Times that the policy file was read; if broken, the previous policy stays in force.",
            ["result"],
            registry=self.registry,
        )
        self._lost_events = Counter(
            "restow_events_lost",
            "Events about pods and nodes that were not written, by reason.",
            ["reason"],
            registry=self.registry,
        )
        for reason in _EVENT_LOSSES:
            self._lost_events.labels(reason)
        for ending in ("done", "skipped", "failed"):
            self._cycles.labels(ending)
        for outcome in ("loaded", "broken"):
            self._policy_loads.labels(outcome)

    def text(self) -> str:
        """Return all of it in Prometheus' text format."""
        return exposition(self.registry)

    def evicted(self, result: EvictionResult, pod: EvictionLabels) -> None:
        """Count an eviction that was tried, or in a dry run would have been."""
        labels = (result, *pod)
        self._series_of.setdefault(pod.node, set()).add(labels)
        self._evicted.labels(*labels).inc()

    def keep_nodes(self, existing: Iterable[str]) -> None:
        """Forget the evictions from nodes that no longer exist."""
        for gone in self._series_of.keys() - set(existing):
            for labels in self._series_of.pop(gone):
                self._evicted.remove(*labels)

    def moved(self, result: MoveResult, reason: str = "") -> None:
        """Count the outcome of a decided move; the reason is a code, never a sentence."""
        self._moves.labels(result, reason).inc()

    def landed(self, prediction: Prediction, certainty: str) -> None:
        """Count the outcome of a replacement."""
        self._predictions.labels(prediction, certainty).inc()

    def landed_at(self, landing: LandingKind, certainty: str) -> None:
        """Count a replacement that landed by how its node compares with the plan."""
        self._targets.labels(landing, certainty).inc()

    def landed_well(self, probability: float, *, well: bool) -> None:
        """Count a replacement on one of its candidates against the probability that it had of landing well."""
        bucket = next(upper for upper in _PROBABILITIES if probability <= upper)
        self._landings.labels(f"{bucket:g}", "well" if well else "in-vain").inc()

    def backed_off(self) -> None:
        """Count a move that was not made because its workload is left alone for a while."""
        self._loops.labels(LoopCause.BACK_OFF).inc()

    def workloads_backing_off(self, number: int) -> None:
        """Set how many workloads are backing off."""
        self._backing_off.set(number)

    def left_out(self, counts: Mapping[str, int]) -> None:
        """Set how many objects are left out now, by kind."""
        self._left_out.clear()
        for kind, number in counts.items():
            self._left_out.labels(kind).set(number)

    def strategy_done(self, strategy: str, profile: str, seconds: float) -> None:
        """Count one run of a strategy."""
        self._strategy_seconds.labels(strategy, profile).observe(seconds)

    def cycle_done(self, figures: CycleFigures) -> None:
        """Count a cycle; of a failed one, only that it failed, so that the figures of the last good one stay."""
        self._cycles.labels(figures.result).inc()
        self._loop_seconds.observe(figures.seconds)
        if figures.result == "failed":
            return
        for phase, seconds in figures.phases.items():
            self._phase_seconds.labels(phase).observe(seconds)
        for cause, wanted in _SUPPRESSED:
            self._loops.labels(cause).inc(sum(n for (_, code), n in figures.refusals.items() if code == wanted))
        self._last_ended.set(figures.ended)
        self._last_cycle.figures = figures

    def leads(self, leading: bool) -> None:  # noqa: FBT001 - a gauge's value
        """Set whether this process may evict."""
        self._leads.set(leading)

    def events_lost(self, reason: EventLoss, number: int) -> None:
        """Count events that could not be written."""
        self._lost_events.labels(reason).inc(number)

    def policy_read(self, result: Literal["loaded", "broken"]) -> None:
        """Count a reading of the policy file."""
        self._policy_loads.labels(result).inc()
