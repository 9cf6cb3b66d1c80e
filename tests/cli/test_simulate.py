"""``restow simulate``: what people see of a scenario before it runs, and of the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from builders import a_node, a_pod
from builders.policies import a_config, a_policy, a_profile, as_yaml, strategy_policy
from restow.kube.manifests import document_of
from simulating.manifests import a_controller

GOOD = """\
apiVersion: restow.dev/v1alpha1
kind: Scenario
start: [nodes.yaml]
events: [{at: 1m, cordon: node-1}]
expect: [{always: {nodes: any, exactly: 1}}]
"""
NODES = "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"


@pytest.fixture
def files(restow, tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "good.yaml").write_text(GOOD)
    (folder / "nodes.yaml").write_text(NODES)
    (tmp_path / "odd.yaml").write_text(GOOD.replace("nodes.yaml", "inside/nodes.yaml").replace("node-1", "node1"))
    (tmp_path / "refused.yaml").write_text(GOOD.replace("cordon", "cordn"))


@pytest.mark.usefixtures("files")
class TestCheck:
    def test_a_scenario_whose_files_lie_beside_it(self, restow):
        ran = restow("simulate", "check", "-f", "inside/good.yaml")
        assert ran == (0, "inside/good.yaml\nno findings\n", "")

    def test_what_never_happens_is_no_reason(self, restow):
        ran = restow("simulate", "check", "-f", "odd.yaml")
        assert (ran.status, ran.err) == (0, "")
        assert "   4  warning  events[0].cordon: there is no node/node1 when this happens" in ran.out

    def test_what_cannot_be_used(self, restow):
        ran = restow(
            "simulate", "check", "-f", "refused.yaml", "-f", "inside/good.yaml", "-f", "nope.yaml", "-o", "json"
        )
        found = json.loads(ran.out)
        assert (ran.status, found["kind"], found["summary"]["errors"]) == (2, "ScenarioFindings", 2)
        assert [(each["file"], each["line"], each["path"], each["hint"]) for each in found["findings"]] == [
            ("refused.yaml", 4, "events[0].cordn", 'did you mean "cordon"?'),
            ("nope.yaml", 1, "", ""),
        ]

    def test_a_scenario_on_standard_input_begins_its_paths_here(self, restow):
        piped = GOOD.replace("nodes.yaml", "inside/nodes.yaml").encode()
        assert restow("simulate", "check", "-f", "-", stdin=piped).out == "standard input\nno findings\n"

    def test_without_a_scenario(self, restow):
        ran = restow("simulate", "check")
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.startswith("say which scenario")


DRAINED = """\
apiVersion: restow.dev/v1alpha1
kind: Scenario
for: 30m
seed: 7
start: [cluster.yaml]
events: [{at: 10m, drain: n1}]
expect: [{always: {pods: any, onNodes: n1, atLeast: 1}, after: 1m}]
"""


@pytest.fixture
def cluster(restow, tmp_path):
    """Two nodes and a Deployment, as objects that come when a run begins."""
    objects = [a_node("n1"), a_node("n2"), document_of(a_controller("Deployment", "web", 4))]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(objects))
    (tmp_path / "drained.yaml").write_text(DRAINED)
    (tmp_path / "policy.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates")))


def result_of(ran):
    assert (ran.err, ran.status in (0, 3)) == ("", True)
    return json.loads(ran.out)


@pytest.mark.usefixtures("cluster")
class TestSimulate:
    def test_an_expectation_that_fails_has_a_status_of_its_own(self, restow):
        ran = restow("simulate", "-f", "drained.yaml")
        assert (ran.status, ran.err) == (3, "")
        assert "drain evicts 2 pods: 2 of deployment/web" in ran.out
        assert "broken at 10m, counted 0" in ran.out
        assert max(map(len, ran.out.splitlines())) <= 80

    def test_an_expectation_that_is_undecided_does_not_fail(self, restow):
        ran = restow("simulate", "-f", "drained.yaml", "--for", "30s")
        assert ran.status == 0
        assert "the run ended too early to tell" in ran.out

    @pytest.mark.parametrize("form", ["table", "json", "html"])
    def test_the_same_seed_gives_the_same_bytes(self, restow, form):
        def run(seed):
            arguments = ("-f", "drained.yaml", "--seed", seed, "--now", "2026-11-21T00:00:00Z", "-o", form)
            return restow("simulate", *arguments).out

        assert run("1") == run("1") != run("2")

    def test_a_dump_alone_has_a_descheduler_and_says_how_it_ended(self, restow):
        ran = restow("simulate", "-f", "cluster.yaml", "--policy-config-file", "policy.yaml", "--until", "stable")
        assert ran.status == 0
        assert "run      cluster.yaml   11m simulated" in ran.out
        assert "policy   policy.yaml   placement: prove" in ran.out

    @pytest.mark.parametrize("form", ["table", "json", "html"])
    def test_a_pod_that_restow_knows_no_node_for_stays_pending_and_the_result_says_why(self, restow, tmp_path, form):
        claiming = a_pod("claiming", cpu="100m", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]})
        (tmp_path / "claiming.yaml").write_text(yaml.safe_dump(claiming))
        ran = restow("simulate", "-f", "drained.yaml", "-f", "claiming.yaml", "-o", form)
        why = "where it goes is unknown: it claims devices, and objects of kind ResourceClaim are not known here"
        assert why in " ".join(ran.out.split())
        if form == "json":
            found = json.loads(ran.out)
            assert [(each["pod"], each["message"]) for each in found["unknown"]] == [("default/claiming", why)]
            assert found["samples"]["pending"][-1] == 1

    def test_a_scenario_with_a_dump_has_the_objects_of_both(self, restow, tmp_path):
        (tmp_path / "more.yaml").write_text(yaml.safe_dump(a_node("n3")))
        found = result_of(restow("simulate", "-f", "drained.yaml", "-f", "more.yaml", "-o", "json"))
        assert (found["summary"]["nodes"], found["metadata"]["scenario"]) == (3, "drained.yaml")

    def test_the_policy_takes_the_place_of_the_scenarios(self, restow, tmp_path):
        (tmp_path / "s.yaml").write_text(DRAINED + "descheduler: {every: 1m, placement: upstream}\n")
        found = [
            result_of(restow("simulate", "-f", "s.yaml", *arguments, "-o", "json"))["metadata"]
            for arguments in ((), ("--policy-config-file", "policy.yaml"))
        ]
        assert [(each["policy"], each["placement"]) for each in found] == [
            ("default-policy.yaml", "upstream"), ("policy.yaml", "upstream"),
        ]  # fmt: skip

    def test_a_scenario_on_standard_input(self, restow):
        assert restow("simulate", "-f", "-", stdin=DRAINED.encode()).status == 3

    def test_when_it_begins(self, restow, tmp_path):
        (tmp_path / "s.yaml").write_text(DRAINED + "begins: 2026-01-01T00:00:00Z\n")
        now = ("--now", "2026-02-02T00:00:00Z")
        found = [
            result_of(restow("simulate", "-f", file, *arguments, "-o", "json"))["metadata"]["begins"]
            for file, arguments in (("s.yaml", ()), ("s.yaml", now), ("drained.yaml", now))
        ]
        assert found == ["2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z", "2026-02-02T00:00:00Z"]

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ((), "say what to simulate"),
            (("-f", "cluster.yaml"), "cluster.yaml does not say how long to simulate; use --for 24h or --until stable"),
            (("-f", "cluster.yaml", "--for", "0s"), "--for must be more than 0"),
            (("-f", "cluster.yaml", "--for", "soon"), 'invalid argument "soon" for "--for" flag'),
            (("-f", "nope.yaml"), "nope.yaml"),
            (("-f", "drained.yaml", "-f", "copy.yaml"), "drained.yaml and copy.yaml are scenarios"),
            (("-f", "odd.yaml", "--for", "1h"), "odd.yaml: Pod p: spec.priority: "),
            (("-f", "drained.yaml", "--now", "noon"), "--now: "),
            (("-f", "drained.yaml", "--policy-config-file", "cluster.yaml"), "cluster.yaml"),
            (("-f", "drained.yaml", "--policy-config-file", "high.yaml"), "high.yaml: unable to get priority value from the priority class"),
            (("-f", "-", "--policy-config-file", "-"), "standard input (-) can be read only once"),
            (("drained.yaml",), "did you mean -f drained.yaml?"),
        ],
        ids=["nothing", "no end", "no time", "no duration", "no file", "two", "odd object", "no now", "no policy", "no class", "two of one", "no -f"],
    )  # fmt: skip
    def test_what_cannot_be_used(self, restow, tmp_path, arguments, sentence):
        (tmp_path / "copy.yaml").write_text(DRAINED)
        (tmp_path / "odd.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {priority: high}\n")
        evictor = a_config("DefaultEvictor", {"priorityThreshold": {"name": "high"}})
        profile = a_profile(a_config("RemoveDuplicates"), evictor, balance=["RemoveDuplicates"])
        (tmp_path / "high.yaml").write_bytes(as_yaml(a_policy(profile)))
        ran = restow("simulate", *arguments)
        assert (ran.status, ran.out) == (2, "")
        assert sentence in ran.err

    def test_what_never_happens_is_warned_about_and_told(self, restow, tmp_path):
        (tmp_path / "s.yaml").write_text(DRAINED.replace("drain: n1", "drain: n9"))
        ran = restow("simulate", "-f", "s.yaml")
        assert ran.err.startswith("s.yaml:6: events[0].drain: there is no node/n9 when this happens")
        assert "10m  did not happen: events[0]: there is no node n9" in ran.out


def test_a_stateful_set_from_a_file_without_a_template_does_not_keep_a_run_from_ending(restow):
    """The API server refuses one whose selector does not match its template; the revisions of this one were endless."""
    cluster = Path(__file__).parents[2] / "examples" / "clusters" / "database.yaml"
    ran = restow("simulate", "-f", str(cluster), "--until", "stable", "-o", "json")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["summary"]["quietAfterSeconds"] is not None
