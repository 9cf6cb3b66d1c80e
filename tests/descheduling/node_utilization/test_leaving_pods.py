"""Pods that are already leaving their node: a cycle that plans again must not move others in their place."""

from __future__ import annotations

import pytest

from builders import NOW, Object, std_node
from builders import a_pod as built
from descheduling.harness import cycle
from proving.proven import proven
from restow.descheduling.cycle import Cycle

LIMITS = {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 50}}
NODES = (std_node("n1", 4000, 3000, 100), std_node("n2", 4000, 3000, 100))


def on_n1(name: str, *, is_leaving: bool = False) -> Object:
    leaving = {"deleted": NOW} if is_leaving else {}
    return built(name, node="n1", cpu="1", owner=("ReplicaSet", name), phase="Running", **leaving)


def moved(done: Cycle) -> list[str]:
    assert not done.record.problems, done.record.problems
    return [done.state.cluster.pods.names[each.pod] for each in done.record.evictions]


@pytest.mark.parametrize(("leaving", "expected"), [([], 1), (["c"], 0)], ids=["none leaves", "one leaves"])
def test_a_proven_plan_does_not_count_pods_that_are_leaving(leaving: list[str], expected: int) -> None:
    """Three pods make n1 hot, two do not; the one that leaves holds its place until it is gone."""
    pods = [on_n1(name, is_leaving=name in leaving) for name in "abc"]
    done = proven("LowNodeUtilization", LIMITS, *NODES, *pods, evictor={"minReplicas": 0})
    assert len(moved(done)) == expected


def test_in_upstream_placement_they_count_as_the_descheduler_counts_them() -> None:
    pods = [on_n1(name, is_leaving=name == "c") for name in "abc"]
    assert len(moved(cycle("LowNodeUtilization", LIMITS, nodes=NODES, pods=pods))) == 1
