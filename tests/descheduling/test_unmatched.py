"""What a policy names and the input does not have is noted."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Object, a_namespace, a_node, a_pod
from builders.policies import strategy_policy
from descheduling.harness import a_cluster
from proving.proven import read_policy
from restow.cluster.pod_classes import LabelGroups
from restow.descheduling.policy_remarks import unmatched

NODES = [a_node("n1", cpu="4", memory="8Gi", pods="110", labels={"zone": "a"})]
INPUT: list[Object] = [*NODES, a_pod("web", namespace="shop", node="n1", labels={"app": "web"})]
INPUT += [a_pod("api", namespace="payments", node="n1")]
LOW = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}


def notes(policy: Object, *more: Object) -> list[str]:
    cluster = a_cluster(*INPUT, *more)
    found = unmatched(cluster, read_policy(policy), LabelGroups(cluster.pods))
    return [f"{each.plugin}: {each.message}" for each in found]


@pytest.mark.parametrize(
    ("plugin", "args", "said"),
    [
        (
            "PodLifeTime",
            {"maxPodLifeTimeSeconds": 1, "namespaces": {"include": ["shpo"]}},
            'namespaces.include: the input has no namespace "shpo"; did you mean "shop"?',
        ),
        (
            "PodLifeTime",
            {"maxPodLifeTimeSeconds": 1, "namespaces": {"exclude": ["payment"]}},
            'namespaces.exclude: the input has no namespace "payment"; did you mean "payments"?',
        ),
        (
            "PodLifeTime",
            {"maxPodLifeTimeSeconds": 1, "labelSelector": {"matchLabels": {"app": "wbe"}}},
            "labelSelector matches no pod in the input",
        ),
        (
            "LowNodeUtilization",
            {"thresholds": {"gpu": 20}, "targetThresholds": {"gpu": 50}},
            'thresholds: no node in the input has the resource "gpu"',
        ),
        (
            "HighNodeUtilization",
            {"thresholds": {"cpu": 20}, "evictableNamespaces": {"exclude": ["paymnets"]}},
            'evictableNamespaces.exclude: the input has no namespace "paymnets"; did you mean "payments"?',
        ),
    ],
    ids=["include", "exclude", "labels", "resource", "evictable"],
)
def test_what_matches_nothing_is_noted_with_its_argument(plugin: str, args: Any, said: str) -> None:
    assert notes(strategy_policy(plugin, args))[0].startswith(f"{plugin}: {said}")


@pytest.mark.parametrize(
    ("evictor", "more", "said"),
    [
        ({"labelSelector": {"matchLabels": {"app": "x"}}}, (), ["labelSelector matches no pod in the input"]),
        (
            {"namespaceLabelSelector": {"matchLabels": {"team": "x"}}},
            (a_namespace("shop"),),
            ["namespaceLabelSelector matches no namespace in the input"],
        ),
        ({"namespaceLabelSelector": {"matchLabels": {"team": "x"}}}, (), []),
        ({"nodeFit": True, "nodeSelector": "zone=b"}, (), ["nodeSelector matches no node in the input"]),
        ({"nodeFit": True, "nodeSelector": "zone=a"}, (), []),
    ],
    ids=["labels", "namespaces", "unknown namespaces", "nodes", "nodes that are there"],
)
def test_what_protects_nothing_is_noted_too(evictor: Any, more: tuple[Object, ...], said: list[str]) -> None:
    policy = strategy_policy("LowNodeUtilization", LOW)
    policy["profiles"][0]["pluginConfig"].append({"name": "DefaultEvictor", "args": evictor})
    assert notes(policy, *more) == [f"DefaultEvictor: {each}" for each in said]


def test_of_what_is_there_nothing_is_said() -> None:
    args = {"maxPodLifeTimeSeconds": 1, "labelSelector": {"matchLabels": {"app": "web"}}}
    for namespaces in ({"include": ["shop"]}, {"exclude": ["empty", "kube-system", "payments"]}):
        assert notes(strategy_policy("PodLifeTime", args | {"namespaces": namespaces}), a_namespace("empty")) == []


def test_the_resource_of_a_query_is_listed_by_no_node() -> None:
    usage = {"metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "q"}}}
    args = {"thresholds": {"MetricResource": 20}, "targetThresholds": {"MetricResource": 50}} | usage
    prometheus = {"source": "Prometheus", "prometheus": {"url": "http://prometheus:9090"}}
    assert notes(strategy_policy("LowNodeUtilization", args, metricsProviders=[prometheus])) == []
