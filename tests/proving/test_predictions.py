"""What is remembered of pods until something moves."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from builders import NOW, a_node, a_pod, a_replica_set, running
from descheduling.harness import Object, a_cluster, a_policy
from oracle.moving_cases import a_large_moving_case, a_moving_case
from proving.changed_pods import a_changed_cluster
from proving.proven import TOLD, read_policy
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.cycle import Cycle
from restow.descheduling.registry import strategies
from restow.kube.timestamps import parse_time
from restow.policies.policy import Policy
from restow.proving.planning import make_plan
from restow.proving.predictions import PlacementPrediction, RefusalMemory
from restow.proving.search import prove_cycle
from restow.scheduling.loop.decision import Scheduler
from restow.scheduling.sampling.landing_odds import LandingOdds

#: Strategies that hear many refusals.
REFUSED = ("LowNodeUtilization", "HighNodeUtilization", "RemoveDuplicates", "RemovePodsViolatingNodeTaints")


def test_a_prediction_is_the_same_when_it_is_recalled() -> None:
    nodes = [a_node(f"n{number:02}") for number in range(19)]
    cluster = a_cluster(*nodes, a_pod("p", node="n00"), a_pod("q", node="n00"))
    memory = RefusalMemory(cluster.pods, lambda _: "the same")
    kept = PlacementPrediction(
        LandingOdds.equal(np.array([0, 7, 8, 18])), np.array([18]), afterwards=True, elsewhere="; nowhere else"
    )
    memory.learn(0, 0, kept)
    assert memory.recall(1, 0) is None, "the replacement that was tried for it is still there"
    memory.keep()
    for pod in (0, 1):
        found = memory.recall(pod, 0)
        assert found is kept
    assert memory.recall(0, 1) is None
    memory.forget()
    assert memory.recall(0, 0) is None


def test_pods_that_a_scheduler_tells_apart_are_not_alike() -> None:
    cluster = a_cluster(a_node("n"), a_pod("p", node="n"), a_pod("q", node="n"))
    memory = RefusalMemory(cluster.pods, {0: "one", 1: "another"}.__getitem__)
    memory.learn(0, 0, ("placement", "NoFit", "nothing fits"))
    memory.keep()
    assert memory.recall(0, 0) is not None
    assert memory.recall(1, 0) is None


def test_where_hardly_any_pods_are_alike_they_are_looked_for_on_some_nodes_until_more_are() -> None:
    nodes, count = 16, 3000
    pods = [a_pod(f"p{number:04}", node=f"n{number % nodes:02}") for number in range(count)]
    cluster = a_cluster(*(a_node(f"n{number:02}") for number in range(nodes)), *pods)
    asked, alike = [], False

    def signature(pod: int) -> object:
        asked.append(pod)
        return "the same" if alike else pod

    memory = RefusalMemory(cluster.pods, signature)

    def found_of(pods: range) -> int:
        found = 0
        for pod in pods:
            found += memory.recall(pod, pod % nodes) is not None
            memory.learn(pod, pod % nodes, ("placement", "NoFit", "nothing fits"))
            memory.keep()
        return found

    assert found_of(range(1000)) == 0
    assert len(asked) < 500, "of two nodes in sixteen the pods are still looked for, and each of them once"
    alike = True
    found_of(range(1000, 2500))
    assert found_of(range(2500, 3000)) > 450


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"cpu": "1"}, id="requests"),
        pytest.param({"phase": "Failed"}, id="nothing-has-to-land-for-a-pod-that-has-ended"),
        pytest.param(
            {"statuses": [running() | {"name": "", "resources": {"requests": {"cpu": "1"}}}]},
            id="a-pod-being-resized-leaves-more-room",
        ),
    ],
)
def test_nothing_is_known_of_a_pod_that_differs_in_what_decides_its_landing(other: dict[str, Any]) -> None:
    cluster = a_cluster(a_node("n"), a_pod("p", node="n"), a_pod("q", node="n", **other))
    memory = RefusalMemory(cluster.pods, lambda _: "the same")
    memory.learn(0, 0, ("placement", "NoFit", "nothing fits"))
    memory.keep()
    assert memory.recall(1, 0) is None


def asked_about(monkeypatch: pytest.MonkeyPatch, cluster: ClusterSnapshot, policy: Policy) -> tuple[Cycle, int]:
    """A plan, and how many pods the scheduler was asked about."""
    asked: list[int] = []
    decide = Scheduler.decide

    def counting(scheduler: Scheduler, pod: int, *timing: Any) -> Any:
        asked.append(pod)
        return decide(scheduler, pod, *timing)

    with monkeypatch.context() as patch:
        patch.setattr(Scheduler, "decide", counting)
        cycle = prove_cycle(cluster, policy, strategies(), parse_time(NOW))
    return cycle, len(asked)


def crowded(images: Object | None = None) -> list[Object]:
    """A full node with pods of ten ReplicaSets, whose containers have names of their own, and nowhere to go."""
    pods, owners = [], []
    for at in range(10):
        labels = {"app": f"app-{at}"}
        owners.append(a_replica_set(f"app-{at}", selector={"matchLabels": labels}))
        container = {"name": f"c-{at}", "image": f"i-{at}", "resources": {"requests": {"cpu": "350m"}}}
        owner = ("ReplicaSet", f"app-{at}")
        pods.append(a_pod(f"p-{at}", node="full", owner=owner, labels=labels, containers=[container]))
    nodes = [a_node("full", cpu="4", **(images or {})), a_node("small", cpu="300m"), a_node("tiny", cpu="200m")]
    return [*nodes, *pods, *owners, *TOLD]


def a_full_policy() -> Policy:
    args = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}
    return read_policy(a_policy("LowNodeUtilization", args))


def test_the_scheduler_is_asked_once_about_pods_of_ten_workloads_that_it_does_not_tell_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cycle, asked = asked_about(monkeypatch, a_cluster(*crowded()), a_full_policy())
    assert len(cycle.record.refusals) == 10
    assert len({each.reason for each in cycle.record.refusals}) == 1
    assert asked == 1


def test_pods_of_which_a_node_has_the_image_are_asked_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a node has of it is the pod's own; about the nine others the scheduler is asked once."""
    images = {"images": {"i-3:latest": 900 << 20}}
    _, asked = asked_about(monkeypatch, a_cluster(*crowded(images)), a_full_policy())
    assert asked == 2


def test_pods_whose_next_pods_differ_are_asked_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A template that asks for a label which no node has; the running pod is like the nine others."""
    container = {"name": "c-3", "image": "i-3", "resources": {"requests": {"cpu": "350m"}}}
    template = {"metadata": {"labels": {"app": "app-3"}}, "spec": {"containers": [container]}}
    template["spec"]["nodeSelector"] = {"disk": "ssd"}
    objects = crowded()
    revised = next(each for each in objects if each["kind"] == "ReplicaSet" and each["metadata"]["name"] == "app-3")
    revised["spec"]["template"] = template
    cycle, asked = asked_about(monkeypatch, a_cluster(*objects), a_full_policy())
    assert len({each.reason for each in cycle.record.refusals}) == 2
    assert asked > 1


@pytest.mark.parametrize("strategy", REFUSED)
def test_a_plan_is_the_same_where_nothing_is_remembered(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte, with all refusals and their reasons, on random clusters."""
    cases = [*(a_moving_case(strategy, seed) for seed in range(8)), a_large_moving_case(strategy, 1)]
    for case in cases:
        cluster, policy = a_cluster(*case.cluster), read_policy(case.policy)
        with_memory = the_plan(cluster, policy)
        with monkeypatch.context() as patch:
            patch.setattr(RefusalMemory, "keep", RefusalMemory.forget)
            assert the_plan(cluster, policy) == with_memory


@pytest.mark.parametrize("seeds", [range(first, first + 20) for first in range(0, 80, 20)], ids=str)
def test_so_it_is_where_pods_are_not_what_their_templates_say(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods that differ only in how they were created are alike, but the next ones may not be."""
    policy = read_policy(a_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 600}, restow={"certainty": "certain"}))
    for seed in seeds:
        cluster = a_cluster(*a_changed_cluster(seed))
        with_memory = the_plan(cluster, policy)
        with monkeypatch.context() as patch:
            patch.setattr(RefusalMemory, "keep", RefusalMemory.forget)
            assert the_plan(cluster, policy) == with_memory


def the_plan(cluster: ClusterSnapshot, policy: Policy) -> bytes:
    now = parse_time(NOW)
    return msgspec.json.encode(make_plan(prove_cycle(cluster, policy, strategies(), now), now, "prove"))
