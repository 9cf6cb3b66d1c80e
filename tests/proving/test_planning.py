"""From a decided cycle to a plan: names, figures, and the same bytes every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import restow
from builders import Owner, a_deployment, a_list, a_node, a_pdb, a_pod, a_replica_set, a_service
from descheduling.harness import NOW
from descheduling.trials import a_profile, failing, suggesting, trial
from restow.descheduling.plan import OwnerRef, PodRef, ResourceLoad
from restow.kube.timestamps import parse_time
from restow.proving.planning import cycle_notes, make_plan, node_loads

ROOT = Path(restow.__file__).parents[1]
RS = Owner("ReplicaSet", "rs")
NODES = [a_node("n1", cpu="2", memory="1Ki", labels={"topology.kubernetes.io/zone": "a"}), a_node("n2", cpu="4")]


def plan_of(cycle):
    return make_plan(cycle, parse_time(NOW), "upstream")


def a_plan(strategies, *pods, **more):
    return plan_of(trial(strategies, *NODES, *pods, **more))


def test_moves_are_in_order_of_eviction_with_all_their_names():
    pods = [a_pod("a", node="n1", owner=RS), a_pod("b", node="n2", owner=RS), a_replica_set("rs", deployment="web")]
    first, second = a_plan({"S": suggesting("b", "a")}, *pods, a_deployment("web")).moves
    assert (first.pod, first.source, first.target) == (PodRef("default", "b", pods[1]["metadata"]["uid"]), "n2", None)
    assert (first.profile, first.plugin, first.reason) == ("P", "S", "b should move")
    assert first.owner == second.owner == OwnerRef("Deployment", "web")
    assert second.source == "n1"


def test_refusals_are_sorted_by_pod_profile_and_plugin():
    pods = [a_pod(name, namespace=namespace, node="n1") for namespace, name in (("b", "x"), ("a", "z"), ("a", "y"))]
    profiles = [a_profile("Q", deschedule=("T", "S")), a_profile("P", deschedule=("S",))]
    found = a_plan({"S": suggesting("x", "y"), "T": suggesting("z", "y")}, *pods, profiles=profiles).refusals
    assert [(str(each.pod), each.profile, each.plugin) for each in found] == [
        ("a/y", "P", "S"),
        ("a/y", "Q", "S"),
        ("a/y", "Q", "T"),
        ("a/z", "Q", "T"),
        ("b/x", "P", "S"),
        ("b/x", "Q", "S"),
    ]
    assert {(each.node, each.stage, each.code, each.message) for each in found} == {
        ("n1", "evictor", "NoOwner", "pod does not have any ownerRefs")
    }


def test_the_summary_counts():
    """Pending are pods without a node that are not over."""
    pods = [
        a_pod("a", node="n1", owner=RS),
        a_pod("b", node="n1"),
        a_pod("c"),
        a_pod("d", phase="Failed"),
        a_pod("e", node="gone"),
    ]
    summary = a_plan({"S": suggesting("a", "b")}, *pods).summary
    assert (summary.nodes, summary.pods, summary.pending_pods) == (2, 5, 1)
    assert (summary.moves, summary.refusals) == (1, 1)


def test_utilisation_is_requests_over_allocatable_on_the_nodes_that_have_any():
    nodes = [a_node("n1", cpu="2", memory="0"), a_node("n2", cpu="4", memory="0"), a_node("n3", cpu="0", memory="0")]
    pods = [a_pod("a", node="n1", cpu="1", owner=RS), a_pod("b", node="n2", cpu="1")]
    used = plan_of(trial({"S": suggesting("a")}, *nodes, *pods)).summary.utilisation
    assert used.before == {"cpu": ResourceLoad(0.5, 0.375, 0.125), "memory": ResourceLoad(0.0, 0.0, 0.0)}
    assert used.after == {"cpu": ResourceLoad(0.25, 0.125, 0.125), "memory": ResourceLoad(0.0, 0.0, 0.0)}


def test_problems_are_told_with_profile_and_plugin():
    (problem,) = a_plan({"F": failing()}, a_pod("a", node="n1")).problems
    assert str(problem) == "P/F: no metrics for node n1"


def test_metadata_tells_when_and_how():
    metadata = a_plan({}, a_pod("a")).metadata
    assert (metadata.generated_at, metadata.placement, metadata.restow_version) == (NOW, "upstream", restow.__version__)


def test_loads_of_nodes_before_and_after():
    pods = [a_pod("a", node="n1", cpu="1", owner=RS), a_pod("b", node="n1", requests={"unlisted": "1"})]
    cycle = trial({"S": suggesting("a")}, *NODES, *pods)
    first, second = node_loads(cycle)
    assert (first.name, first.zone, first.unschedulable) == ("n1", "a", False)
    assert first.resources == {"cpu": (2000, 1100, 100), "memory": (1024, 0, 0)}
    assert (first.pods_before, first.pods_after, second.pods_after) == (2, 1, 0)
    assert cycle_notes(cycle) == ()


# The same bytes


def a_dump():
    """Enough of everything that has an order: nodes, workloads, duplicates, refusals."""
    pods = [
        a_pod(
            f"{app}-{i}", node=f"n{i % 3}", owner=("ReplicaSet", app), images=[app], labels={"app": app, "i": str(i)},
            created="2026-01-01T00:00:00Z", started="2026-01-01T00:00:00Z", phase="Running",
            namespace=f"ns{len(app) % 2}", priority=i % 4, tolerations=["a", "b"] if i % 2 else None,
        )
        for app in ("web", "shop", "db", "cache")
        for i in range(6)
    ]  # fmt: skip
    return a_list(
        *(a_node(f"n{i}", taints=["gpu:NoSchedule"] if i == 2 else None) for i in range(4)),
        *pods,
        a_service("s"),
        a_pdb("none", namespace="nowhere"),
    )


POLICY = {
    "apiVersion": "descheduler/v1alpha2",
    "kind": "DeschedulerPolicy",
    "maxNoOfPodsToEvictPerNode": 4,
    "profiles": [
        {
            "name": "all",
            "pluginConfig": [
                {"name": "DefaultEvictor", "args": {"nodeFit": True, "minReplicas": 5}},
                {"name": "RemoveDuplicates"},
                {"name": "RemovePodsViolatingNodeTaints"},
                {"name": "PodLifeTime", "args": {"maxPodLifeTimeSeconds": 60}},
                {"name": "LowNodeUtilization", "args": {"thresholds": {"pods": 3}, "targetThresholds": {"pods": 5}}},
            ],
            "plugins": {
                "deschedule": {"enabled": ["RemovePodsViolatingNodeTaints", "PodLifeTime"]},
                "balance": {"enabled": ["RemoveDuplicates", "LowNodeUtilization"]},
            },
        }
    ],
}


def run_plan(folder, dump, seed, placement):
    (folder / "dump.json").write_text(json.dumps(dump))
    (folder / "policy.json").write_text(json.dumps(POLICY))
    arguments = ["plan", "-f", "dump.json", "--policy-config-file", "policy.json", "--now", NOW, "-o", "json"]
    arguments += ["--placement", placement]
    code = f"import sys; from restow.cli.main import run; sys.exit(run({arguments!r}))"
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, check=True, timeout=60
    )
    return done.stdout


@pytest.mark.parametrize("placement", ["upstream", "prove"])
def test_the_same_input_gives_the_same_bytes_whatever_the_hash_seed(tmp_path, placement):
    first, second = (run_plan(tmp_path, a_dump(), seed, placement) for seed in (1, 2))
    assert first == second
    plan = json.loads(first)
    assert plan["moves"]
    assert plan["refusals"]


@pytest.mark.parametrize("turned", [reversed, lambda items: items[7:] + items[:7]], ids=["reversed", "rotated"])
@pytest.mark.parametrize("placement", ["upstream", "prove"])
def test_the_order_of_the_input_does_not_change_the_plan(tmp_path, turned, placement):
    dump = a_dump()
    other = {**dump, "items": list(turned(dump["items"]))}
    assert run_plan(tmp_path, dump, 1, placement) == run_plan(tmp_path, other, 1, placement)


def test_a_plan_can_be_read_back():
    plan = a_plan({"S": suggesting("a")}, a_pod("a", node="n1", owner=RS))
    assert msgspec.json.decode(msgspec.json.encode(plan), type=type(plan)) == plan
