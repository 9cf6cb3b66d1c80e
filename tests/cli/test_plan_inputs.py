"""What ``restow plan`` is given: from where, what it does not hold, and what cannot be used."""

from __future__ import annotations

import gzip
import json

import pytest

from builders import a_list, a_node
from builders.policies import a_config, a_policy, a_profile, as_yaml, strategy_policy
from cli.conftest import two_of_three_on_one_node
from restow.sources.kubectl import DUMP


class TestWhatTheInputDoesNotTell:
    """Nodes and pods alone prove nothing; the command that adds the rest is told."""

    @pytest.fixture
    def ran(self, restow, tmp_path, policy):
        (tmp_path / "few.json").write_text(json.dumps(a_list(*two_of_three_on_one_node()[:6])))
        return lambda form: restow("plan", "-f", "few.json", "--policy-config-file", policy, "-o", form)

    def test_nothing_moves_and_a_line_says_what_to_add(self, ran):
        table = ran("table")
        assert table.status == 0
        assert "Nothing to move: 1 of 1 candidate depends on data missing from the input" in table.out
        assert table.err.count("\n") == 1
        assert "kubectl get --raw /apis/policy/v1/poddisruptionbudgets) > more.json" in table.err

    def test_the_page_says_it_too(self, ran):
        assert "poddisruptionbudgets) &gt; more.json" in ran("html").out


class TestInputs:
    @pytest.fixture
    def moves(self, restow, policy):
        def ran(*arguments, **options):
            found = restow("plan", *arguments, "--policy-config-file", policy, "-o", "json", **options)
            assert (found.status, found.err) == (0, "")
            return [move["pod"]["name"] for move in json.loads(found.out)["moves"]]

        return ran

    @pytest.fixture
    def halves(self, tmp_path):
        """Nodes and pods in files of their own, in one folder."""
        objects = two_of_three_on_one_node()
        folder = tmp_path / "dumps"
        folder.mkdir()
        nodes, pods = folder / "nodes.json", folder / "pods.json.gz"
        nodes.write_text(json.dumps(a_list(*objects[:3])))
        pods.write_bytes(gzip.compress(json.dumps(a_list(*objects[3:])).encode()))
        return nodes, pods

    def test_several_files(self, moves, halves):
        assert moves("-f", halves[0], "-f", halves[1]) == ["web-1"]
        assert moves(f"--filename={halves[0]}", f"-f{halves[1]}") == ["web-1"]

    def test_a_directory(self, moves, halves):
        assert moves("-f", halves[0].parent) == ["web-1"]

    def test_standard_input(self, moves, cluster):
        assert moves("-f", "-", stdin=cluster.read_bytes()) == ["web-1"]

    def test_standard_input_and_a_file(self, moves, halves):
        assert moves("-f", "-", "-f", halves[1], stdin=halves[0].read_bytes()) == ["web-1"]

    def test_the_policy_from_standard_input(self, restow, cluster, policy):
        ran = restow("plan", "-f", cluster, "--policy-config-file", "-", stdin=policy.read_bytes())
        assert ran.status == 0
        assert "standard input   RemoveDuplicates" in ran.out

    @pytest.mark.parametrize(
        ("inputs", "name"), [(["dumps"], "dumps"), (["dumps/nodes.json", "dumps/pods.json.gz"], "2 inputs")]
    )
    def test_the_table_says_where_the_cluster_came_from(self, restow, halves, inputs, name):
        ran = restow("plan", *(part for each in inputs for part in ("-f", each)))
        assert ran.out.startswith(f"cluster  3 nodes, 3 pods   {name}\n")


class TestUnusable:
    """Exit status 2 and a sentence that names file, object and field."""

    @pytest.fixture
    def complaint(self, restow):
        def ran(*arguments, **options):
            found = restow("plan", *arguments, **options)
            assert (found.status, found.out) == (2, "")
            assert found.err.endswith("\n")
            return found.err.removesuffix("\n")

        return ran

    def test_no_input(self, complaint, tmp_path):
        assert complaint() == (
            f"no cluster: {tmp_path}/.kube/config does not exist, and restow does not run in a pod; name a file with --kubeconfig, "
            f"or a dump: {DUMP}, then -f cluster.json, or pipe it in with -f -"
        )

    def test_a_file_that_is_not_there(self, complaint):
        assert complaint("-f", "nope.json") == "nope.json: no such file or directory"

    def test_a_file_that_is_no_cluster(self, complaint, policy):
        assert "no nodes and no pods" in complaint("-f", policy)

    def test_nodes_without_pods(self, complaint):
        dump = json.dumps(a_list(a_node("n1"), a_node("n2"))).encode()
        told = complaint("-f", "-", stdin=dump)
        assert told.startswith("standard input holds ")
        assert told.endswith("add -f pods.json after kubectl get -A -o json pods > pods.json")

    def test_every_unreadable_input_is_told(self, complaint, cluster):
        assert complaint("-f", "a", "-f", cluster, "-f", "b").count("\n") == 1

    def test_standard_input_twice(self, complaint):
        once = "standard input (-) can be read only once; put the other input into a file"
        assert complaint("-f", "-", "-f", "-") == once
        assert complaint("-f", "-", "--policy-config-file", "-") == once

    def test_a_policy_that_is_not_there(self, complaint, cluster):
        told = complaint("-f", cluster, "--policy-config-file", "nope.yaml")
        assert told == "nope.yaml: No such file or directory"

    def test_a_policy_that_upstream_would_refuse(self, complaint, cluster, policy):
        low = {"tresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}
        text = as_yaml(a_policy(a_profile(a_config("LowNodeUtilization", low), balance=["LowNodeUtilization"])))
        policy.write_bytes(text)
        line = text.decode().split("\n").index("      tresholds:") + 1
        assert complaint("-f", cluster, "--policy-config-file", policy) == (
            f"{policy}:{line}: profiles[0].pluginConfig[0].args.tresholds: "
            'unknown field "tresholds" of LowNodeUtilization; did you mean "thresholds"?'
        )

    def test_a_time_that_is_none(self, complaint, cluster):
        assert complaint("-f", cluster, "--now", "yesterday").startswith('--now: "yesterday" is not a time')

    def test_a_placement_that_does_not_exist(self, complaint, cluster, policy):
        assert '"prove", "upstream"' in complaint("-f", cluster, "--placement", "guess")
        policy.write_bytes(as_yaml(strategy_policy("RemoveDuplicates", restow={"placement": "guess"})))
        assert "restow.placement" in complaint("-f", cluster, "--policy-config-file", policy)

    def test_a_priority_class_that_the_cluster_does_not_have(self, complaint, cluster, policy):
        evictor = a_config("DefaultEvictor", {"priorityThreshold": {"name": "gold"}})
        profile = a_profile(evictor, a_config("RemoveDuplicates"), balance=["RemoveDuplicates"])
        policy.write_bytes(as_yaml(a_policy(profile)))
        told = complaint("-f", cluster, "--policy-config-file", policy)
        assert told.startswith(f"{policy}: ")
        assert '"gold" not found' in told
