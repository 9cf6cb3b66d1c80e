"""Proven plans come true: whatever restow says of a live cluster, the real kube-scheduler does.

Pods terminate for a while, as real ones do, so that their replacements are placed beside them. In each scene the plan
is carried out to its end; no replacement may land on a node that is not among its candidates, and the end has to come.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from builders import HOSTNAME, ZONE, Object, node_affinity, node_term, pod_anti_affinity, pod_term, selector, spread
from builders.policies import Policy, a_config, a_policy, a_profile, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.proving import Landing, carry_out, plan_of
from e2e.rest import name_of
from e2e.waiting import wait_until
from e2e.workloads import budget, deployment, is_ready, replica_set, stateful_set, wait_for_ready

pytestmark = pytest.mark.e2e

NODES = 5
#: How long pods terminate.
LASTING = {"test/delete-delay": "300ms"}
#: Of the random scenes; ``RESTOW_E2E_SEEDS=100:150`` makes others.
SEEDS = range(*map(int, os.environ.get("RESTOW_E2E_SEEDS", "0:6").split(":")))
LOAD = {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 50}}
Prove = Callable[..., list[Landing]]


@pytest.fixture(scope="module")
def cluster(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Five nodes of 4 CPUs in three zones, for all scenes, one after the other."""
    with ControlPlane(tmp_path_factory.mktemp("proof")) as plane:
        plane.add_nodes(NODES)
        yield plane


@pytest.fixture
def stage(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """The cluster; what a scene makes of it is undone."""
    before = cluster.admin.items("Node")
    yield cluster
    cluster.clear("default")
    for node in before:
        now = cluster.admin.get("Node", name_of(node))
        now["metadata"]["labels"] = node["metadata"]["labels"]
        now["spec"].pop("taints", None)
        cluster.admin.replace(now)


@pytest.fixture
def prove(stage: ControlPlane, tmp_path: Path) -> Prove:
    """Carries out a policy's plans to the end and returns where the pods landed: each where one of them said."""

    def carried_out(policy: Policy, most: int = 30) -> list[Landing]:
        landings: list[Landing] = []
        for landing in carry_out(stage, policy, tmp_path, most):
            assert landing.is_foretold, f"after {len(landings)} moves: {landing}"
            landings.append(landing)
        return landings

    return carried_out


def test_duplicates(stage: ControlPlane, prove: Prove) -> None:
    crowd(stage, deployment("web", 6, annotations=LASTING), deployment("api", 4, annotations=LASTING))
    landings = prove(strategy_policy("RemoveDuplicates"))
    assert len(landings) >= 4
    assert max(Counter(nodes_of(stage, "web")).values()) == 2
    assert len(set(nodes_of(stage, "api"))) == 4


@pytest.mark.parametrize("apps", [1, 3, 12])
def test_load(stage: ControlPlane, prove: Prove, apps: int) -> None:
    """Many pods of one workload, which spread by default, a few of several, and one each."""
    crowd(stage, *(deployment(f"app-{n}", 12 // apps, cpu="500m", annotations=LASTING) for n in range(apps)))
    assert len(prove(strategy_policy("LowNodeUtilization", LOAD))) >= 2


def test_hard_spread_over_zones(stage: ControlPlane, prove: Prove) -> None:
    rule = spread(1, ZONE, selector(labels={"app": "web"}), node_taints_policy="Honor")
    crowd(stage, deployment("web", 6, spread=[rule], annotations=LASTING), nodes=2)
    assert len(prove(strategy_policy("RemovePodsViolatingTopologySpreadConstraint"))) >= 2
    assert sorted(zones_of(stage, "web")) == [*"aabbcc"]


def test_soft_spread_over_nodes(stage: ControlPlane, prove: Prove) -> None:
    rule = spread(1, HOSTNAME, selector(labels={"app": "web"}), when="ScheduleAnyway")
    crowd(stage, deployment("web", 10, spread=[rule], annotations=LASTING))
    soft = strategy_policy("RemovePodsViolatingTopologySpreadConstraint", {"constraints": ["ScheduleAnyway"]})
    assert len(prove(soft)) >= 4


def test_node_affinity(stage: ControlPlane, prove: Prove) -> None:
    label(stage, "node-1", "node-2", disk="fast")
    fast = node_affinity([node_term(("disk", "In", "fast"))])
    settle(stage, deployment("db", 4, affinity=fast, annotations=LASTING))
    label(stage, "node-1", disk="slow")
    label(stage, "node-3", disk="fast")
    required = {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]}
    landings = prove(strategy_policy("RemovePodsViolatingNodeAffinity", required))
    assert {landing.move["from"] for landing in landings} == {"node-1"}
    assert set(nodes_of(stage, "db")) <= {"node-2", "node-3"}


def test_taints(stage: ControlPlane, prove: Prove) -> None:
    settle(stage, deployment("web", 10, annotations=LASTING))
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    stage.admin.patch("Node", "node-2", {"spec": {"taints": [taint]}})
    assert prove(strategy_policy("RemovePodsViolatingNodeTaints"))
    assert "node-2" not in nodes_of(stage, "web")


def test_anti_affinity(stage: ControlPlane, prove: Prove) -> None:
    """Pods turn noisy when others that cannot bear it are there already."""
    quiet = pod_anti_affinity([pod_term(selector(labels={"noisy": "yes"}))])
    crowd(
        stage,
        deployment("web", 2, annotations=LASTING, affinity=quiet),
        deployment("loud", 2, annotations=LASTING),
        nodes=2,
    )
    for pod in stage.admin.items("Pod", labels="app=loud"):
        stage.admin.patch("Pod", name_of(pod), {"metadata": {"labels": {"noisy": "yes"}}})
    assert prove(strategy_policy("RemovePodsViolatingInterPodAntiAffinity"))


def test_a_budget_is_kept_and_the_plan_is_carried_out_under_it(stage: ControlPlane, prove: Prove) -> None:
    crowd(stage, deployment("web", 6, annotations=LASTING))
    stage.admin.create(budget("web", "web", max_unavailable=1))
    wait_until("the budget is worked out", lambda: allowed(stage, "web") == 1)
    assert prove(strategy_policy("RemoveDuplicates"))


def test_a_stateful_set_lands_when_its_pod_is_gone(stage: ControlPlane, prove: Prove) -> None:
    crowd(stage, stateful_set("db", 4, cpu="1500m", annotations=LASTING))
    assert prove(strategy_policy("LowNodeUtilization", LOAD))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_workloads_under_many_strategies(stage: ControlPlane, prove: Prove, seed: int) -> None:
    random = Random(seed)
    crowd(stage, *(a_random_workload(random, number) for number in range(6)), nodes=random.choice([2, 3]))
    names = ["RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint", "LowNodeUtilization"]
    configs = [a_config("RemoveDuplicates"), a_config(names[1], {"constraints": ["DoNotSchedule", "ScheduleAnyway"]})]
    assert prove(a_policy(a_profile(*configs, a_config(names[2], LOAD), balance=names)), most=60)


def test_what_fits_nowhere_stays(stage: ControlPlane, tmp_path: Path) -> None:
    """The refusal is the real scheduler's own message about a pod that it cannot place."""
    settle(stage, deployment("big", NODES, cpu="3", annotations=LASTING))
    stage.admin.patch("Node", "node-1", {"spec": {"taints": [{"key": "old", "effect": "NoSchedule"}]}})
    (refusal,) = plan_of(stage, strategy_policy("RemovePodsViolatingNodeTaints"), tmp_path)["refusals"]
    stage.admin.evict(refusal["pod"]["name"])
    assert wait_until("the scheduler says why", lambda: unschedulable(stage, "big")) == refusal["message"]


def a_random_workload(random: Random, number: int) -> Object:
    """Requests, replicas, constraints and preferences as the dice say; six of them fit on two nodes."""
    name, same = f"app-{number}", selector(labels={"app": f"app-{number}"})
    features: dict[str, Any] = {"annotations": LASTING, "cpu": random.choice(["50m", "150m", "250m"])}
    match random.randrange(5):
        case 0:
            features["spread"] = [spread(random.choice([1, 2]), ZONE, same, when="ScheduleAnyway")]
        case 1:
            features["spread"] = [spread(1, HOSTNAME, same, when="ScheduleAnyway")]
        case 2:
            features["affinity"] = pod_anti_affinity(preferred=[(random.choice([10, 100]), pod_term(same))])
        case 3:
            features["affinity"] = node_affinity(preferred=[(50, node_term((ZONE, "In", random.choice("abc"))))])
    return random.choice([deployment, deployment, replica_set])(name, random.randrange(1, 6), **features)


def crowd(plane: ControlPlane, *workloads: Object, nodes: int = 2) -> None:
    """All pods of the workloads are on the first nodes, and the others empty."""
    with plane.cordoned([f"node-{number}" for number in range(nodes + 1, NODES + 1)]):
        settle(plane, *workloads)


def settle(plane: ControlPlane, *workloads: Object) -> None:
    """The workloads' pods are ready."""
    plane.admin.create_all(list(workloads))
    for each in workloads:
        wait_for_ready(plane.admin, name_of(each), each["spec"]["replicas"])


def label(plane: ControlPlane, *nodes: str, **labels: str) -> None:
    for node in nodes:
        plane.admin.patch("Node", node, {"metadata": {"labels": labels}})


def nodes_of(plane: ControlPlane, app: str) -> list[str]:
    return [pod["spec"]["nodeName"] for pod in plane.admin.items("Pod", labels=f"app={app}") if is_ready(pod)]


def zones_of(plane: ControlPlane, app: str) -> list[str]:
    zones = {name_of(node): node["metadata"]["labels"][ZONE] for node in plane.admin.items("Node")}
    return [zones[node] for node in nodes_of(plane, app)]


def allowed(plane: ControlPlane, name: str) -> int:
    """Disruptions that a budget allows."""
    found: int = plane.admin.get("PodDisruptionBudget", name).get("status", {}).get("disruptionsAllowed", 0)
    return found


def unschedulable(plane: ControlPlane, app: str) -> str:
    """What the scheduler says of a pod of an app that it could not place."""
    pods = plane.admin.items("Pod", labels=f"app={app}")
    conditions = (each for pod in pods for each in pod["status"].get("conditions", ()))
    said = (each["message"] for each in conditions if each["type"] == "PodScheduled" and each["status"] == "False")
    return next(said, "")
