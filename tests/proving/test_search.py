"""Plans that prove their moves: rounds, passes, limits over all of them, and circles that are not entered."""

from __future__ import annotations

from typing import Any

import pytest

from builders import HOSTNAME, NOW, Object, a_node, a_pdb, a_pod, ago, node_metrics, pod_metrics, selector, spread
from descheduling.harness import a_policy
from proving.predicted import predicted
from proving.proven import TOLD, codes, landings, moved, plans, prove, proven

OWNER = ("ReplicaSet", "web")
DUPLICATES, LEVEL, LIFE = "RemoveDuplicates", "LowNodeUtilization", "PodLifeTime"
NODES = [a_node(f"n{index}", cpu="4", labels={HOSTNAME: f"n{index}"}) for index in range(3)]


def crowd(count: int, **fields: Any) -> list[Object]:
    """Replicas of one workload, all on n0."""
    same = {"owner": OWNER, "created": ago(3600), "images": ["web:1"]} | fields
    return [a_pod(f"p{index}", node="n0", **same) for index in range(count)]


@pytest.mark.parametrize(
    ("limit", "each"),
    [
        ("maxNoOfPodsToEvictTotal", [1, 1, 1, 1, 0]),
        ("maxNoOfPodsToEvictPerNode", [1, 1, 1, 1, 0]),
        ("maxNoOfPodsToEvictPerNamespace", [1, 1, 1, 1, 0]),
    ],
)
def test_limits_spread_the_work_over_several_plans(limit: str, each: list[int]) -> None:
    """Six replicas on one of three nodes, two a node when done; no plan moves a pod that one before it moved."""
    policy = a_policy(DUPLICATES, {}, **{limit: 1})
    made = list(plans([*NODES, *crowd(6), *TOLD], policy, most=9))
    assert [len(moved(cycle)) for cycle in made] == each
    names = [name for cycle in made for name in moved(cycle)]
    assert len(names) == len(set(names))


def test_budgets_spread_the_work_over_several_plans() -> None:
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}}, disruptions_allowed=2)
    made = list(plans([*NODES, budget, *crowd(6, labels={"app": "web"}), *TOLD], a_policy(DUPLICATES, {})))
    assert [len(moved(cycle)) for cycle in made] == [2, 2, 0]


def test_a_profile_protects_pods_without_budget_after_another_has_moved_some() -> None:
    """The second evictor first looks at the pods when one has come, and rows for more of them are there already."""
    pods = [
        a_pod(name, node="n0", owner=OWNER, labels={"app": name}, created=ago(3600))
        for name in ("old", "covered", "bare")
    ]
    of_old = {"maxPodLifeTimeSeconds": 60, "labelSelector": {"matchLabels": {"app": "old"}}}
    policy = a_policy(LIFE, of_old)
    [second] = a_policy(LIFE, {"maxPodLifeTimeSeconds": 60}, evictor={"ignorePodsWithoutPDB": True})["profiles"]
    policy["profiles"].append(second | {"name": "second"})
    budget = a_pdb("covered", selector=selector(labels={"app": "covered"}), disruptions_allowed=1)
    made = prove([*NODES, budget, *pods, *TOLD], policy)
    assert moved(made) == ["old", "covered"]
    assert codes(made) == {"bare": "PodsWithoutPDB"}


@pytest.mark.parametrize("strategy", [DUPLICATES, "RemovePodsViolatingTopologySpreadConstraint", LIFE, LEVEL])
def test_a_cluster_that_has_lost_all_its_nodes_is_left_alone(strategy: str) -> None:
    """A live one may; its pods are on nodes that nobody knows."""
    arguments = {
        LIFE: {"maxPodLifeTimeSeconds": 1},
        LEVEL: {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}},
    }
    spreading = crowd(3, labels={"app": "web"}, spread=[spread(1, HOSTNAME, selector(labels={"app": "web"}))])

    cycle = proven(strategy, arguments.get(strategy, {}), *spreading)

    assert cycle.skipped
    assert moved(cycle) == []


def test_without_limits_one_plan_does_everything() -> None:
    made = list(plans([*NODES, *crowd(6), *TOLD], a_policy(DUPLICATES, {})))
    assert [len(moved(cycle)) for cycle in made] == [4, 0]


def test_the_last_reason_tells_why_a_pod_stays() -> None:
    """A limit that is reached in a later round goes before what was wrong in the first."""
    made = list(plans([*NODES, *crowd(6), *TOLD], a_policy(DUPLICATES, {}, maxNoOfPodsToEvictTotal=2)))
    assert set(codes(made[0]).values()) == {"MaxPodsToEvictTotal"}


def test_what_would_be_moved_again_is_not_moved() -> None:
    """PodLifeTime wants every running pod, however young: the replacement too."""
    cycle = proven(LIFE, {"states": ["Running"]}, *NODES, *crowd(2, phase="Running"))
    assert moved(cycle) == []
    assert codes(cycle) == {"p0": "Circle", "p1": "Circle"}


def test_old_pods_are_moved_once() -> None:
    made = list(plans([*NODES, *crowd(2), *TOLD], a_policy(LIFE, {"maxPodLifeTimeSeconds": 60}), NOW))
    assert [len(moved(cycle)) for cycle in made] == [2, 0]


def test_strategies_that_would_undo_one_another_leave_the_pod() -> None:
    """The pod must leave n0 for its taint, and n1 is to be emptied: it would come to rest nowhere."""
    nodes = [a_node("n0", cpu="4", taints=["old:NoSchedule"]), a_node("n1", cpu="4"), a_node("n2", cpu="1")]
    pods = [a_pod("p", node="n0", owner=OWNER, cpu="900m"), a_pod("q", node="n2", cpu="900m")]
    profile = {
        "name": "P",
        "pluginConfig": [
            {"name": "RemovePodsViolatingNodeTaints", "args": {}},
            {"name": "HighNodeUtilization", "args": {"thresholds": {"cpu": 50}}},
        ],
        "plugins": {
            "deschedule": {"enabled": ["RemovePodsViolatingNodeTaints"]},
            "balance": {"enabled": ["HighNodeUtilization"]},
        },
    }
    policy = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [profile]}
    first, *others = plans([*nodes, *pods, *TOLD], policy)
    assert len(moved(first)) <= 1
    assert not any(moved(other) for other in others)


def test_measured_usage_follows_the_moves() -> None:
    """What a moved pod uses counts on its new node in the rounds after, so no round takes more than is needed."""
    pods = crowd(4, cpu="100m")
    measured = [
        node_metrics("n0", cpu="3200m"),
        node_metrics("n1", cpu="0"),
        node_metrics("n2", cpu="0"),
        *(pod_metrics(each["metadata"]["name"], cpu="800m") for each in pods),
    ]
    args = {
        "thresholds": {"cpu": 30},
        "targetThresholds": {"cpu": 60},
        "metricsUtilization": {"source": "KubernetesMetrics"},
    }
    policy = a_policy(LEVEL, args, metricsProviders=[{"source": "KubernetesMetrics"}])
    objects = [*NODES, *pods, *measured, *TOLD]
    cycle = prove(objects, policy)
    assert len(moved(cycle)) == 1
    usage = {
        each["metadata"]["name"]: each["usage"]["cpu"]
        for each in predicted(objects, cycle, NOW)
        if each["kind"] == "NodeMetrics"
    }
    assert sorted(usage.values()) == ["0", "2400000000n", "800000000n"]


def test_node_fit_is_left_to_the_scheduler() -> None:
    """With nodeFit the Descheduler judges each pod alone; here the scheduler gives the reason."""
    cycle = proven(
        "RemovePodsViolatingNodeTaints",
        {},
        a_node("n0", taints=["old:NoSchedule"]),
        a_node("n1", cpu="100m"),
        a_pod("p", node="n0", owner=OWNER, cpu="1"),
        evictor={"nodeFit": True},
    )
    assert codes(cycle) == {"p": "NoFit"}
    assert landings(cycle) == {}
