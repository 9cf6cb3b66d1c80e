"""What a cycle has evicted already counts in the limits of what it decides next."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from builders import HOSTNAME, NOW, Object, a_node, a_pod, ago
from descheduling.harness import a_cluster, a_policy
from proving.proven import TOLD
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.limits import PriorEviction
from restow.descheduling.registry import plugins, strategies
from restow.kube.timestamps import parse_time
from restow.policies.load import load_policy
from restow.proving.search import prove_cycle

DECIDE = pytest.mark.parametrize("decide", [run_cycle, prove_cycle], ids=["upstream", "prove"])
NODES = [a_node(f"n{at}", cpu="4", pods="110", labels={HOSTNAME: f"n{at}"}) for at in range(3)]


def crowd(node: str, namespace: str = "shop", count: int = 3) -> list[Object]:
    """Replicas of one workload on one node, and a node for each elsewhere."""
    same: dict[str, Any] = {"namespace": namespace, "owner": ("ReplicaSet", f"{namespace}-{node}")}
    same |= {"created": ago(3600), "images": ["web:1"], "cpu": "1"}
    return [a_pod(f"{namespace}-{node}-{at}", node=node, **same) for at in range(count)]


def decided(decide: Any, objects: list[Object], policy: Object, prior_evictions: list[PriorEviction]) -> Cycle:
    loaded = load_policy(msgspec.json.encode(policy), "policy.json", plugins())
    made: Cycle = decide(
        a_cluster(*NODES, *objects, *TOLD),
        loaded.policy,
        strategies(),
        parse_time(NOW),
        prior_evictions=prior_evictions,
    )
    made.state.validate()
    return made


def limited(cycle: Cycle) -> set[str]:
    return {each.reason[1] for each in cycle.record.refusals if each.reason[0] == "limit"}


def prior_evictions(
    count: int, *, node: str = "n0", namespace: str = "shop", plugin: str = "RemoveDuplicates"
) -> list[PriorEviction]:
    return [PriorEviction(namespace, node, "test", plugin)] * count


@DECIDE
@pytest.mark.parametrize(
    ("limit", "before", "left"),
    [
        ("maxNoOfPodsToEvictTotal", prior_evictions(1), 1),
        ("maxNoOfPodsToEvictTotal", prior_evictions(2), 0),
        ("maxNoOfPodsToEvictTotal", prior_evictions(5), 0),
        ("maxNoOfPodsToEvictTotal", prior_evictions(2, node="gone", namespace="gone"), 0),
        ("maxNoOfPodsToEvictPerNode", prior_evictions(1), 1),
        ("maxNoOfPodsToEvictPerNode", prior_evictions(2), 0),
        ("maxNoOfPodsToEvictPerNode", prior_evictions(2, node="n1"), 2),
        ("maxNoOfPodsToEvictPerNode", prior_evictions(2, node="gone"), 2),
        ("maxNoOfPodsToEvictPerNamespace", prior_evictions(2), 0),
        ("maxNoOfPodsToEvictPerNamespace", prior_evictions(2, namespace="other"), 2),
        ("maxNoOfPodsToEvictPerNamespace", prior_evictions(2, namespace="gone"), 2),
    ],
)
def test_limits_of_the_policy(decide: Any, limit: str, before: list[PriorEviction], left: int) -> None:
    """Three pods on n0, of which two are to go; another namespace is there."""
    other = [a_pod("other", namespace="other", node="n1", owner=("ReplicaSet", "other"))]
    cycle = decided(decide, [*crowd("n0"), *other], a_policy("RemoveDuplicates", {}, **{limit: 2}), before)
    assert len(cycle.record.evictions) == left
    if not left:
        assert limited(cycle) == {limit.replace("maxNoOf", "Max")}


@DECIDE
@pytest.mark.parametrize(
    ("before", "left"),
    [
        (prior_evictions(0, plugin="LowNodeUtilization"), 2),
        (prior_evictions(1, plugin="LowNodeUtilization"), 1),
        (prior_evictions(2, plugin="LowNodeUtilization"), 0),
        (prior_evictions(2, plugin="LowNodeUtilization", node="n1"), 2),
    ],
)
def test_limits_of_a_strategy_per_node(decide: Any, before: list[PriorEviction], left: int) -> None:
    args = {
        "thresholds": {"cpu": 20},
        "targetThresholds": {"cpu": 25},
        "evictionLimits": {"node": 2},
    }
    cycle = decided(decide, crowd("n0", count=4), a_policy("LowNodeUtilization", args), before)
    assert len(cycle.record.evictions) == left
