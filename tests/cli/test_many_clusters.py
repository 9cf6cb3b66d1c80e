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


@pytest.fixture
def explain(restow, dumps, policy):
    """``restow explain`` for the dumps."""

    def ran(kind, name, *more):
        return restow("explain", kind, name, "--snapshots", str(dumps), "--policy-config-file", str(policy), *more)

    return ran


class TestExplaining:
    @pytest.fixture(autouse=True)
    def _named_alike(self, dumps, cluster):
        """The cluster without a move has a pod of the same name as the other."""
        pods = [each for each in json.loads(cluster.read_bytes())["items"] if each["kind"] == "Pod"]
        self.pod = pods[1]["metadata"]["name"]
        (dumps / "idle.json").write_text(json.dumps(a_list(a_node("n1"), a_pod(self.pod, node="n1"))))
        (dumps / "other.json").write_text(json.dumps(a_list(a_node("n9"), a_pod("another", node="n9"))))

    def test_a_pod_is_a_line_in_each_cluster_and_why_a_sentence(self, explain):
        ran = explain("pod", f"default/{self.pod}")
        assert (ran.status, ran.err) == (0, "")
        lines = ran.out.splitlines()
        assert lines[0].startswith(f"pod default/{self.pod}: in 2 of 3 clusters: ")
        cells = {line.split()[0]: line.split()[1:] for line in lines if line[:1] == " "}
        assert cells["idle"] == ["n1", "stays"]
        assert cells["other"] == ["-", "not", "there"]
        assert any(line.startswith("busy: RemoveDuplicates ") for line in lines)

    def test_the_document_has_the_whole_answers(self, explain):
        found = json.loads(explain("pod", f"default/{self.pod}", "-o", "json").out)
        assert (found["kind"], found["objectKind"], found["objectName"]) == (
            "ClustersExplanation",
            "pod",
            f"default/{self.pod}",
        )
        answers = {each["name"]: each["pod"] and each["pod"]["kind"] for each in found["clusters"]}
        assert answers == {"busy": "PodExplanation", "idle": "PodExplanation", "other": None}

    def test_a_node(self, explain, dumps):
        (dumps / "broken.json").write_text("{")
        ran = explain("node", "n1")
        assert ran.status == 1
        assert "in 2 of 4 clusters; 1 cluster gave no answer" in ran.out
        assert "broken.json: not valid JSON" in " ".join(ran.out.split())
        found = json.loads(explain("node", "n1", "-o", "json").out)
        assert [each["name"] for each in found["clusters"] if each["node"]] == ["busy", "idle"]

    @pytest.mark.parametrize(
        ("kind", "name", "more", "sentence"),
        [
            ("pod", "default/nope", (), "explain pod: none of the 3 clusters holds a pod default/nope"),
            ("node", "nope", (), "explain node: none of the 3 clusters holds a node nope"),
            ("pod", "nope", (), "explain pod: nope is not of the form NAMESPACE/NAME"),
            ("node", "n1", ("-f", "x.json"), "-f names one cluster, --contexts and --snapshots name many"),
        ],
    )
    def test_what_cannot_be_used(self, explain, kind, name, more, sentence):
        ran = explain(kind, name, *more)
        assert (ran.status, ran.out) == (2, "")
        assert sentence in ran.err

    def test_a_drain_is_of_one_cluster(self, restow, dumps):
        ran = restow("explain", "node", "n1", "--drain", "--snapshots", str(dumps))
        assert (ran.status, ran.out) == (2, "")
        assert "--drain is of a node of one cluster: name it with --context or -f" in ran.err


@pytest.fixture
def nowhere(tmp_path):
    """A kubeconfig with two contexts that lead nowhere."""
    config = tmp_path / "config"
    config.write_text("contexts:\n- name: prod-a\n  context: {cluster: gone}\n- name: prod-b\n  context: {}\n")
    return ("--contexts", "prod-*", "--kubeconfig", str(config))


class TestLinting:
    def test_a_cluster_that_cannot_be_asked_is_a_finding(self, restow, nowhere):
        ran = restow("policy", "lint", *nowhere, "-o", "json")
        found = json.loads(ran.out)
        assert ran.status == 2
        assert [(each["file"], each["severity"]) for each in found["findings"]] == [
            ("prod-a", "error"),
            ("prod-b", "error"),
        ]
        assert "names cluster gone, which is not under clusters" in found["findings"][0]["message"]
        assert found["summary"]["files"] == 2

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("policy.yaml", "--contexts", "*"), "--contexts lints the policies of clusters; leave the files out"),
            (("policy.yaml", "--config-map", "a/b"), "--config-map and --kubeconfig go with --contexts"),
            (("--contexts", "*", "--config-map", "b"), "--config-map b is not of the form NAMESPACE/NAME"),
            (("--contexts", "*", "--config-map", "a/b/c"), "--config-map a/b/c is not of the form NAMESPACE/NAME"),
        ],
    )
    def test_what_cannot_be_used(self, restow, arguments, sentence):
        ran = restow("policy", "lint", *arguments)
        assert (ran.status, ran.out) == (2, "")
        assert sentence in ran.err


class TestPressure:
    @pytest.fixture
    def check(self, restow, tmp_path, nowhere):
        rules = tmp_path / "rule.yaml"
        rules.write_text("Rulename: {cpu: {Promsql: up, Threshold: 0.8}}")

        def ran(*more, url="http://{context}:9090"):
            return restow("pressure", "check", "-r", str(rules), "-prom", url, *nowhere, *more)

        return ran

    def test_a_cluster_without_an_answer_is_a_line_and_the_exit_status(self, check):
        ran = check()
        assert ran.status == 1
        assert "0 nodes over a threshold in 0 of 0 clusters; 2 clusters gave no answer" in ran.out
        assert "prod-a: " in ran.out
        found = json.loads(check("-o", "json").out)
        assert found["kind"] == "ClustersPressureCheck"
        assert [(each["name"], each["check"], bool(each["error"])) for each in found["clusters"]] == [
            ("prod-a", None, True),
            ("prod-b", None, True),
        ]

    @pytest.mark.parametrize(
        ("url", "more", "sentence"),
        [
            ("http://prometheus:9090", (), "write {context} where the name of the context belongs in --prometheus-url"),
            ("http://{context}:9090", ("--max-share", "0"), "--max-share must be above 0"),
            ("http://{context}:9090", ("--context", "prod-a"), "--context names one cluster"),
        ],
    )
    def test_what_cannot_be_used(self, check, url, more, sentence):
        ran = check(*more, url=url)
        assert (ran.status, ran.out) == (2, "")
        assert sentence in ran.err

    def test_a_broken_rule_file_is_told_once(self, check, tmp_path):
        (tmp_path / "rule.yaml").write_text("Rulename:\n  cpu: {Promsql: up}\n")
        ran = check()
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.splitlines() == [f"{tmp_path}/rule.yaml:2: Rulename.cpu: has no Threshold; add it"]
