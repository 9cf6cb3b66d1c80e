"""Figures of usage from before pods were moved: a cycle that plans again must not count on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from builders import NOW, Object, ago, node_metrics, pod_metrics, std_node
from builders import a_pod as built
from descheduling.harness import a_cluster, a_policy
from descheduling.proven import TOLD, read_policy
from restow.cluster.snapshot import Cluster
from restow.cluster.usage_changes import UsageChange
from restow.cluster.usage_samples import query_result
from restow.descheduling.proving import prove_cycle
from restow.descheduling.registry import strategies
from restow.kube.duration import MINUTE, SECOND
from restow.kube.timestamps import parse_time
from restow.policies.policy import Policy, UsageSettings

MILLI, NANO = 10**6, 10**9
THEN = parse_time(NOW)
CPU = {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 50}}
#: Of a node that is overused by less than a pod.
HOT = "2500m"


def left(seconds_before: float, node: str = "n1", milli: int = -1000) -> UsageChange:
    """A pod that used a whole processor has left a node, or come to one."""
    return UsageChange(node, THEN - int(seconds_before * SECOND), {"cpu": milli * MILLI})


def moves(cluster: Cluster, policy: Policy, changes: Iterable[UsageChange]) -> int:
    done = prove_cycle(replace(cluster, usage_changes=tuple(changes)), policy, strategies(), THEN)
    assert not done.record.problems, done.record.problems
    return len(done.record.evictions)


def taken(metrics: Object, seconds_before: float) -> Object:
    return metrics | {"timestamp": ago(int(seconds_before))}


def measured(seconds_before: float, cold: str = "100m") -> tuple[Cluster, Policy]:
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


def queried(settings: UsageSettings) -> tuple[Cluster, Policy]:
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
    return replace(cluster, usage={"q": query_result(sorted(samples, key=lambda each: each[1]), at)}), read


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
