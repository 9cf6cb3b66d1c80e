"""``restow snapshot -f``: one file that is as good as the dump."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest

from builders import NOW
from docs.pages import ROOT
from restow.sources.synthetic import generate, policy_for, write_list

DEMO = ROOT / "examples" / "clusters" / "demo.json"
DEMO_POLICY = ROOT / "examples" / "policies" / "demo.yaml"


@pytest.fixture
def planned(restow):
    def ran(dump, policy, *more):
        found = restow("plan", "-f", dump, "--policy-config-file", policy, "--now", NOW, "-o", "json", *more)
        assert found.status == 0, found.err
        return found.out

    return ran


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_the_plan_on_a_snapshot_of_the_demo_is_the_plan_on_the_dump(restow, planned, placement):
    made = restow("snapshot", "-f", DEMO, "-o", "demo.json.gz")
    assert made.status == 0, made.err
    plan = planned(DEMO, DEMO_POLICY, "--placement", placement)
    assert json.loads(plan)["moves"]
    assert planned("demo.json.gz", DEMO_POLICY, "--placement", placement) == plan


@pytest.mark.parametrize("profile", ["mixed", "low-utilization", "spread-zone"])
def test_the_plan_on_a_snapshot_of_a_synthetic_cluster_is_the_plan_on_the_dump(restow, planned, tmp_path, profile):
    with (tmp_path / "dump.json").open("wb") as stream:
        write_list(generate(profile, 20, 300, 5), stream)
    (tmp_path / "policy.yaml").write_text(policy_for(profile))
    assert restow("snapshot", "-f", "dump.json", "-o", "snapshot.json").status == 0
    for placement in ("prove", "upstream"):
        plan = planned("dump.json", "policy.yaml", "--placement", placement)
        assert planned("snapshot.json", "policy.yaml", "--placement", placement) == plan


def test_it_says_what_it_has_written(restow, cluster):
    ran = restow("snapshot", "-f", cluster, "-o", "small.json.gz")
    assert ran.status == 0
    assert ran.out == ""
    assert ran.err.startswith("small.json.gz: 3 nodes, 3 pods, 4 other objects of ")
    assert json.loads(gzip.decompress((cluster.parent / "small.json.gz").read_bytes()))["kind"] == "List"
    assert [each.name for each in cluster.parent.iterdir() if each.name.startswith(".")] == []


def test_without_a_file_it_goes_to_standard_output(cluster, monkeypatch, restow):
    written = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", written)
    from restow.cli.main import run

    assert run(["snapshot", "-f", str(cluster)]) == 0
    assert len(json.loads(written.buffer.getvalue())["items"]) == 10


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-f", "nope.json"), "nope.json: no such file or directory"),
        (("-f", "cluster.json", "-o", "nowhere/x.json"), "-o nowhere/x.json: No such file or directory"),
        (("-f", "cluster.json", "--kubeconfig", "k"), "-f names a dump and --kubeconfig a live cluster"),
        (("-f", "policy.yaml"), "policy.yaml holds 1 other objects but no nodes and no pods"),
        (("--kubeconfig", "nope"), "nope: no such kubeconfig; name one with --kubeconfig or KUBECONFIG"),
        ((), "no cluster: "),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(restow, cluster, policy, arguments, sentence):
    ran = restow("snapshot", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(sentence)
    assert ran.err.count("\n") == 1


def test_nobody_answers(restow, tmp_path, monkeypatch):
    """The port of the server is closed."""
    monkeypatch.setattr("restow.client.transport._TRIES", 1)
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    ran = restow("snapshot", "--kubeconfig", "config")
    assert ran.status == 1
    assert ran.err.startswith("restow failed: http://127.0.0.1:1 (config, context c) cannot be reached: ")
