"""``restow snapshot -f``: one file that is as good as the dump."""

from __future__ import annotations

import gzip
import io
import json
import sys
from urllib.parse import parse_qs

import pytest

from bench.problems import generate, policy_for
from builders import NOW
from builders.loopback import Loopback, Reply
from cluster.histories import samples_of
from docs.pages import ROOT
from restow.sources.documents import load_cluster
from restow.sources.synthetic import write_list
from restow.usage.stored import stored_history

DEMO = ROOT / "examples" / "clusters" / "demo.json"
SECRET = "hunter2"
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
    monkeypatch.setattr("restow.client.transport.TRIES", 1)
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    ran = restow("snapshot", "--kubeconfig", "config")
    assert ran.status == 1
    assert ran.err.startswith("restow failed: http://127.0.0.1:1 (config, context c) cannot be reached: ")


USAGE = ("--usage", "24h", "--prometheus-url")


class HistoryPrometheus(Loopback):
    """Answers each query of history with a value every five minutes for n1, and one for a stranger."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def reply(self, path, form):
        self.asked.append(parse_qs(form)["query"][0])
        values = {"n1": "1.5", "n2:9100": "0.25", "stranger": "1"}
        result = [
            {"metric": {"instance": name}, "values": [[1795218900, value], [1795219200, value]]}
            for name, value in values.items()
        ]
        return Reply(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode())


@pytest.fixture
def prometheus():
    with HistoryPrometheus() as server:
        yield f"http://me:{SECRET}@127.0.0.1:{server.port}", server.asked


def test_the_usage_of_the_nodes_becomes_part_of_it(restow, cluster, prometheus):
    url, asked = prometheus
    ran = restow("snapshot", "-f", cluster, *USAGE, url, "--memory-query", "mem[$window]", "-o", "small.json")
    assert ran.status == 0
    assert ran.err.splitlines() == [
        "cpu: Prometheus has no usage of 1 node of 3; try --cpu-query in it",
        "cpu: instances that are no node: stranger",
        "memory: Prometheus has no usage of 1 node of 3; try --memory-query in it",
        "memory: instances that are no node: stranger",
        ran.err.splitlines()[-1],
    ]
    assert ran.err.splitlines()[-1].startswith("small.json: 3 nodes, 3 pods, 4 other objects, 4 series of usage of ")
    assert asked == [
        '(sum by (instance) (rate(node_cpu_seconds_total{mode!~"idle|iowait"}[300s]))\n)[86400s:300s]',
        "(mem[300s]\n)[86400s:300s]",
    ]
    history = stored_history(load_cluster(["small.json"])[0])
    assert samples_of(history.nodes["n1"]["cpu"]) == {1795218900: 1500, 1795219200: 1500}
    assert samples_of(history.nodes["n2"]["memory"]) == {}.fromkeys((1795218900, 1795219200), 0)
    assert SECRET not in (cluster.parent / "small.json").read_text()
    again = restow("snapshot", "-f", "small.json", "-o", "again.json")
    assert again.status == 0
    assert (cluster.parent / "again.json").read_bytes() == (cluster.parent / "small.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--usage", "24h"), "--usage needs --prometheus-url: where to ask, such as http://prometheus:9090"),
        (("--prometheus-url", "http://p"), "--prometheus-url goes with --usage: add --usage 24h"),
        (("--cpu-query", "up"), "--cpu-query goes with --usage: add --usage 24h"),
        (("--policy-config-file", "policy.yaml"), "--policy-config-file goes with --usage: add --usage 24h"),
        (
            (*USAGE, "http://p", "--policy-config-file", "policy.yaml"),
            "policy.yaml: no strategy asks Prometheus; leave --policy-config-file out",
        ),
        ((*USAGE, "prometheus:9090"), "--prometheus-url 'prometheus:9090' is not an http:// or https:// URL"),
        (("--usage", "day", "--prometheus-url", "http://p"), "--usage day: "),
        (("--usage", "59s", "--prometheus-url", "http://p"), "--usage 59s: must be from 1m to 8784h"),
        (("--usage", "9000h", "--prometheus-url", "http://p"), "--usage 9000h: must be from 1m to 8784h"),
    ],
)
def test_a_history_that_cannot_be_asked_for_is_told_in_a_sentence(restow, cluster, policy, arguments, sentence):
    ran = restow("snapshot", "-f", cluster, *arguments, "-o", "small.json")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(sentence)
    assert ran.err.count("\n") == 1
    assert not (cluster.parent / "small.json").exists()
