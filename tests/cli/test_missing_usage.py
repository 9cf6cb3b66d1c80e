"""``schedule`` and ``plan`` where the cluster's scheduler prefers nodes by what they use."""

from __future__ import annotations

import json

import pytest

from builders import a_list, a_node, a_pod
from builders.policies import as_yaml, strategy_policy
from cli.conftest import TOLD
from scheduling.configurations import a_configuration, a_profile, a_set

NOW = "2026-11-21T00:00:00Z"
BY_LOAD = "LoadVariationRiskBalancing"
#: n1 is busy, n2 is idle, and what pods request says the opposite.
TRACE = f"node,time,resource,value\nn1,{NOW},cpu,3600m\nn2,{NOW},cpu,200m\n"


@pytest.fixture
def files(tmp_path):
    pods = [a_pod(f"p{at}", node="n1", owner=("ReplicaSet", f"rs{at}"), cpu="100m") for at in range(4)]
    pods += [a_pod("q", node="n2", owner=("ReplicaSet", "rq"), cpu="2"), a_pod("waiting", cpu="100m")]
    nodes = [a_node(name, cpu="4", memory="8Gi") for name in ("n1", "n2")]
    (tmp_path / "cluster.json").write_text(json.dumps(a_list(*nodes, *pods, *TOLD)))
    (tmp_path / "usage.csv").write_text(TRACE)
    profile = a_profile(score=a_set(f"{BY_LOAD}=5"))
    (tmp_path / "by-load.yaml").write_text(a_configuration(profile))
    policy = strategy_policy(
        "LowNodeUtilization",
        {
            "thresholds": {"cpu": 20},
            "targetThresholds": {"cpu": 50},
            "metricsUtilization": {"source": "KubernetesMetrics"},
        },
        metricsProviders=[{"source": "KubernetesMetrics"}],
    )
    (tmp_path / "policy.yaml").write_bytes(as_yaml(policy))
    return ["-f", "cluster.json", "-f", "usage.csv", "--now", NOW, "-o", "json"]


def ran(restow, command, *arguments):
    done = restow(command, *arguments)
    assert done.status == 0, done.err
    return json.loads(done.out), done.err


def test_a_pod_goes_to_the_idle_node_where_the_configuration_says_so(restow, files):
    (pod,) = ran(restow, "schedule", *files)[0]["pods"]
    assert pod["node"] == "n1"
    found, told = ran(restow, "schedule", *files, "--scheduler-config", "by-load.yaml", "--scores-for", "all")
    (pod,) = found["pods"]
    assert pod["node"] == "n2"
    assert {node: scores[BY_LOAD] for node, scores in pod["scores"].items()} == {"n1": 5 * 54, "n2": 5 * 96}
    assert told == ""


def test_a_move_is_proven_with_it(restow, files):
    """Without the plugin the replacement would return to the node that requests least, which is the busy one."""
    policy = ("--policy-config-file", "policy.yaml")
    assert ran(restow, "plan", *files, *policy)[0]["moves"] == []
    moves = ran(restow, "plan", *files, *policy, "--scheduler-config", "by-load.yaml")[0]["moves"]
    assert moves
    assert {(each["from"], each["to"], each["certainty"]) for each in moves} == {("n1", "n2", "certain")}


def test_nodes_of_which_nobody_knows_the_usage_are_told(restow, files):
    without = [*files[:2], *files[4:]]
    found, told = ran(restow, "schedule", *without, "--scheduler-config", "by-load.yaml", "--scores-for", "all")
    assert told == (
        f"{BY_LOAD} scores 2 nodes 0: the input has no usage of them; add -f usage.csv, or take the snapshot with --usage\n"
    )
    assert {scores[BY_LOAD] for scores in found["pods"][0]["scores"].values()} == {0}
