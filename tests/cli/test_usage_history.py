"""``plan`` and ``explain`` by the usage that an input has stored."""

from __future__ import annotations

import json

import pytest

from builders import a_list, a_node, a_pod
from builders.policies import as_yaml, strategy_policy
from cli.conftest import TOLD

NOW = "2026-11-21T00:00:00Z"
#: n1 rises above its target in the last minutes, n2 is idle.
TRACE = """node,time,resource,value
n1,2026-11-20T23:00:00Z,cpu,400m
n1,2026-11-20T23:55:00Z,cpu,3600m
n2,2026-11-20T23:55:00Z,cpu,200m
"""
BY_USAGE = {
    "thresholds": {"cpu": 20},
    "targetThresholds": {"cpu": 50},
    "metricsUtilization": {"source": "KubernetesMetrics"},
}


@pytest.fixture
def arguments(tmp_path):
    pods = [a_pod(f"p{at}", node="n1", owner=("ReplicaSet", f"rs{at}"), cpu="100m") for at in range(4)]
    nodes = [a_node(name, cpu="4", memory="8Gi") for name in ("n1", "n2")]
    (tmp_path / "cluster.json").write_text(json.dumps(a_list(*nodes, *pods, *TOLD)))
    (tmp_path / "usage.csv").write_text(TRACE)
    provider = [{"source": "KubernetesMetrics"}]
    (tmp_path / "policy.yaml").write_bytes(
        as_yaml(strategy_policy("LowNodeUtilization", BY_USAGE, metricsProviders=provider))
    )
    return ["-f", "cluster.json", "-f", "usage.csv", "--policy-config-file", "policy.yaml"]


def moves(restow, arguments, *more, status=0):
    ran = restow("plan", *arguments, "--placement", "upstream", "-o", "json", *more)
    assert ran.status == status, ran.err
    return json.loads(ran.out)["moves"], ran.err


def test_a_strategy_goes_by_the_last_sample_of_the_history(restow, arguments):
    found, told = moves(restow, arguments, "--now", NOW)
    assert {each["from"] for each in found} == {"n1"}
    assert found[0]["reason"].startswith("n1 at cpu 90 % (stored history, 5 min old)")
    assert told.startswith(
        "usage of 2 nodes is from the stored history, last measured at 2026-11-20T23:55:00Z or later; of pods it is estimated"
    )


def test_what_comes_after_now_is_not_known(restow, arguments):
    found, told = moves(restow, arguments, "--now", "2026-11-20T23:30:00Z", status=1)
    assert found == []
    assert 'unable to find node "n2" in the collected metrics' in told


def test_explain_says_the_same(restow, arguments):
    ran = restow("explain", "pod", "default/p0", *arguments, "--now", NOW)
    assert ran.status == 0, ran.err
    assert "LowNodeUtilization: n1 at cpu 90 %" in ran.out


def test_a_policy_that_does_not_go_by_usage_is_told_nothing_of_it(restow, arguments, tmp_path):
    (tmp_path / "policy.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates")))
    assert moves(restow, arguments, "--now", NOW) == ([], "")


def test_a_snapshot_of_both_inputs_gives_the_same_plan(restow, arguments):
    assert restow("snapshot", "-f", "cluster.json", "-f", "usage.csv", "-o", "both.json.gz").status == 0
    assert (
        moves(restow, ["-f", "both.json.gz", *arguments[4:]], "--now", NOW)[0]
        == (moves(restow, arguments, "--now", NOW)[0])
    )


QUERY = "instance:load"


@pytest.fixture
def by_query(arguments, tmp_path):
    """A policy that goes by a query, of which n1 has come to 0.9 since 23:50."""
    rows = [f"n1,2026-11-20T23:{minute}:00Z,share,{0.9 if minute >= 50 else 0.3}\n" for minute in range(10, 60, 5)]
    rows.append("n2,2026-11-20T23:55:00Z,share,0.05\n")
    (tmp_path / "usage.csv").write_text(TRACE + "".join(rows))

    def written(**usage):
        limits = {"thresholds": {"MetricResource": 20}, "targetThresholds": {"MetricResource": 50}}
        source = {"metricsUtilization": {"source": "Prometheus", "prometheus": {"query": QUERY}}}
        provider = [{"source": "Prometheus", "prometheus": {"url": "http://prometheus:9090"}}]
        policy = strategy_policy("LowNodeUtilization", limits | source, metricsProviders=provider)
        (tmp_path / "policy.yaml").write_bytes(as_yaml(policy | ({"restow": {"usage": usage}} if usage else {})))
        return arguments

    return written


def test_the_query_of_a_policy_comes_to_what_is_stored(restow, by_query):
    found, err = moves(restow, by_query(), "--now", NOW)
    assert [each["from"] for each in found] == ["n1"]
    assert found[0]["reason"].startswith("n1 at MetricResource 90 % (Prometheus instance:load")
    assert err == "the policy's queries are answered from stored usage, measured up to 2026-11-20T23:55:00Z\n"


def test_a_percentile_of_the_stored_window_overlooks_a_spike(restow, by_query):
    spike = by_query(percentile=50, window="1h", maxAge="10m")
    assert moves(restow, spike, "--now", NOW)[0] == []
    assert moves(restow, by_query(percentile=95, window="1h", maxAge="10m"), "--now", NOW)[0]


@pytest.mark.parametrize(("cycles", "expected"), [(2, 1), (3, 0)])
def test_what_has_to_last_is_looked_up_in_the_steps_before(restow, by_query, cycles, expected):
    lasting = by_query(cycles=cycles, ofCycles=cycles, maxAge="10m")
    assert len(moves(restow, lasting, "--now", "2026-11-20T23:55:00Z")[0]) == expected
