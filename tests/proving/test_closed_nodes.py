"""Nodes that are about to be removed, and virtual ones, receive nothing in a proven plan."""

from __future__ import annotations

from typing import Any

import pytest

from builders import a_node, a_pod, node_metrics, pod_metrics
from descheduling.harness import Object, a_policy
from proving.proven import TOLD, landings, moved, prove, proven, reasons, upstream_evictions
from restow.cluster.closed_nodes import LEAVING

LOW = "LowNodeUtilization", {"thresholds": {"cpu": 40}, "targetThresholds": {"cpu": 50}}
HIGH = "HighNodeUtilization", {"thresholds": {"cpu": 30}}
OLD = "PodLifeTime", {"maxPodLifeTimeSeconds": 60}
CANDIDATE = "DeletionCandidateOfClusterAutoscaler=1:PreferNoSchedule"
TOLERANT = [{"key": key, "operator": "Exists"} for key in LEAVING]
FARGATE = {"eks.amazonaws.com/compute-type": "fargate"}
KUBELET = {"type": "virtual-kubelet"}
CLOSED = {
    "leaving": ({"taints": [CANDIDATE]}, "LeavingNode", "leavingNodes"),
    "fargate": ({"labels": FARGATE}, "VirtualNode", "virtualNodes"),
    "virtual-kubelet": ({"labels": KUBELET}, "VirtualNode", "virtualNodes"),
}
#: Every way in which replacements are brought to their targets.
STEERING = ("none", "nominate", "fence", "prefer")


def pods_on(node: str, count: int, cpu: str = "500m", **given: Any) -> list[Object]:
    return [
        a_pod(f"{node}-{i}", node=node, cpu=cpu, owner=("ReplicaSet", node), started="2025-12-31T00:00:00Z", **given)
        for i in range(count)
    ]


def plan(strategy: tuple[str, Object], *objects: Object, steering: str = "none", **restow: Any) -> Any:
    return prove([*objects, *TOLD], a_policy(*strategy, restow={"certainty": "possible", **restow}), steering=steering)


@pytest.mark.parametrize("steering", STEERING)
@pytest.mark.parametrize("case", CLOSED)
def test_low_node_utilization_puts_nothing_on_a_closed_node(case: str, steering: str) -> None:
    """Without the veto it gets pods, as the emptiest node."""
    closed, _, switch = CLOSED[case]
    objects = [a_node("n1"), a_node("n3", **closed), *pods_on("n1", 8, tolerations=TOLERANT)]
    assert not moved(plan(LOW, *objects, steering=steering))
    assert "n3" not in landings(plan(LOW, *objects, a_node("n2", cpu="3"), steering=steering)).values()
    without = plan(LOW, *objects, steering=steering, vetoes={switch: False})
    assert "n3" in landings(without).values()


def test_steered_moves_leave_out_a_candidate_for_removal() -> None:
    """The scheduler still puts pods there, and the node is the emptiest."""
    nodes = [a_node("n1"), a_node("n2"), a_node("n3", cpu="16", taints=[CANDIDATE])]
    objects = [*nodes, *pods_on("n1", 8)]
    without = landings(plan(LOW, *objects, steering="nominate", vetoes={"leavingNodes": False}))
    assert list(without.values()).count("n3") > 2
    assert set(landings(plan(LOW, *objects, steering="nominate")).values()) == {"n2"}


@pytest.mark.parametrize("steering", STEERING)
@pytest.mark.parametrize("case", CLOSED)
def test_refusal_says_what_is_wrong_with_the_only_node(case: str, steering: str) -> None:
    closed, code, _ = CLOSED[case]
    objects = [a_node("n1", unschedulable=True), a_node("n3", **closed), *pods_on("n1", 1)]
    done = plan(OLD, *objects, steering=steering)
    assert (moved(done), reasons(done)["n1-0"][:2]) == ([], ("placement", code))
    assert "n3" in reasons(done)["n1-0"][2]


@pytest.mark.parametrize("key", LEAVING)
def test_every_taint_of_a_leaving_node_counts_whatever_its_effect(key: str) -> None:
    tolerating = pods_on("n1", 8, tolerations=TOLERANT)
    for effect in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
        objects = [a_node("n1"), a_node("n2"), a_node("n3", taints=[f"{key}=x:{effect}"]), *tolerating]
        assert set(landings(plan(LOW, *objects, steering="nominate")).values()) == {"n2"}


def test_pods_still_leave_a_leaving_node() -> None:
    objects = [a_node("n1", taints=[CANDIDATE]), a_node("n2"), *pods_on("n1", 8)]
    assert landings(plan(LOW, *objects))


@pytest.mark.parametrize("case", CLOSED)
def test_high_node_utilization_fills_no_closed_node(case: str) -> None:
    closed, _, switch = CLOSED[case]
    objects = [
        a_node("n1", unschedulable=True),
        a_node("n2", **closed),
        *pods_on("n1", 1, tolerations=TOLERANT),
        *pods_on("n2", 5),
    ]
    for steering in ("none", "nominate"):
        assert not moved(plan(HIGH, *objects, steering=steering))
        assert moved(plan(HIGH, *objects, steering=steering, vetoes={switch: False}))


@pytest.mark.parametrize("labels", [FARGATE, KUBELET], ids=["fargate", "virtual-kubelet"])
def test_virtual_nodes_do_not_count_in_means(labels: Object) -> None:
    """Ten empty virtual nodes would pull the mean down, and with it what counts as overused."""
    args = {"thresholds": {"cpu": 10}, "targetThresholds": {"cpu": 10}, "useDeviationThresholds": True}
    virtual = [a_node(f"v{i}", cpu="64", labels=labels) for i in range(10)]
    objects = [a_node("n1"), a_node("n2"), *pods_on("n1", 4), *pods_on("n2", 4), *virtual]
    assert not moved(plan(("LowNodeUtilization", args), *objects))
    assert moved(plan(("LowNodeUtilization", args), *objects, vetoes={"virtualNodes": False}))
    assert upstream_evictions("LowNodeUtilization", args, *objects)


def test_virtual_nodes_need_no_metrics() -> None:
    """Nothing measures a virtual node; that must not keep the strategy from working on the others."""
    args = {**LOW[1], "metricsUtilization": {"source": "KubernetesMetrics"}}
    pods = pods_on("n1", 8)
    metrics = [node_metrics("n1", cpu="3"), node_metrics("n2", cpu="100m")]
    metrics += [pod_metrics(each["metadata"]["name"], cpu="400m") for each in pods]
    objects = [
        a_node("n1"),
        a_node("n2"),
        a_node("v", labels=KUBELET, taints=["virtual-kubelet.io/provider=x:NoSchedule"]),
        *pods,
        *metrics,
    ]
    policy = {"metricsProviders": [{"source": "KubernetesMetrics"}]}
    done = proven("LowNodeUtilization", args, *objects, **policy)
    assert not done.record.problems
    assert set(landings(done).values()) == {"n2"}


def test_upstream_placement_closes_no_node() -> None:
    objects = [a_node("n1"), a_node("n3", taints=[CANDIDATE]), *pods_on("n1", 8, tolerations=TOLERANT)]
    assert upstream_evictions(*LOW, *objects) > 0
    objects = [a_node("n1"), a_node("v", labels=KUBELET), *pods_on("n1", 8)]
    assert upstream_evictions(*LOW, *objects) > 0
