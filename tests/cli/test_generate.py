"""``restow generate``: a cluster, or the policy that goes with it."""

from __future__ import annotations

import json

from restow.kube.timestamps import SECOND, format_time
from restow.sources.documents import load_cluster
from restow.sources.synthetic import NOW
from restow.usage.stored import stored_history

SMALL = ["--nodes", "4", "--pods", "20"]


def test_a_cluster_can_be_planned(restow):
    generated = restow("generate", *SMALL)
    assert (generated.status, generated.err) == (0, "")
    assert restow("plan", "-f", "-", stdin=generated.out.encode()).out.startswith("cluster  4 nodes, 20 pods")


def test_the_same_arguments_give_the_same_bytes(restow):
    assert restow("generate", *SMALL) == restow("generate", *SMALL)
    assert restow("generate", *SMALL) != restow("generate", *SMALL, "--seed", "2")


def test_a_policy_is_valid(restow):
    policy = restow("generate", "--profile", "low-utilization", "--policy")
    assert policy.status == 0
    assert restow("policy", "validate", "-", stdin=policy.out.encode()).status == 0


def test_an_unknown_profile_lists_the_known_ones(restow):
    ran = restow("generate", "--profile", "nope")
    assert (ran.status, ran.out) == (2, "")
    assert "there is no profile nope" in ran.err
    assert "\n  low-utilization " in ran.err


def test_verbose_tells_how_long_it_took(restow):
    ran = restow("generate", *SMALL, "-v", "1")
    assert ran.err.startswith("generate 0.")
    assert len(json.loads(ran.out)["items"]) >= 24


def test_the_usage_of_the_nodes_goes_with_it(restow, tmp_path):
    generated = restow("generate", *SMALL, "--usage", "24h")
    assert generated.status == 0
    (tmp_path / "cluster.json").write_text(generated.out)
    cluster, report = load_cluster([str(tmp_path / "cluster.json")])
    history = stored_history(cluster)
    assert sorted(history.nodes) == sorted(cluster.nodes.names)
    for node, name in enumerate(cluster.nodes.names):
        for row, resource in enumerate(("cpu", "memory")):
            series = history.nodes[name][resource]
            assert len(series) == 288
            assert format_time(int(series.times[-1]) * SECOND) == NOW
            assert 0 <= series.values.min() < series.values.max() <= cluster.nodes.allocatable[row, node] * 1.001
    assert (report.replaced, report.unknown_kinds) == (0, {})
    assert restow("generate", *SMALL, "--usage", "24h") == generated


def test_the_cluster_is_the_same_with_its_usage(restow):
    plain, measured = (json.loads(restow("generate", *SMALL, *more).out)["items"] for more in ((), ("--usage", "1h")))
    assert [each for each in measured if each["kind"] != "UsageSeries"] == plain


def test_a_range_that_cannot_be_used_is_told(restow):
    ran = restow("generate", "--usage", "1s")
    assert (ran.status, ran.out, ran.err) == (2, "", "--usage 1s: must be from 1m to 8784h\n")
