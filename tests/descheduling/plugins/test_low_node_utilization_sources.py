"""LowNodeUtilization: where usage comes from, and what happens where it does not come from anywhere.

LP are rows of upstream's own unit tests, X scenarios that were run against upstream.
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import Object, node_metrics, pod_metrics, std_node
from descheduling.harness import cycle, evictions
from descheduling.utilisation_rows import (
    BIG1,
    BIG2,
    CPU,
    FIVE,
    METRICS,
    N1,
    N2,
    NAME,
    P9,
    SIX,
    Q,
    hot,
    limits,
)
from restow.cluster.usage_samples import UsageQuery, query_result

QUERY = "instance:node_cpu:rate:sum"
AT = 1_795_219_200.0
PROMETHEUS = {"metricsUtilization": {"source": "Prometheus", "prometheus": {"query": QUERY}}}
LP_NODES = [N1, N2, std_node("n3", 4000, 3000, 10)]
UNEVEN = {"n1": 0.5695757575757561, "n2": 0.4245454545454522, "n3": 0.20381818181818104}


def metric(low: int, high: int, **more: Any) -> Object:
    return limits({"MetricResource": low}, {"MetricResource": high}, **PROMETHEUS, **more)


SAMPLED = {
    "LP-01": (metric(30, 50), UNEVEN, ["p1"]),
    "LP-02": (metric(30, 50, evictionLimits={"node": 3}), UNEVEN, ["p1", "p2", "p3"]),
    "LP-03": (metric(5, 5, useDeviationThresholds=True, evictionLimits={"node": 2}), UNEVEN, ["p1", "p2"]),
    "LP-04": (metric(10, 10, useDeviationThresholds=True), {"n1": 1, "n2": 0.5, "n3": 0}, ["p1"]),
}


@pytest.mark.parametrize(("args", "samples", "expected"), SAMPLED.values(), ids=SAMPLED.keys())
def test_by_samples_one_pod_goes_unless_a_limit_says_how_many(
    args: Object, samples: dict[str, float], expected: list[str]
) -> None:
    """Nobody knows what a pod adds to a sample, so the load is not judged again after the first eviction."""
    usage = {UsageQuery("Prometheus", QUERY): query_result(((node, AT, value) for node, value in samples.items()), AT)}
    assert evictions(NAME, args, nodes=LP_NODES, pods=[*FIVE, *Q, P9], usage=usage) == expected


def problem(args: Object, *others: Object) -> str:
    done = cycle(NAME, {**CPU, **args}, nodes=[BIG1, BIG2], pods=hot(), others=others)
    assert not done.record.evictions
    [(_, message)] = done.record.problems
    return message


def metrics_source(**fields: Any) -> Object:
    return {"metricsUtilization": fields}


PROBLEMS = {
    "X-06": (metrics_source(), "error initializing usage client: metrics source is empty"),
    "X-07": (
        metrics_source(source="KubernetesMetrics"),
        "error initializing usage client: metrics client not initialized",
    ),
    "metricsServer": (
        metrics_source(metricsServer=True),
        "error initializing usage client: metrics client not initialized",
    ),
    "unknown source": (metrics_source(source="Guess"), "error initializing usage client: unrecognized metrics source"),
}


@pytest.mark.parametrize(("args", "expected"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_without_usage_it_cannot_work(args: Object, expected: str) -> None:
    assert problem(args) == expected


QUERY_PROBLEMS = {
    "Prometheus": ({}, "error initializing usage client: prometheus client not initialized"),
    "X-16": ({"metricsServer": True}, "error initializing usage client: metrics client not initialized"),
}


@pytest.mark.parametrize(("more", "expected"), QUERY_PROBLEMS.values(), ids=QUERY_PROBLEMS.keys())
def test_a_dump_holds_no_samples(more: Object, expected: str) -> None:
    source = {**PROMETHEUS["metricsUtilization"], **more}
    args = limits({"MetricResource": 20}, {"MetricResource": 50}, metricsUtilization=source)
    assert problem({**args}) == expected


def test_a_node_without_metrics_stops_the_strategy() -> None:
    expected = 'error getting node usage: unable to find node "n2" in the collected metrics'
    assert problem(METRICS, node_metrics("n1", cpu="3")) == expected


def test_metrics_know_no_other_resource_than_cpu_and_memory() -> None:
    args = {**METRICS, **limits({"gpu": 20}, {"gpu": 50})}
    both = [node_metrics("n1", cpu="3"), node_metrics("n2", cpu="0")]
    expected = 'error getting node usage: unable to find "gpu" resource for collected "n1" node metric'
    assert problem(args, *both) == expected


def test_a_pod_without_metrics_is_passed_over() -> None:
    metrics = [
        node_metrics("n1", cpu="3"),
        node_metrics("n2"),
        *(pod_metrics(name, cpu="500m") for name in SIX[3:]),
        {**pod_metrics("b1"), "containers": [{"name": "c", "usage": {"cpu": "500m"}}]},
    ]
    assert evictions(NAME, {**CPU, **METRICS}, nodes=[BIG1, BIG2], pods=hot(), others=metrics) == ["b3", "b4"]


def test_metrics_are_compared_exactly() -> None:
    """One nano-CPU above the ceiling is above it, although percentages round up to a milli-CPU."""
    metrics = [
        node_metrics("n1", cpu="2500000001n"),
        node_metrics("n2"),
        *(pod_metrics(name, cpu="500m") for name in SIX),
    ]
    assert evictions(NAME, {**CPU, **METRICS}, nodes=[BIG1, BIG2], pods=hot(), others=metrics) == ["b0", "b1"]
