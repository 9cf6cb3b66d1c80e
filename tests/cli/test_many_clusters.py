"""``restow plan`` and ``restow snapshot`` for many clusters: a line, a page and a file for each."""

from __future__ import annotations

import json

import pytest

from builders import a_list, a_node, a_pod
from restow.application import each_cluster


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    """Several processes are tested apart, and on the real control plane."""

    def make_all(work, _processes, _tick):
        return [work.make(number, lambda _: None) for number in range(len(work))]

    monkeypatch.setattr(each_cluster, "make_all", make_all)


@pytest.fixture
def dumps(tmp_path, cluster):
    """A cluster with a move, one without, and a file that is no dump."""
    directory = tmp_path / "dumps"
    directory.mkdir()
    (directory / "busy.json").write_bytes(cluster.read_bytes())
    (directory / "idle.json").write_text(json.dumps(a_list(a_node("n1"), a_pod("p1", node="n1"))))
    return directory


def test_a_line_for_each_cluster(restow, dumps, policy):
    ran = restow("plan", "--snapshots", str(dumps), "--policy-config-file", str(policy))
    assert ran.err == ""
    assert "1 move in 1 of 2 clusters" in ran.out
    lines = [line.split() for line in ran.out.splitlines()]
    assert [line[0] for line in lines if line[:1] in (["busy"], ["idle"])] == ["busy", "idle"]


def test_a_cluster_without_a_plan_is_a_line_and_the_exit_status(restow, dumps, policy):
    (dumps / "broken.json").write_text("{")
    ran = restow("plan", "--snapshots", str(dumps), "--policy-config-file", str(policy))
    assert ran.status == 1
    assert "1 move in 1 of 2 clusters; 1 cluster without a plan" in ran.out
    assert "not valid JSON" in " ".join(ran.out.split())


def test_the_document_has_everything(restow, dumps, policy):
    ran = restow("plan", "--snapshots", str(dumps), "--policy-config-file", str(policy), "-o", "json", "--exit-code")
    found = json.loads(ran.out)
    assert found["kind"] == "ClustersPlan"
    assert [(each["name"], each["moves"], each["error"], each["file"]) for each in found["clusters"]] == [
        ("busy", 1, "", ""),
        ("idle", 0, "", ""),
    ]


def test_what_is_not_wanted_anywhere_is_named(restow, dumps, policy):
    arguments = ("plan", "--snapshots", str(dumps), "--policy-config-file", str(policy))
    ran = restow(*arguments, "--fail-on", "moves")
    assert (ran.status, ran.err.splitlines()[-1]) == (3, "--fail-on moves: the plan has 1 move")
    assert restow(*arguments, "--fail-on", "possible").status == 0
    ran = restow(*arguments, "--fail-on", "loops")
    assert (ran.status, "it is known of one cluster only" in ran.err) == (2, True)


def test_pages(restow, dumps, policy, tmp_path):
    (dumps / "broken.json").write_text("{")
    pages = tmp_path / "pages"
    restow("plan", "--snapshots", str(dumps), "--policy-config-file", str(policy), "--pages", str(pages))
    names = ["busy.html", "busy.json", "idle.html", "idle.json", "index.html"]
    assert sorted(each.name for each in pages.iterdir()) == names
    index = (pages / "index.html").read_text()
    assert '<a href="busy.html">busy</a>' in index
    assert "broken.json: not valid JSON" in index
    assert json.loads((pages / "busy.json").read_bytes())["kind"] == "Plan"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--pages", "x"), "--pages goes with --contexts or --snapshots"),
        (("--snapshots", "dumps", "-o", "wide"), "-o wide: many clusters are shown as table or json or html"),
        (("--snapshots", "dumps", "-n", "shop"), "-o table: many clusters are shown as table or json or html, whole"),
        (("--snapshots", "dumps", "--kubedescheduler", "-"), "--kubedescheduler - is read for each cluster"),
        (("--snapshots", "dumps", "--policy-config-file", "nope"), "nope: No such file"),
        (("--snapshots", "dumps", "--pages", "dumps/busy.json"), "--pages dumps/busy.json: File exists"),
    ],
)
def test_what_cannot_be_used(restow, dumps, monkeypatch, arguments, sentence):
    monkeypatch.chdir(dumps.parent)
    ran = restow("plan", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err


def test_snapshots_of_contexts_need_a_directory(restow):
    ran = restow("snapshot", "--contexts", "prod-*")
    assert (ran.status, ran.out) == (2, "")
    assert "--contexts saves a file for each cluster: name a directory with -o" in ran.err


def test_a_cluster_that_cannot_be_saved_is_told_and_is_the_exit_status(restow, tmp_path):
    config = tmp_path / "config"
    config.write_text("contexts:\n- name: a\n  context: {cluster: gone}\n")
    ran = restow("snapshot", "--contexts", "*", "--kubeconfig", str(config), "-o", str(tmp_path / "saved"))
    assert ran.status == 1
    assert "a: " in ran.err
    assert "names cluster gone, which is not under clusters" in ran.err
