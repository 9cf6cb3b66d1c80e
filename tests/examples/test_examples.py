"""The examples are what the README shows: they load, and the demo cluster is what its script writes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from restow.descheduling.registry import plugins
from restow.kube.objects import KINDS
from restow.policies.load import load_policy
from restow.sources.synthetic import NOW

EXAMPLES = Path(__file__).parents[2] / "examples"
CLUSTERS = EXAMPLES / "clusters"
POLICIES = sorted((EXAMPLES / "policies").glob("*.yaml"))


def output_of(*arguments):
    """What Python writes to standard output with this process's import path."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout


def plan_of(policy):
    """The plan for the demo cluster, through the command line."""
    main = "from restow.cli.main import main; main()"
    files = ["-f", CLUSTERS / "demo.json", "--policy-config-file", EXAMPLES / "policies" / policy]
    options = ["--now", NOW, "--placement", "upstream", "-o", "json"]
    return msgspec.json.decode(output_of("-c", main, "plan", *files, *options))


@pytest.fixture(scope="module")
def demo():
    return msgspec.json.decode((CLUSTERS / "demo.json").read_bytes())["items"]


def test_the_demo_cluster_is_what_its_script_writes():
    assert output_of(CLUSTERS / "make_demo.py") == (CLUSTERS / "demo.json").read_bytes()


def test_the_demo_cluster_decodes_and_names_nothing_twice(demo):
    keys = [(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in demo]
    assert len(set(keys)) == len(keys)
    for item in demo:
        msgspec.json.decode(msgspec.json.encode(item), type=KINDS[item["kind"]])


def test_the_demo_cluster_is_small_enough_to_look_at(demo):
    kinds = Counter(item["kind"] for item in demo)
    assert 30 <= kinds["Node"] <= 40
    assert 300 <= kinds["Pod"] <= 400


def test_no_node_of_the_demo_cluster_holds_more_than_it_has(demo):
    free = {item["metadata"]["name"]: item["status"]["allocatable"] for item in demo if item["kind"] == "Node"}
    cpu = {name: int(allocatable["cpu"].removesuffix("m")) for name, allocatable in free.items()}
    for pod in demo:
        if pod["kind"] == "Pod" and pod["spec"].get("nodeName"):
            requests = pod["spec"]["containers"][0]["resources"].get("requests", {})
            cpu[pod["spec"]["nodeName"]] -= int(requests.get("cpu", "0m").removesuffix("m"))
    assert min(cpu.values()) >= 0


def test_the_pods_of_the_pending_cluster_wait_for_every_reason():
    main = "from restow.cli.main import main; main()"
    schedule = msgspec.json.decode(output_of("-c", main, "schedule", "-f", CLUSTERS / "pending.yaml", "-o", "json"))
    pods = schedule["pods"]
    assert sum(bool(pod["node"]) for pod in pods) == 3
    assert sum(bool(pod["victims"]) for pod in pods) == 1
    assert sum(bool(pod["preFilter"]) for pod in pods) == 1
    assert sum(bool(pod["gated"]) for pod in pods) == 1
    assert any(len(pod["feasible"]) > 1 for pod in pods)


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_every_example_policy_loads_without_a_warning(path):
    loaded = load_policy(path.read_bytes(), path.name, plugins())
    assert loaded.policy.profiles
    assert all("v1alpha1" in str(warning) for warning in loaded.warnings)


def test_the_demo_plan_shows_moves_of_every_strategy_and_refusals_of_every_kind():
    plan = plan_of("demo.yaml")
    assert {move["plugin"] for move in plan["moves"]} == {
        "RemovePodsViolatingNodeTaints",
        "RemoveDuplicates",
        "RemovePodsViolatingTopologySpreadConstraint",
        "LowNodeUtilization",
    }
    assert {refusal["code"] for refusal in plan["refusals"]} == {
        "DaemonSetPods",
        "MaxPodsToEvictPerNamespace",
        "MaxPodsToEvictPerNode",
        "NoFit",
        "NoOwner",
        "PodsWithLocalStorage",
        "SystemCriticalPods",
    }
    assert 10 < len(plan["moves"]) < 40


def test_the_careful_plan_shows_the_protections_that_can_be_asked_for():
    plan = plan_of("careful.yaml")
    codes = {refusal["code"] for refusal in plan["refusals"]}
    assert codes >= {"MinReplicas", "PodsWithPVC", "PriorityThreshold", "NoFit"}
    assert len({move["plugin"] for move in plan["moves"]}) == 5


def test_the_default_plan_stops_at_no_limit():
    plan = plan_of("default.yaml")
    assert {refusal["stage"] for refusal in plan["refusals"]} == {"evictor", "placement"}
    assert len(plan["moves"]) > 40


@pytest.mark.parametrize(
    "policy", ["descheduler-0.10.yaml", "high-node-utilization.yaml", "lifetime.yaml", "v1alpha1.yaml"]
)
def test_every_other_policy_has_something_to_do(policy):
    plan = plan_of(policy)
    assert plan["moves"]
    assert plan["refusals"]
    assert not plan["problems"]
