"""What a scheduler did, as events of its pods, metrics and log lines, in kube-scheduler's words and names.

Dashboards and alerts made for kube-scheduler fit: counters, histograms and their buckets are those of 1.36; help texts
are our own. Gauges (queues, cache) are read when the page is requested. Each profile has a recorder of its own, since
events name it as their controller. Source: schedule_one.go, preemption and metrics of kube-scheduler 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from restow.client.events import Loss, Occurrence, Regarding
from restow.client.objects import ObjectRef
from restow.daemon.logs import Log, Ref
from restow.scheduler.attempts import Attempt, Result
from restow.serving.exposition import add_process_metrics, exposition

#: Attempts from the fifteenth on are one series, as kube-scheduler counts them.
_MOST_ATTEMPTS: Final = 15
_QUEUES: Final = ("active", "backoff", "gated", "unschedulable")


@dataclass(slots=True, frozen=True)
class Gauges:
    """The state of a scheduler's queues and its cluster at one moment."""

    #: Pods by queue: active, backoff, gated, unschedulable.
    pending: Mapping[str, int] = field(default_factory=dict)
    #: How many nodes, pods and assumed_pods it knows.
    cached: Mapping[str, int] = field(default_factory=dict)
    #: Waiting pods by the plugin that rejected them and their profile.
    rejected: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: How many pods have entered which queue, by event.
    incoming: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: Events kept for pods with an attempt in progress, by event.
    in_flight: Mapping[str, int] = field(default_factory=dict)
    #: How many nodes there are whose usage is known.
    measured: int = 0


class SchedulerMetrics:
    """All metrics of ``/metrics``."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._on_reading = _OnReading()
        self._attempts = self._counter("schedule_attempts", "Attempts to schedule a pod.", "result", "profile")
        self._attempt_seconds = self._histogram(
            "scheduling_attempt_duration_seconds",
            "Duration of an attempt, binding included.",
            0.001,
            15,
            "result",
            "profile",
        )
        self._algorithm_seconds = self._histogram(
            "scheduling_algorithm_duration_seconds", "Duration of the decision of an attempt.", 0.001, 15
        )
        self._wait_seconds = self._histogram(
            "pod_scheduling_sli_duration_seconds",
            "Time from when a pod was first queued to its binding, by the number of attempts.",
            0.01,
            20,
            "attempts",
        )
        self._attempts_needed = self._histogram(
            "pod_scheduling_attempts", "Attempts that a pod needed until it was bound.", 1, 5
        )
        self._point_seconds = self._histogram(
            "framework_extension_point_duration_seconds",
            "Duration of an extension point, all of its plugins together.",
            0.0001,
            12,
            "extension_point",
            "status",
            "profile",
        )
        self._plugin_seconds = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "Duration of a plugin at an extension point, in a tenth of the attempts.",
            ("plugin", "extension_point", "status"),
            buckets=[0.00001 * 1.5**step for step in range(20)],
            registry=self.registry,
        )
        self._preemptions = self._counter("preemption_attempts", "Attempts to make room by preemption.")
        self._victims = self._histogram("preemption_victims", "Pods that were preempted at a time.", 1, 7)
        self._leads = Gauge(
            "leader_election_master_status",
            "1 while this process holds the lease and schedules; 0 while it waits.",
            ["name"],
            registry=self.registry,
        )
        self._lost_events = self._counter_of("restow_events_lost", "Events that were not written, by reason.", "reason")
        self.registry.register(self._on_reading)
        for reason in get_args(Loss):
            self._lost_events.labels(reason)
        add_process_metrics(self.registry)

    def text(self) -> str:
        """All metrics in Prometheus' text format."""
        return exposition(self.registry)

    def show(self, read: Callable[[], Gauges]) -> None:
        """Read the gauges with this function, at each request of the page."""
        self._on_reading.read = read

    def attempted(self, result: str, profile: str) -> None:
        """Count an attempt."""
        self._attempts.labels(result, profile).inc()

    def took(self, result: str, profile: str, *, deciding: float, lasted: float) -> None:
        """Observe the seconds of an attempt: of its decision, and of the whole."""
        self._attempt_seconds.labels(result, profile).observe(lasted)
        self._algorithm_seconds.observe(deciding)

    def timed(self, profile: str, parts: Mapping[tuple[str, str, str], float]) -> None:
        """Observe the seconds of an attempt by extension point, plugin (empty for all together) and status."""
        for (point, plugin, status), seconds in parts.items():
            if plugin:
                self._plugin_seconds.labels(plugin, point, status).observe(seconds)
            else:
                self._point_seconds.labels(point, status, profile).observe(seconds)

    def waited(self, attempts: int, seconds: float) -> None:
        """Observe that a pod was bound: after how many attempts, and how many seconds after it was first queued."""
        label = str(attempts) if attempts < _MOST_ATTEMPTS else f"{_MOST_ATTEMPTS}+"
        self._wait_seconds.labels(label).observe(seconds)
        self._attempts_needed.observe(attempts)

    def tried_preemption(self) -> None:
        """Count an attempt to make room."""
        self._preemptions.inc()

    def preempted(self, victims: int) -> None:
        """Count pods that have to go at a time."""
        self._victims.observe(victims)

    def leads(self, name: str, leading: bool) -> None:  # noqa: FBT001 - a gauge's value
        """Set whether this process schedules; ``name`` is the lease's."""
        self._leads.labels(name).set(leading)

    def events_lost(self, reason: Loss, number: int, /) -> None:
        """Count events that could not be written."""
        self._lost_events.labels(reason).inc(number)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return self._counter_of(f"scheduler_{name}", meaning, *labels)

    def _counter_of(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, first: float, buckets: int, *labels: str) -> Histogram:
        bounds = _doubled(first, buckets)
        return Histogram(f"scheduler_{name}", meaning, labels, buckets=bounds, registry=self.registry)


class _OnReading(Collector):
    """What is asked for when the page is read."""

    def __init__(self) -> None:
        self.read: Callable[[], Gauges] = Gauges

    def collect(self) -> Iterator[Metric]:
        gauges = self.read()
        pending = GaugeMetricFamily("scheduler_pending_pods", "Pods that wait, by queue.", labels=["queue"])
        for queue in _QUEUES:
            pending.add_metric([queue], gauges.pending.get(queue, 0))
        cached = GaugeMetricFamily("scheduler_cache_size", "Objects that decisions go by.", labels=["type"])
        for kind, count in gauges.cached.items():
            cached.add_metric([kind], count)
        rejected = GaugeMetricFamily(
            "scheduler_unschedulable_pods",
            "Waiting pods by the plugins that rejected nodes for them; a pod counts for each.",
            labels=["plugin", "profile"],
        )
        for labels, count in gauges.rejected.items():
            rejected.add_metric(labels, count)
        measured = GaugeMetricFamily(
            "restow_measured_nodes", "Nodes whose usage is known to profiles that score by it.", value=gauges.measured
        )
        yield from (pending, cached, rejected, self._incoming(gauges), self._in_flight(gauges), measured)

    def _incoming(self, gauges: Gauges) -> Metric:
        family = CounterMetricFamily(
            "scheduler_queue_incoming_pods", "Pods that came into a queue, by event.", labels=["queue", "event"]
        )
        for labels, count in gauges.incoming.items():
            family.add_metric(labels, count)
        return family

    def _in_flight(self, gauges: Gauges) -> Metric:
        family = GaugeMetricFamily(
            "scheduler_inflight_events", "Events that are remembered for pods that are being tried.", labels=["event"]
        )
        for event, count in gauges.in_flight.items():
            family.add_metric([event], count)
        return family


def _doubled(first: float, count: int) -> Sequence[float]:
    return [first * 2**step for step in range(count)]


#: The longest note of an event (bytes), and how a longer one ends.
_LONGEST: Final = 1024
_CUT: Final = " ..."
#: From this verbosity on, each attempt has a line.
_DETAILS: Final = 2


class Records(Protocol):
    """Takes events; ``client.events.EventRecorder`` is one."""

    def record(self, occurrence: Occurrence, /) -> None:
        """Record an event; returns at once and never fails."""
        ...


@dataclass(slots=True, frozen=True)
class SchedulerReporter:
    """An ``AttemptObserver`` that writes events, metrics and log lines."""

    log: Log
    metrics: SchedulerMetrics
    #: By the name of the profile.
    recorders: Mapping[str, Records]

    def attempted(self, attempt: Attempt) -> None:
        """Report how an attempt to schedule a pod ended, and how long it took."""
        result = attempt.result
        self.metrics.took(result.value, attempt.profile, deciding=attempt.deciding, lasted=attempt.lasted)
        self.metrics.timed(attempt.profile, attempt.parts)
        if attempt.tried_preemption:
            self.metrics.tried_preemption()
        if result is Result.SCHEDULED:
            self.metrics.waited(attempt.number, attempt.waited)
            self.bound(attempt.pod, attempt.profile, attempt.node)
        else:
            self.failed(attempt.pod, attempt.profile, result, attempt.message)

    def bound(self, pod: ObjectRef, profile: str, node: str) -> None:
        """Report that a pod is bound."""
        self.metrics.attempted(Result.SCHEDULED.value, profile)
        self.log.info("Successfully bound pod to node", v=_DETAILS, pod=_ref(pod), node=node)
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        self._record(profile, Occurrence(_about(pod), "Scheduled", "Binding", note))

    def failed(self, pod: ObjectRef, profile: str, result: Result, message: str) -> None:
        """Report why a pod still waits."""
        self.metrics.attempted(result.value, profile)
        if result is Result.ERROR:
            self.log.error("Error scheduling pod; retrying", message, pod=_ref(pod))
        else:
            self.log.info("Unable to schedule pod; no fit; waiting", v=_DETAILS, pod=_ref(pod), err=message)
        occurrence = Occurrence(_about(pod), "FailedScheduling", "Scheduling", shortened(message), "Warning")
        self._record(profile, occurrence)

    def preempted(self, pod: ObjectRef, profile: str, node: str, victims: Sequence[ObjectRef]) -> None:
        """Report the pods that are deleted for another one."""
        self.metrics.preempted(len(victims))
        for victim in victims:
            self.log.info("Preemptor Pod preempted victim Pod", preemptor=_ref(pod), victim=_ref(victim), node=node)
            note = f"Preempted by pod {pod.uid} on node {node}"
            self._record(profile, Occurrence(_about(victim), "Preempted", "Preempting", note, related=_about(pod)))

    def warn(self, sentence: str) -> None:
        """Log a warning."""
        self.log.warning(sentence)

    def _record(self, profile: str, occurrence: Occurrence) -> None:
        recorder = self.recorders.get(profile)
        if recorder is not None:
            recorder.record(occurrence)


def shortened(message: str) -> str:
    """Return a message, cut to the maximum length of an event's note and marked if it is longer."""
    encoded = message.encode()
    if len(encoded) <= _LONGEST:
        return message
    return encoded[: _LONGEST - len(_CUT)].decode(errors="ignore") + _CUT


def _about(pod: ObjectRef) -> Regarding:
    return Regarding("Pod", pod.name, pod.namespace, pod.uid)


def _ref(pod: ObjectRef) -> Ref:
    return Ref(pod.namespace, pod.name)
