"""``restow plan``: one request in, one plan out, and nothing else on stdout."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from builders import NOW, a_list, a_node, a_pod
from builders.policies import a_config, a_policy, a_profile, as_yaml, strategy_policy
from restow.descheduling.plan import PlanDocument
from restow.sources.kubectl import USAGE

FORMS = {
    "table": "1 move, its gain is certain; 1 target certain",
    "wide": "GAIN",
    "json": '"kind": "Plan"',
    "yaml": "kind: Plan",
    "html": "<!doctype html>",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_goes_to_stdout_and_nothing_to_stderr(restow, plan_arguments, form):
    ran = restow(*plan_arguments, "-o", form)
    assert (ran.status, ran.err) == (0, "")
    assert FORMS[form] in ran.out
    assert "web-1" in ran.out


@pytest.mark.parametrize("form", FORMS)
def test_the_same_input_and_time_give_the_same_bytes(restow, plan_arguments, form):
    assert restow(*plan_arguments, "-o", form) == restow(*plan_arguments, "-o", form)


def test_the_json_is_the_schema(restow, plan_arguments):
    plan = msgspec.json.decode(restow(*plan_arguments, "-o", "json").out, type=PlanDocument)
    assert [str(move.pod) for move in plan.moves] == ["default/web-1"]
    assert plan.metadata.generated_at == NOW
    assert plan.metadata.placement == "prove"
    assert [(move.source, move.target, move.certainty) for move in plan.moves] == [("n1", "n3", "certain")]


def test_timings_are_seconds_by_phase(restow, plan_arguments):
    timings = json.loads(restow(*plan_arguments, "-o", "json", "--timings").out)["metadata"]["timings"]
    assert list(timings) == ["load", "prove", "report"]
    assert all(0 <= seconds < 60 for seconds in timings.values())


def test_without_timings_there_are_none(restow, plan_arguments):
    assert "timings" not in json.loads(restow(*plan_arguments, "-o", "json").out)["metadata"]


def test_verbose_tells_the_phases_on_stderr(restow, plan_arguments):
    ran = restow(*plan_arguments, "-v", "1")
    assert re.fullmatch(r"load \d+\.\d\d s\nprove \d+\.\d\d s\nreport \d+\.\d\d s\n", ran.err)
    assert ran.out == restow(*plan_arguments).out


def test_without_a_policy_the_bundled_one_is_named(restow, cluster):
    ran = restow("plan", "-f", cluster)
    assert ran.status == 0
    assert "default-policy.yaml (bundled)" in ran.out
    assert "with your own policy" in ran.out


def test_without_a_time_it_is_the_clocks(restow, cluster):
    assert json.loads(restow("plan", "-f", cluster, "-o", "json").out)["metadata"]["generatedAt"] > "2026-"


class TestPlacement:
    """Moves are proven unless the command, or else the policy, wants what the Descheduler does."""

    @pytest.fixture
    def placement(self, restow, cluster, policy):
        def ran(*arguments, **settings):
            policy.write_bytes(as_yaml(strategy_policy("RemoveDuplicates", **settings)))
            found = restow("plan", "-f", cluster, "--policy-config-file", policy, "-o", "json", *arguments)
            plan = json.loads(found.out)
            return plan["metadata"]["placement"], [move["to"] for move in plan["moves"]]

        return ran

    def test_without_a_word_moves_are_proven(self, placement):
        assert placement() == ("prove", ["n3"])

    def test_the_command_says(self, placement):
        assert placement("--placement", "upstream") == ("upstream", [None])

    def test_the_policy_says(self, placement):
        assert placement(restow={"placement": "upstream"}) == ("upstream", [None])

    def test_the_command_goes_before_the_policy(self, placement):
        assert placement("--placement", "prove", restow={"placement": "upstream"}) == ("prove", ["n3"])

    def test_upstream_placement_has_a_phase_of_its_own(self, restow, plan_arguments):
        ran = restow(*plan_arguments, "--placement", "upstream", "-o", "json", "--timings")
        assert list(json.loads(ran.out)["metadata"]["timings"]) == ["load", "decide", "report"]


class TestNotes:
    """What is no part of the plan goes to stderr."""

    def test_what_the_input_holds_beside_the_cluster(self, restow, cluster, policy):
        other = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}})
        ran = restow(
            "plan", "-f", cluster, "-f", "-", "--policy-config-file", policy, "-o", "json", stdin=other.encode()
        )
        assert ran.err == "2 inputs: objects that restow does not read: 1 ConfigMap\n"
        json.loads(ran.out)

    def test_what_the_policy_says_in_vain(self, restow, cluster, policy):
        policy.write_bytes(as_yaml(strategy_policy("RemoveDuplicates", tracing={})))
        ran = restow("plan", "-f", cluster, "--policy-config-file", policy)
        assert ran.status == 0
        assert (
            ran.err == f'{policy}:3: tracing: unknown key "tracing" is ignored; tracing is set by the --otel-* flags\n'
        )

    def test_a_misspelled_key_is_refused(self, restow, cluster, policy):
        policy.write_bytes(as_yaml(strategy_policy("RemoveDuplicates", nodeSelektor="a=b")))
        ran = restow("plan", "-f", cluster, "--policy-config-file", policy)
        assert (ran.status, ran.out) == (2, "")
        assert (
            ran.err
            == f'{policy}:3: nodeSelektor: unknown key "nodeSelektor" is ignored; did you mean "nodeSelector"?\n'
        )

    @pytest.mark.parametrize("text", [b"", b"{}", as_yaml(a_policy())], ids=["nothing", "a mapping", "no profiles"])
    def test_an_empty_policy_is_refused_from_standard_input_too(self, restow, cluster, text):
        ran = restow("plan", "-f", cluster, "--policy-config-file", "-", stdin=text)
        assert (ran.status, ran.out) == (2, "")
        (line,) = ran.err.splitlines()
        assert line.startswith("standard input:")

    @pytest.mark.parametrize(("form", "told"), [("table", 0), ("json", 1)])
    def test_that_there_are_too_few_nodes(self, restow, policy, form, told):
        dump = json.dumps(a_list(a_node("n1"), a_pod("p", node="n1"))).encode()
        ran = restow("plan", "-f", "-", "--policy-config-file", policy, "-o", form, stdin=dump)
        assert ran.status == 0
        assert ran.err.count("requires >=2 nodes") == told

    def test_a_strategy_that_could_not_work(self, restow, cluster, policy):
        low = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}, "metricsUtilization": {"source": "X"}}
        policy.write_bytes(as_yaml(strategy_policy("LowNodeUtilization", low)))
        ran = restow("plan", "-f", cluster, "--policy-config-file", policy, "-o", "json")
        assert ran.status == 1
        (problem,) = json.loads(ran.out)["problems"]
        assert ran.err == f"P/LowNodeUtilization: {problem['message']}\n"


UTILISATION = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}
MEASURED = UTILISATION | {"metricsUtilization": {"source": "KubernetesMetrics"}}


@pytest.fixture
def plan_of(restow, tmp_path, policy, plan_arguments):
    """The plan of another policy for the same cluster."""

    def made(made_of, *more):
        (tmp_path / "other.yaml").write_bytes(as_yaml(made_of))
        arguments = ["other.yaml" if each == str(policy) else each for each in plan_arguments]
        return restow(*arguments, *more)

    return made


def test_strategies_that_are_configured_and_not_enabled_are_named(plan_of):
    """Whoever forgets plugins hears so, where before there was only nothing to move."""
    idle = (a_config("RemoveDuplicates"), a_config("LowNodeUtilization", UTILISATION))
    ran = plan_of(a_policy(a_profile(*idle, a_config("RemoveFailedPods"), deschedule=["RemoveFailedPods"])))
    told = " ".join(ran.out.split())
    assert "no enabled strategy found a pod to move; RemoveDuplicates and LowNodeUtilization are" in told
    assert "RemoveDuplicates: configured, but not enabled: add it to plugins.balance.enabled" in told


def test_the_json_names_them_too(plan_of):
    idle = a_config("RemoveDuplicates")
    policy = a_policy(a_profile(idle, a_config("RemoveFailedPods"), deschedule=["RemoveFailedPods"]))
    assert json.loads(plan_of(policy, "-o", "json").out)["notes"] == [
        {
            "profile": "P",
            "plugin": "RemoveDuplicates",
            "message": "configured, but not enabled: add it to plugins.balance.enabled",
        }
    ]


@pytest.mark.parametrize("form", ["table", "json", "html"])
def test_what_matches_nothing_is_noted_in_the_plan_and_on_stderr(plan_of, form):
    ran = plan_of(
        strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 1, "namespaces": {"include": ["nope"]}}), "-o", form
    )
    assert ran.status == 0
    message = 'namespaces.include: the input has no namespace "nope"'
    assert ran.err == f"P/PodLifeTime: {message}\n"
    if form == "json":
        assert message in [each["message"] for each in json.loads(ran.out)["notes"]]


def test_usage_that_the_input_does_not_hold_comes_with_the_commands_that_get_it(plan_of):
    ran = plan_of(strategy_policy("LowNodeUtilization", MEASURED, metricsProviders=[{"source": "KubernetesMetrics"}]))
    assert ran.status == 1
    assert ran.err.splitlines()[-1] == (
        f"LowNodeUtilization needs usage metrics, but the input has none for 3 nodes: run {USAGE}, then add -f usage.json"
    )


def test_a_policy_that_names_no_source_of_usage_is_told_how_to(plan_of):
    ran = plan_of(strategy_policy("LowNodeUtilization", MEASURED))
    assert ran.err.splitlines()[-1] == (
        "LowNodeUtilization needs usage metrics, but the policy names no source for them: "
        "add metricsProviders: [{source: KubernetesMetrics}]"
    )


def test_what_a_prometheus_tells_is_missing_in_a_dump_and_the_plan_says_what_to_do(plan_of):
    source = {"metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "load"}}}
    args = {"thresholds": {"MetricResource": 20}, "targetThresholds": {"MetricResource": 50}} | source
    provider = {"source": "Prometheus", "prometheus": {"url": "http://me:secret@prometheus:9090"}}
    ran = plan_of(strategy_policy("LowNodeUtilization", args, metricsProviders=[provider]))
    assert ran.status == 1
    assert "error initializing usage client: prometheus client not initialized" in ran.err
    assert ran.err.splitlines()[-1].startswith("LowNodeUtilization goes by what Prometheus at http://")
    assert ran.err.endswith(
        "tells, which the input does not hold: plan the live cluster, without -f, or take the snapshot with --usage "
        "and this --policy-config-file\n"
    )
    assert "secret" not in ran.err


@pytest.mark.parametrize("output", ["json", "html", "yaml"])
def test_no_plan_shows_the_password_of_a_prometheus(plan_of, output):
    provider = {"source": "Prometheus", "prometheus": {"url": "http://me:s3cret@prometheus:9090"}}
    ran = plan_of(strategy_policy("RemoveDuplicates", metricsProviders=[provider]), "-o", output)
    assert (ran.status, "s3cret" in ran.out) == (0, False)
    assert "prometheus:9090" in ran.out


def test_usage_that_is_not_asked_for_is_not_missed(plan_of):
    assert plan_of(strategy_policy("LowNodeUtilization", UTILISATION)).err == ""


def test_every_problem_of_a_policy_is_named(plan_of):
    policy = a_policy(a_profile(a_config("RemoveDuplicates", {"a": 1}), a_config("Zed")), nodeSelector="a in b")
    ran = plan_of(policy)
    assert (ran.status, ran.out) == (2, "")
    assert [line.split(": ")[1] for line in ran.err.splitlines()] == [
        "profiles[0].pluginConfig[0].args.a",
        "profiles[0].pluginConfig[1].name",
        "nodeSelector",
    ]


@pytest.mark.parametrize("now", ["1969-07-20T20:17:40Z", "1678-01-01T00:00:00Z", "2262-01-01T00:00:00Z"])
def test_any_time_that_can_be_written_has_a_plan(restow, cluster, tmp_path, now):
    configs = a_config("PodLifeTime", {"maxPodLifeTimeSeconds": 5}), a_config("DefaultEvictor", {"minPodAge": "5m"})
    policy = a_policy(a_profile(*configs, deschedule=["PodLifeTime"]))
    (tmp_path / "ages.yaml").write_bytes(as_yaml(policy))
    ran = restow("plan", "-f", cluster, "--policy-config-file", "ages.yaml", "--now", now, "-o", "json")
    assert (ran.status, json.loads(ran.out)["metadata"]["generatedAt"]) == (0, now)


class TestSteeringNote:
    """A plan whose moves the scheduler would spoil says what steering would change."""

    NOTE = (
        "Steering would make 2 moves instead of 0: --steering nominate; docs/how-to/steer.md has the objects to install"
    )

    @pytest.mark.parametrize("form", ["table", "wide", "html"])
    def test_people_read_it(self, restow, one_to_be_emptied, form):
        assert self.NOTE in " ".join(restow("plan", *one_to_be_emptied, "-o", form).out.split())

    @pytest.mark.parametrize("form", ["json", "yaml"])
    def test_programs_do_not_wait_for_it(self, restow, one_to_be_emptied, form):
        ran = restow("plan", *one_to_be_emptied, "-o", form)
        assert "Steering would" not in ran.out + ran.err

    @pytest.mark.parametrize("asked", [("--steering", "nominate"), ("--steering", "none"), ("--placement", "upstream")])
    def test_who_has_chosen_is_not_told(self, restow, one_to_be_emptied, asked):
        assert "Steering would" not in restow("plan", *one_to_be_emptied, *asked).out

    def test_a_policy_that_wants_none_is_not_told(self, restow, one_to_be_emptied, tmp_path):
        settled = strategy_policy("HighNodeUtilization", {"thresholds": {"cpu": 30}}, restow={"steering": "none"})
        (tmp_path / "none.yaml").write_bytes(as_yaml(settled))
        ran = restow("plan", *one_to_be_emptied[:2], "--policy-config-file", tmp_path / "none.yaml", "--now", NOW)
        assert "Nothing to move" in ran.out
        assert "Steering would" not in ran.out

    def test_moves_that_are_made_anyway_need_no_steering(self, restow, plan_arguments):
        assert "Steering would" not in restow(*plan_arguments).out

    def test_what_it_does_is_what_it_said(self, restow, one_to_be_emptied):
        assert (
            "2 moves, the gain of all is certain; 2 targets steered"
            in restow("plan", *one_to_be_emptied, "--steering", "nominate").out
        )
