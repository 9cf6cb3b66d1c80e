"""A scheduler's metrics have the names, labels and buckets of kube-scheduler's."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from restow.scheduler.reporter import Gauges, SchedulerMetrics

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(metrics: SchedulerMetrics) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.text())
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    return found[f"scheduler_{name}", frozenset(labels.items())]


def test_an_attempt_is_counted_by_result_and_profile() -> None:
    metrics = SchedulerMetrics()

    metrics.attempted("scheduled", "mine")
    metrics.took("scheduled", "mine", deciding=0.003, lasted=0.02)
    metrics.waited(1, 0.02)
    metrics.attempted("unschedulable", "mine")
    metrics.took("unschedulable", "mine", deciding=0.003, lasted=0.003)

    found = samples(metrics)
    assert value(found, "schedule_attempts_total", result="scheduled", profile="mine") == 1
    assert value(found, "schedule_attempts_total", result="unschedulable", profile="mine") == 1
    of_attempt = {"result": "scheduled", "profile": "mine"}
    assert value(found, "scheduling_attempt_duration_seconds_bucket", le="0.016", **of_attempt) == 0
    assert value(found, "scheduling_attempt_duration_seconds_bucket", le="0.032", **of_attempt) == 1
    assert value(found, "scheduling_algorithm_duration_seconds_bucket", le="16.384") == 2
    assert value(found, "pod_scheduling_sli_duration_seconds_bucket", le="5242.88", attempts="1") == 1
    assert value(found, "pod_scheduling_attempts_bucket", le="1") == 1


def test_parts_of_an_attempt_have_kube_schedulers_buckets() -> None:
    metrics = SchedulerMetrics()

    metrics.timed("mine", {("Score", "", "Success"): 0.0003, ("Score", "ImageLocality", "Success"): 0.000012})

    found = samples(metrics)
    point = {"extension_point": "Score", "status": "Success"}
    name = "framework_extension_point_duration_seconds_bucket"
    assert value(found, name, le="0.0002", profile="mine", **point) == 0
    assert value(found, name, le="0.0004", profile="mine", **point) == 1
    counts = [
        count
        for (label, labels), count in found.items()
        if label == "scheduler_plugin_execution_duration_seconds_bucket" and ("plugin", "ImageLocality") in labels
    ]
    assert (len(counts), sorted(counts)[:2]) == (21, [0, 1])


def test_many_attempts_are_one_series() -> None:
    metrics = SchedulerMetrics()

    metrics.waited(14, 1.0)
    metrics.waited(15, 1.0)
    metrics.waited(400, 1.0)

    found = samples(metrics)
    assert value(found, "pod_scheduling_sli_duration_seconds_count", attempts="14") == 1
    assert value(found, "pod_scheduling_sli_duration_seconds_count", attempts="15+") == 2


def test_preemptions_and_queues() -> None:
    metrics = SchedulerMetrics()

    metrics.tried_preemption()
    metrics.preempted(3)
    metrics.show(lambda: Gauges(incoming={("active", "UnschedulablePodAdd"): 2}, in_flight={"NodeAdd": 3}))

    found = samples(metrics)
    assert value(found, "preemption_attempts_total") == 1
    assert value(found, "preemption_victims_bucket", le="4") == 1
    assert value(found, "queue_incoming_pods_total", queue="active", event="UnschedulablePodAdd") == 2
    assert value(found, "inflight_events", event="NodeAdd") == 3


def test_what_is_held_is_asked_for_when_the_page_is_read() -> None:
    holdings = iter(
        (
            Gauges(),
            Gauges(pending={"gated": 2}, cached={"nodes": 5}, rejected={("NodeResourcesFit", "mine"): 3}),
        )
    )
    metrics = SchedulerMetrics()
    metrics.show(lambda: next(holdings))

    metrics.text()
    found = samples(metrics)

    assert value(found, "pending_pods", queue="gated") == 2
    assert value(found, "pending_pods", queue="active") == 0
    assert value(found, "cache_size", type="nodes") == 5
    assert value(found, "unschedulable_pods", plugin="NodeResourcesFit", profile="mine") == 3


def test_who_leads() -> None:
    metrics = SchedulerMetrics()
    metrics.leads("my-scheduler", True)
    assert 'leader_election_master_status{name="my-scheduler"} 1' in metrics.text()
