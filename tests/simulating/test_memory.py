"""Simulated memory that runs out: containers are killed at their limit, and nodes evict pods to save themselves."""

from __future__ import annotations

from itertools import pairwise

import pytest

from restow.kube.manifests import manifest_of
from restow.kube.timestamps import SECOND
from restow.simulating.scenarios.references import Reference
from restow.simulating.scenarios.usage import ScenarioUsage
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenes import Scene


@pytest.fixture
def scene():
    """One node with 8 GiB of memory."""
    return Scene(nodes=1)


@pytest.fixture
def usage(scene):
    """What pods and nodes use."""
    return ScenarioUsage(scene.simulation)


def containers(request="1Gi", limit=None):
    """One container that requests memory, and may have a limit."""
    limits = {"limits": {"memory": limit}} if limit else {}
    return [{"name": "c", "resources": {"requests": {"memory": request}} | limits}]


def uses(name, kind="Pod"):
    return Reference(kind, "" if kind == "Node" else "default", name)


def pressure(scene):
    """What the node says of its memory, and its taints."""
    (node,) = scene.store.list("Node")
    said = [each.status for each in node.status.conditions or () if each.type == "MemoryPressure"]
    return said, [taint.key for taint in node.spec.taints or ()]


def test_a_container_is_killed_that_uses_more_than_its_limit_and_starts_again_later_each_time(scene, usage):
    scene.store.apply(a_bare_pod("p", containers=containers(limit="2Gi")))
    scene.run(5)
    usage.set(uses("p"), {"memory": "3Gi"})
    scene.run(1.5)
    (status,) = scene.get("Pod", "p").status.container_statuses
    assert (status.restart_count, status.state.terminated.reason, status.state.terminated.exit_code) == (
        0,
        "OOMKilled",
        137,
    )
    starts = []
    for _ in range(600):
        scene.run(1)
        (status,) = scene.get("Pod", "p").status.container_statuses
        if status.restart_count > len(starts):
            starts.append(scene.clock.now // SECOND)
    waits = [after - before for before, after in pairwise(starts)]
    # A second to fill the memory, and what the kubelet waits.
    assert waits == pytest.approx([11, 21, 41, 81, 161], abs=1)
    assert scene.get("Pod", "p").status.container_statuses[0].state.waiting.reason == "CrashLoopBackOff"


def test_a_pod_that_is_never_restarted_has_failed(scene, usage):
    scene.store.apply(
        a_bare_pod(
            "p",
            containers=containers(limit="2Gi"),
            restartPolicy="Never",
            metadata={"annotations": {"simulate.restow.dev/run-for": "1h"}},
        )
    )
    scene.run(5)
    usage.set(uses("p"), {"memory": "3Gi"})
    scene.run(5)
    pod = scene.get("Pod", "p")
    assert (pod.status.phase, pod.status.container_statuses[0].state.terminated.reason) == ("Failed", "OOMKilled")


def test_without_a_limit_a_container_may_use_what_there_is(scene, usage):
    scene.store.apply(a_bare_pod("p", containers=containers()))
    scene.run(5)
    usage.set(uses("p"), {"memory": "7Gi"})
    scene.settle()
    assert scene.get("Pod", "p").status.container_statuses[0].restart_count == 0
    assert pressure(scene) == ([], [])


def test_a_node_evicts_who_uses_more_than_requested_then_by_priority(scene, usage):
    """One pod every ten seconds, and no more than are needed."""
    scene.store.apply(a_bare_pod("modest", containers=containers("3Gi")))
    scene.store.apply(a_bare_pod("greedy", containers=containers("1Gi"), priority=1000))
    scene.store.apply(a_bare_pod("greedier", containers=containers("1Gi"), priority=1000))
    scene.store.apply(a_bare_pod("humble", containers=containers("1Gi"), priority=10))
    scene.run(5)
    for name, memory in (("modest", "3Gi"), ("greedy", "2Gi"), ("greedier", "3Gi"), ("humble", "1100Mi")):
        usage.set(uses(name), {"memory": memory})
    scene.run(5)
    assert {pod.metadata.name: pod.status.phase for pod in scene.pods()} == {
        "greedier": "Running",
        "greedy": "Running",
        "humble": "Failed",
        "modest": "Running",
    }
    gone = scene.get("Pod", "humble")
    assert gone.status.reason == "Evicted"
    assert [each.reason for each in gone.status.conditions if each.type == "DisruptionTarget"] == [
        "TerminationByKubelet"
    ]
    scene.run(10)
    assert [pod.metadata.name for pod in scene.pods() if pod.status.phase == "Failed"] == ["greedier", "humble"]
    assert pressure(scene) == (["True"], ["node.kubernetes.io/memory-pressure"])
    scene.run(290)
    assert pressure(scene)[0] == ["True"]
    scene.run(30)
    assert pressure(scene) == (["False"], [])
    scene.settle()
    assert [pod.metadata.name for pod in scene.pods() if pod.status.phase == "Failed"] == ["greedier", "humble"]


def test_pods_that_keep_the_system_alive_stay(scene, usage):
    scene.store.apply(a_bare_pod("critical", containers=containers(), priority=2_000_000_000))
    scene.run(5)
    usage.set(uses("n1", "Node"), {"memory": "8Gi"})
    scene.settle()
    assert scene.get("Pod", "critical").status.phase == "Running"
    assert pressure(scene) == (["True"], ["node.kubernetes.io/memory-pressure"])


def test_usage_that_nobody_tells_anew_drives_one_pod_away_at_most(scene):
    """As that of a dump: it would stay as it is whatever is evicted."""
    scene.store.apply(a_controller("ReplicaSet", "web", 3))
    scene.run(5)
    full = {"kind": "NodeMetrics", "metadata": {"name": "n1"}, "usage": {"memory": "8Gi"}}
    scene.store.apply(manifest_of(full | {"apiVersion": "metrics.k8s.io/v1beta1"}))
    scene.settle()
    assert len([pod for pod in scene.pods() if pod.status.phase == "Failed"]) == 1


def test_usage_that_cannot_be_read_is_none(scene):
    scene.store.apply(a_bare_pod("p", containers=containers(limit="2Gi")))
    scene.run(5)
    for kind, name, usage in (("PodMetrics", "p", {}), ("NodeMetrics", "n1", {"usage": {"memory": "most of it"}})):
        content = {"containers": [{"name": "c", "usage": {"memory": "too much"}}]} | usage
        metadata = {"name": name} | ({"namespace": "default"} if kind == "PodMetrics" else {})
        scene.store.apply(
            manifest_of({"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": metadata} | content)
        )
    scene.settle()
    assert scene.get("Pod", "p").status.container_statuses[0].restart_count == 0
