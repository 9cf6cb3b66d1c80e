"""How full a node is. Ids are the rows of upstream's unit tests (UH), restated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from builders import NOW, Object, a_node, ago, node_metrics, pod_metrics, std_node
from builders import a_pod as built
from descheduling.harness import a_cluster, a_policy
from proving.proven import TOLD, read_policy
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.usage_samples import UsageChange, UsageQuery, query_result
from restow.descheduling.node_utilization.usage import capacities, ceilings, percentages, total
from restow.descheduling.registry import strategies
from restow.kube.duration import MINUTE, SECOND
from restow.kube.timestamps import parse_time
from restow.policies.policy import Policy, UsageSettings
from restow.proving.search import prove_cycle

MILLI, UNIT = 10**6, 10**9

NANO = 10**9
THEN = parse_time(NOW)
CPU = {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 50}}
#: Of a node that is overused by less than a pod.
HOT = "2500m"


def cpu(milli: int) -> dict[str, int]:
    return {"cpu": milli * MILLI}


PERCENTAGES = {
    "UH-03": (cpu(100), cpu(1000), {"cpu": 10}),
    "UH-04": (cpu(100), cpu(0), {"cpu": 0}),
    "UH-05": ({"x": 100}, {**cpu(100), "memory": UNIT}, {}),
    "UH-06": ({"x": 100, **cpu(200)}, {**cpu(1000), "memory": UNIT}, {"cpu": 20}),
    "UH-07": ({}, cpu(1000), {}),
    "UH-08": (cpu(100), {}, {}),
    "UH-15": ({**cpu(500), "memory": 5 * UNIT}, cpu(1000), {"cpu": 50}),
}


@pytest.mark.parametrize(("used", "capacity", "expected"), PERCENTAGES.values(), ids=PERCENTAGES.keys())
def test_percentages_leave_out_what_a_node_does_not_have(
    used: dict[str, int], capacity: dict[str, int], expected: dict[str, float]
) -> None:
    assert percentages(used, capacity) == expected


def test_percentages_round_up_to_steps_first() -> None:
    assert percentages({"cpu": 1}, cpu(1000)) == {"cpu": 0.1}
    assert percentages({"memory": 1}, {"memory": 10 * UNIT}) == {"memory": 10}


USAGES = {
    "UH-01": {
        "node1": {**cpu(1730), "memory": 3038982964 * UNIT, "pods": 25 * UNIT},
        "node2": {**cpu(1220), "memory": 3038982964 * UNIT, "pods": 11 * UNIT},
        "node3": {**cpu(1530), "memory": 5038982964 * UNIT, "pods": 20 * UNIT},
    },
    "UH-02": {
        "node1": {"memory": 3038982964 * UNIT},
        "node2": {"memory": 2038982964 * UNIT},
        "node3": {"memory": 5038982964 * UNIT},
    },
}


@pytest.mark.parametrize("usage", USAGES.values(), ids=USAGES.keys())
def test_nodes_are_ordered_by_everything_they_use_so_that_bytes_decide(usage: dict[str, dict[str, int]]) -> None:
    assert sorted(usage, key=lambda name: -total(usage[name])) == ["node3", "node1", "node2"]
    assert sorted(usage, key=lambda name: total(usage[name])) == ["node2", "node1", "node3"]


CEILINGS = [
    pytest.param("pods", 9, 50, 4, id="50 % of 9"),
    pytest.param("pods", 100, 29, 28, id="29 % of 100 falls a float short"),
    pytest.param("pods", 9, 44, 3, id="44 % of 9"),
    pytest.param("pods", 10, 100, 10, id="all of it"),
]


@pytest.mark.parametrize(("name", "capacity", "threshold", "expected"), CEILINGS)
def test_a_ceiling_is_cut_to_whole_steps(name: str, capacity: int, threshold: float, expected: int) -> None:
    assert ceilings({name: capacity * UNIT}, {name: threshold}, [name]) == {name: expected * UNIT}


def test_without_a_threshold_the_ceiling_is_the_capacity_and_without_capacity_nothing() -> None:
    assert ceilings(cpu(4000), {"gpu": 50}, ["cpu", "gpu", "foo"]) == {**cpu(4000), "gpu": 0, "foo": 0}


@given(capacity=st.integers(0, 2**50), threshold=st.floats(0, 100, allow_nan=False))
def test_a_ceiling_is_within_one_step_of_its_share(capacity: int, threshold: float) -> None:
    [ceiling] = ceilings({"memory": capacity * UNIT}, {"memory": threshold}, ["memory"]).values()
    share = Fraction(threshold) * capacity / 100
    slack = Fraction(capacity, 2**48)
    assert share - 1 - slack <= ceiling // UNIT <= share + slack


def test_capacity_counts_only_where_allocatable_is_empty() -> None:
    cluster = a_cluster(
        a_node("n1", cpu="2", memory=None, pods=None, capacity={"cpu": "4", "memory": "8"}),
        a_node("n2", cpu=None, memory=None, pods=None, capacity={"cpu": "4", "memory": "8"}),
    )
    metric = {"MetricResource": 100 * UNIT}
    assert capacities(cluster.nodes, (0, 1)) == {
        0: cpu(2000) | metric,
        1: cpu(4000) | {"memory": 8 * UNIT} | metric,
    }
    assert capacities(cluster.nodes, ()) == {}


def left(seconds_before: float, node: str = "n1", milli: int = -1000) -> UsageChange:
    """A pod that used a whole processor has left a node, or come to one."""
    return UsageChange(node, THEN - int(seconds_before * SECOND), {"cpu": milli * MILLI})


def moves(cluster: ClusterSnapshot, policy: Policy, changes: Iterable[UsageChange]) -> int:
    done = prove_cycle(replace(cluster, usage_changes=tuple(changes)), policy, strategies(), THEN)
    assert not done.record.problems, done.record.problems
    return len(done.record.evictions)


def taken(metrics: Object, seconds_before: float) -> Object:
    return metrics | {"timestamp": ago(int(seconds_before))}


def measured(seconds_before: float, cold: str = "100m") -> tuple[ClusterSnapshot, Policy]:
    """A hot node and a cold one, measured so many seconds ago."""
    pods = [built(name, node="n1", cpu="100m", owner=("ReplicaSet", name), phase="Running") for name in "ab"]
    usage = [pod_metrics(name, cpu="1") for name in "ab"]
    nodes = [node_metrics("n1", cpu=HOT), node_metrics("n2", cpu=cold)]
    known = [taken(each, seconds_before) for each in nodes]
    cluster = a_cluster(std_node("n1", 4000, 3000, 100), std_node("n2", 4000, 3000, 100), *pods, *usage, *known, *TOLD)
    policy = a_policy("LowNodeUtilization", CPU | {"metricsUtilization": {"source": "KubernetesMetrics"}})
    return cluster, read_policy(policy | {"metricsProviders": [{"source": "KubernetesMetrics"}]})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], 1),
        ([left(10.0)], 0),
        ([left(35.0)], 0),
        ([left(1500.0)], 1),
        ([left(10.0, "n2", 1200)], 0),
        ([left(10.0, "gone")], 1),
        ([left(10.0, milli=-100)], 1),
    ],
    ids=[
        "nothing was moved",
        "after the sample",
        "before it, and the mean has hardly heard of it",
        "long before it",
        "somebody has come to the cold node",
        "from another node",
        "too little to matter",
    ],
)
def test_what_was_moved_since_nodes_were_measured_counts(changes: list[UsageChange], expected: int) -> None:
    """n1 is measured at 62 %; a pod that used 25 % has left it since, or n2 has become half full."""
    assert moves(*measured(30.0), changes) == expected


def test_how_many_pods_there_are_is_no_figure() -> None:
    """They are counted where they are now."""
    arrived = UsageChange("n2", THEN - SECOND, {"pods": 100 * NANO})
    assert moves(*measured(30.0), [arrived]) == 1


def test_usage_never_falls_below_nothing() -> None:
    assert moves(*measured(30.0), [left(1.0, "n2")] * 5) == 1


def queried(settings: UsageSettings) -> tuple[ClusterSnapshot, Policy]:
    """The same two nodes by a query, with an hour of samples, the newest 30 s old."""
    pods = [built(name, node="n1", cpu="1", owner=("ReplicaSet", name), phase="Running") for name in "ab"]
    cluster = a_cluster(std_node("n1", 4000, 3000, 100), std_node("n2", 4000, 3000, 100), *pods, *TOLD)
    at = THEN / SECOND
    samples = [(name, at - age, value) for age in range(30, 3600, 30) for name, value in (("n1", 0.62), ("n2", 0.05))]
    limits = {"thresholds": {"MetricResource": 30}, "targetThresholds": {"MetricResource": 50}}
    prometheus: dict[str, Any] = {"source": "Prometheus", "prometheus": {"query": "q"}}
    policy = a_policy("LowNodeUtilization", limits | {"metricsUtilization": prometheus})
    policy["metricsProviders"] = [{"source": "Prometheus", "prometheus": {"url": "http://p"}}]
    read = read_policy(policy)
    read = structs.replace(read, restow=structs.replace(read.restow, usage=settings))
    return replace(
        cluster, usage={UsageQuery("Prometheus", "q"): query_result(sorted(samples, key=lambda each: each[1]), at)}
    ), read


def share(seconds_before: float, node: str = "n1", percents: int = -25) -> UsageChange:
    """The same in percents of a node."""
    return UsageChange(node, THEN - int(seconds_before * SECOND), {"MetricResource": percents * NANO})


NEWEST = UsageSettings(per_pod="cpu")
P95 = UsageSettings(per_pod="cpu", percentile=95.0)


@pytest.mark.parametrize(
    ("settings", "change", "expected"),
    [
        (NEWEST, share(10.0), 0),
        (NEWEST, share(31.0), 1),
        (P95, share(50 * MINUTE / SECOND), 0),
        (P95, share(58 * MINUTE / SECOND), 1),
        (P95, share(2 * MINUTE / SECOND, "n2", 60), 0),
        (P95, share(4 * MINUTE / SECOND, "n2", 60), 1),
    ],
    ids=[
        "after the newest sample",
        "before it",
        "a percentile of mostly older samples",
        "a percentile of mostly newer ones",
        "a peak that no percentile shows yet",
        "a peak that it shows",
    ],
)
def test_a_figure_of_a_query_shows_a_change_in_time(
    settings: UsageSettings, change: UsageChange, expected: int
) -> None:
    assert moves(*queried(settings), [change]) == expected
