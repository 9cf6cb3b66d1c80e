"""A mixed cluster has a bit of everything, and could really exist: what is placed fits."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from restow.sources.synthetic import generate
from restow.sources.synthetic.mixed import GPU

NODES, PODS = 200, 6000


@pytest.fixture(scope="module")
def objects():
    return list(generate("mixed", NODES, PODS, 3))


@pytest.fixture(scope="module")
def pods(objects):
    return [item for item in objects if item["kind"] == "Pod"]


def amount(text: str) -> int:
    """Milli-CPU of ``250m``, MiB of ``64Mi``, a plain count."""
    return int(text.removesuffix("m").removesuffix("Mi"))


def test_what_is_placed_fits(objects, pods):
    used = defaultdict(Counter)
    for pod in pods:
        if "nodeName" in pod["spec"]:
            used[pod["spec"]["nodeName"]]["pods"] += 1
            for resource, text in pod["spec"]["containers"][0]["resources"].get("requests", {}).items():
                used[pod["spec"]["nodeName"]][resource] += amount(text)
    for node in (item for item in objects if item["kind"] == "Node"):
        allocatable = node["status"]["allocatable"]
        # The two agents are on every node without being counted against it.
        slack = Counter(cpu=70, memory=32, pods=2)
        for resource, count in used[node["metadata"]["name"]].items():
            assert count <= amount(allocatable[resource]) + slack[resource]


def test_load_is_uneven(pods):
    counts = Counter(pod["spec"].get("nodeName") for pod in pods)
    assert counts.most_common(1)[0][1] > 2 * min(counts.values())


def test_every_kind_of_owner_and_protection_occurs(objects, pods):
    owners = {reference["kind"] for pod in pods for reference in pod["metadata"].get("ownerReferences", [{"kind": ""}])}
    assert owners == {"ReplicaSet", "StatefulSet", "DaemonSet", "Job", ""}
    volumes = {source for pod in pods for volume in pod["spec"].get("volumes", []) for source in volume}
    assert volumes >= {"emptyDir", "hostPath", "persistentVolumeClaim"}
    assert len({pod["spec"]["priority"] for pod in pods}) == 4
    assert {item["kind"] for item in objects} >= {"PodDisruptionBudget", "PriorityClass", "PersistentVolume"}


def test_every_phase_and_ailment_occurs(pods):
    assert {pod["status"]["phase"] for pod in pods} == {"Running", "Pending", "Failed", "Succeeded"}
    assert any("deletionTimestamp" in pod["metadata"] for pod in pods)
    assert any(pod["status"].get("reason") == "Evicted" for pod in pods)
    rules = {rule for pod in pods for rule in pod["spec"].get("affinity", {})}
    assert rules == {"nodeAffinity", "podAntiAffinity"}
    assert any("topologySpreadConstraints" in pod["spec"] for pod in pods)


def test_accelerated_nodes_hold_only_pods_that_ask_for_them(objects, pods):
    accelerated = {item["metadata"]["name"] for item in objects if GPU in item.get("status", {}).get("capacity", {})}
    agents = {"node-network", "node-exporter"}
    for pod in pods:
        if pod["spec"].get("nodeName") in accelerated and pod["metadata"]["labels"]["app"] not in agents:
            assert GPU in pod["spec"]["containers"][0]["resources"]["requests"]
    assert accelerated


def test_full_pods_carry_what_real_dumps_carry():
    for pod in (item for item in generate("full", 50, 1000, 3) if item["kind"] == "Pod"):
        assert {"env", "volumeMounts"} <= pod["spec"]["containers"][0].keys()
        assert len(pod["spec"]["tolerations"]) >= 2
        assert pod["metadata"]["resourceVersion"]
