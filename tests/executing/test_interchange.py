"""Which replacements may change places."""

from __future__ import annotations

from typing import Any

import pytest

from builders import a_node, a_pod, pod_anti_affinity, pod_term
from descheduling.harness import Object, a_cluster, a_policy
from descheduling.proven import TOLD, read_policy
from restow.descheduling.proving import prove_cycle
from restow.descheduling.registry import strategies
from restow.executing.task import Task
from restow.executing.tasks import tasks_of
from restow.kube.timestamps import parse_time

NOW = "2026-11-21T00:00:00Z"
THRESHOLDS = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}


def of_a_full_node(*features: dict[str, Any], policy: Object | None = None, steering: Any = "none") -> list[Task]:
    """The moves off a full node, one pod for each of some features."""
    pods = [
        a_pod(f"p-{at}", node="full", owner=("ReplicaSet", f"app-{at}"), **({"cpu": "900m"} | each))
        for at, each in enumerate(features)
    ]
    nodes = [a_node(name, cpu="4") for name in ("full", "b", "c")]
    cluster = a_cluster(*nodes, *pods, *TOLD)
    read = read_policy(policy or a_policy("LowNodeUtilization", THRESHOLDS))
    cycle = prove_cycle(cluster, read, strategies(), parse_time(NOW), steering=steering)
    return list(tasks_of(cycle, read))


def test_pods_with_the_same_requests_may_whosever_they_are() -> None:
    found = of_a_full_node({}, {}, {}, {})
    assert len(found) > 1
    assert len({each.interchangeable for each in found}) == 1
    assert found[0].interchangeable is not None


@pytest.mark.parametrize(
    "other",
    [{"cpu": "901m"}, {"tolerations": [{"operator": "Exists"}]}, {"priority": 7}],
    ids=["requests", "tolerations", "priority"],
)
def test_pods_that_differ_in_anything_the_scheduler_asks_for_may_not(other: dict[str, Any]) -> None:
    found = of_a_full_node({}, {}, other, other)
    kinds = {each.move.pod.name in ("p-2", "p-3"): each.interchangeable for each in found}
    assert len(found) > 1
    assert len(set(kinds.values())) == len(kinds)


def with_duplicates() -> Object:
    """A policy of a strategy that looks at owners, beside the other."""
    both = a_policy("LowNodeUtilization", THRESHOLDS)
    both["profiles"][0]["pluginConfig"].append({"name": "RemoveDuplicates", "args": {}})
    both["profiles"][0]["plugins"]["balance"]["enabled"].append("RemoveDuplicates")
    return both


@pytest.mark.parametrize(
    ("features", "options"),
    [
        ({"affinity": pod_anti_affinity([pod_term({"matchLabels": {"app": "x"}})])}, {}),
        ({}, {"steering": "nominate"}),
        ({}, {"policy": with_duplicates()}),
    ],
    ids=["a rule about other pods", "nominated", "a strategy that looks at owners"],
)
def test_none_may_where_places_are_their_own(features: dict[str, Any], options: dict[str, Any]) -> None:
    found = of_a_full_node(features, features, features, features, **options)
    assert len(found) > 1
    assert {each.interchangeable for each in found} == {None}
