"""``restow simulate --replay``: the cluster of a moment of a run, as a dump."""

from __future__ import annotations

import json

import pytest
import yaml

from builders import a_node, a_pdb
from builders.policies import as_yaml, strategy_policy
from restow.kube.manifests import document_of
from restow.kube.timestamps import SECOND, format_time, parse_time
from simulating.manifests import a_controller

SCENARIO = """\
apiVersion: restow.dev/v1alpha1
kind: Scenario
begins: 2026-11-21T00:00:00Z
for: 40m
start: [cluster.yaml]
events:
- {at: 9m, drain: n1}
- {at: 12m, uncordon: n1}
- {at: 22m, cordon: n2}
- {at: 23m, scale: deployment/web, to: 14}
- {at: 28m, uncordon: n2}
descheduler: {policy: policy.yaml, every: 5m, placement: PLACEMENT}
"""
MINUTE = 60


@pytest.fixture
def recorded(restow, tmp_path):
    """Simulates and keeps the result in run.json; returns the result."""
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}}, max_unavailable=2)
    objects = [*map(a_node, ("n1", "n2", "n3")), document_of(a_controller("Deployment", "web", 7)), budget]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(objects))
    (tmp_path / "policy.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates")))

    def ran(placement="prove", *arguments):
        (tmp_path / "s.yaml").write_text(SCENARIO.replace("PLACEMENT", placement))
        written = restow("simulate", *(arguments or ("-f", "s.yaml")), "-o", "json").out
        (tmp_path / "run.json").write_text(written)
        return json.loads(written)

    return ran


@pytest.fixture
def replayed(restow, tmp_path):
    """Writes the cluster of a time in seconds into then.json; returns its objects."""

    def ran(seconds):
        found = restow("simulate", "--replay", "run.json", "--at", f"{seconds}s")
        assert found.status == 0, found.err
        (tmp_path / "then.json").write_text(found.out)
        return json.loads(found.out)["items"]

    return ran


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_a_plan_of_the_dump_is_the_one_that_the_descheduler_made(recorded, replayed, restow, placement):
    """At each of its looks: the same pods, and where a target is told, their replacements came there."""
    result = recorded(placement)
    begins, moved = parse_time(result["metadata"]["begins"]), 0
    for look in range(5 * MINUTE, 40 * MINUTE, 5 * MINUTE):
        replayed(look)
        now = format_time(begins + look * SECOND)
        policy = ("--policy-config-file", "policy.yaml", "--placement", placement)
        plan = json.loads(restow("plan", "-f", "then.json", *policy, "--now", now, "-o", "json").out)
        made = [
            each for each in result["evictions"] if look <= each["at"] < look + 5 * MINUTE and each["by"] != "drain"
        ]
        refused = [each["pod"] for each in result["refusals"] if look <= each["at"] < look + 5 * MINUTE]
        wanted = [f"{each['pod']['namespace']}/{each['pod']['name']}" for each in plan["moves"]]
        assert sorted(wanted) == sorted([*(each["pod"] for each in made), *refused])
        if placement == "prove":
            assert [each["to"] for each in plan["moves"]] == [each["replacementNode"] for each in made]
        moved += len(made)
    assert moved >= 2


def test_what_happens_at_the_moment_has_not_happened(recorded, replayed):
    recorded()
    nodes = [
        {each["metadata"]["name"]: each.get("spec", {}) for each in replayed(at) if each["kind"] == "Node"}
        for at in (540, 541)
    ]
    assert [each["n1"].get("unschedulable", False) for each in nodes] == [False, True]


def test_the_start_is_what_the_scenario_brings(recorded, replayed):
    recorded()
    kinds = {each["kind"] for each in replayed(0)}
    assert {"Node", "Deployment", "PodList", "PodDisruptionBudget", "ReplicaSetList"} <= kinds


def test_the_dump_tells_of_everything_that_decisions_depend_on(recorded, replayed, restow):
    recorded()
    replayed(900)
    ran = restow("plan", "-f", "then.json", "--policy-config-file", "policy.yaml")
    assert (ran.status, ran.err) == (0, "")


def test_a_run_can_go_on_from_it(recorded, replayed, restow):
    recorded()
    replayed(900)
    ran = restow("simulate", "-f", "then.json", "--policy-config-file", "policy.yaml", "--until", "stable")
    assert (ran.status, ran.err) == (0, "")
    assert "3 nodes, 7 pods at the end" in ran.out


def test_it_says_what_it_is_and_how_to_plan(recorded, restow):
    recorded()
    assert restow("simulate", "--replay", "run.json", "--at", "15m").err == (
        "the cluster at 15m of the run: 3 nodes, 7 pods\n"
        "what the descheduler decides then: restow plan -f FILE --policy-config-file policy.yaml --placement prove "
        "--now 2026-11-21T00:15:00Z\n"
    )


def test_a_dump_with_a_policy_is_replayed_with_its_seed(recorded, restow):
    recorded("prove", "-f", "cluster.yaml", "--policy-config-file", "policy.yaml", "--for", "5m", "--seed", "9")
    ran = restow("simulate", "--replay", "run.json", "--at", "5m")
    assert (ran.status, len(json.loads(ran.out)["items"]) > 7) == (0, True)
    assert "--policy-config-file policy.yaml" in ran.err


def test_files_that_have_changed_are_named(recorded, restow, tmp_path):
    recorded()
    with (tmp_path / "cluster.yaml").open("a") as stream:
        stream.write("# more\n")
    (tmp_path / "policy.yaml").unlink()
    ran = restow("simulate", "--replay", "run.json", "--at", "15m")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == (
        "cluster.yaml has changed since run.json was made; simulate again, or bring the old file back\n"
        "run.json was made from policy.yaml, which is not there; replay it in the folder in which it was simulated\n"
    )


def test_a_run_that_comes_out_otherwise_is_refused(recorded, restow, tmp_path):
    """As it does with a restow that decides otherwise."""
    result = recorded()
    result["evictions"][0]["pod"] = "default/another"
    (tmp_path / "run.json").write_text(json.dumps(result))
    ran = restow("simulate", "--replay", "run.json", "--at", "15m")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("the run in run.json cannot be made again, other pods are evicted now")
    assert restow("simulate", "--replay", "run.json", "--at", "9m").status == 0


def test_a_scenario_from_a_pipe_cannot_be_replayed(recorded, restow, tmp_path):
    recorded()
    piped = restow("simulate", "-f", "-", "-o", "json", stdin=(tmp_path / "s.yaml").read_bytes()).out
    ran = restow("simulate", "--replay", "-", "--at", "1m", stdin=piped.encode())
    assert ran.err == (
        "standard input was made from standard input, which cannot be read again; simulate from files to replay a run\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--replay", "run.json"), "--replay needs --at"),
        (("--replay", "run.json", "--at", "41m"), "--at must be from 0s to 40m, the end of the run in run.json"),
        (("--replay", "cluster.yaml", "--at", "1m"), "cluster.yaml is not what restow simulate -o json writes"),
        (("--replay", "plan.json", "--at", "1m"), "plan.json is not what restow simulate -o json writes: its kind"),
        (("--replay", "nope.json", "--at", "1m"), "nope.json: No such file"),
        (("--replay", "run.json", "--at", "1m", "--seed", "3"), "--replay makes the run of RESULT again"),
        (("--replay", "run.json", "--at", "1m", "-o", "html"), "--replay makes the run of RESULT again"),
        (("-f", "s.yaml", "--at", "1m"), "--at goes with --replay"),
    ],
    ids=["no moment", "too late", "no result", "another document", "no file", "a seed", "a form", "no run"],
)
def test_what_cannot_be_used(recorded, restow, tmp_path, arguments, sentence):
    recorded()
    (tmp_path / "plan.json").write_text('{"kind": "Plan"}')
    ran = restow("simulate", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err
