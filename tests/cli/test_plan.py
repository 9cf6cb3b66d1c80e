"""``restow plan``: one request in, one plan out, and nothing else on stdout."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from builders import NOW, a_list, a_node, a_pod
from builders.policies import a_config, a_policy, a_profile, as_yaml, strategy_policy
from restow.descheduling.plan import PlanDocument
from restow.reporting.curve_result import GoalCurve
from restow.sources.kubectl import USAGE

FORMS = {
    "table": "1 move, its gain is certain; 1 target certain",
    "wide": "GAIN",
    "json": '"kind": "Plan"',
    "yaml": "kind: Plan",
    "html": "<!doctype html>",
    "markdown": "**1 move, its gain is certain; 1 target certain**",
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


@pytest.mark.parametrize(("most", "status"), [(1, 3), (0, 0)])
def test_the_exit_code_says_whether_there_are_moves_if_it_is_asked_for(restow, cluster, tmp_path, most, status):
    path = tmp_path / "limited.yaml"
    path.write_bytes(as_yaml(strategy_policy("RemoveDuplicates", maxNoOfPodsToEvictTotal=most)))
    arguments = ["plan", "-f", str(cluster), "--policy-config-file", str(path), "--now", NOW, "-o", "json"]
    plan = json.loads(restow(*arguments).out)
    assert bool(plan["moves"]) == bool(most)
    assert restow(*arguments).status == 0
    assert restow(*arguments, "--exit-code").status == status


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        (strategy_policy("RemoveDuplicates"), {"moves": "the plan has 1 move"}),
        (strategy_policy("RemoveDuplicates", maxNoOfPodsToEvictTotal=0), {}),
        (
            strategy_policy("RemoveDuplicates", {"namespaces": {"include": ["none"]}}),
            {"problems": "the plan has 1 warning"},
        ),
    ],
)
def test_a_pipeline_names_what_it_does_not_want(restow, cluster, tmp_path, policy, found):
    path = tmp_path / "given.yaml"
    path.write_bytes(as_yaml(policy))
    arguments = ["plan", "-f", str(cluster), "--policy-config-file", str(path), "--now", NOW]
    for kind in ("problems", "possible", "moves", "loops"):
        ran = restow(*arguments, "--fail-on", kind)
        assert ran.status == (3 if kind in found else 0), kind
        assert (f"--fail-on {kind}: {found.get(kind)}" in ran.err) == (kind in found)
    ran = restow(*arguments, "--fail-on", "possible", "--fail-on", "moves", "--fail-on", "problems")
    assert ran.status == (3 if found else 0)


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
    assert ran.err.splitlines()[-1].startswith("LowNodeUtilization uses the answers of Prometheus at http://")
    assert ran.err.endswith(
        ", which the input does not have: plan the live cluster, without -f, or take the snapshot with --usage "
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


def uneven(tmp_path):
    """A dump of two nodes, one of which has all the pods; another one waits."""
    pods = [a_pod(f"web-{each}", node="n1", cpu="900m", owner=("ReplicaSet", "web")) for each in range(4)]
    waiting = a_pod("waits", cpu="3500m", owner=("ReplicaSet", "large"), phase="Pending")
    lists = {kind: f"{kind}List" for kind in ("PodDisruptionBudget", "Namespace", "ReplicaSet")}
    dump = a_list(a_node("n1"), a_node("n2", labels={"pool": "spot"}), *pods, waiting)
    (tmp_path / "cluster.json").write_bytes(msgspec.json.encode(dump))
    empty = [{"apiVersion": "policy/v1", "kind": name, "items": []} for name in lists.values()]
    (tmp_path / "empty.json").write_bytes(b"".join(map(msgspec.json.encode, empty[:1])))
    return ["-f", str(tmp_path / "cluster.json"), "-f", str(tmp_path / "empty.json"), "--now", NOW]


def test_a_goal_takes_the_place_of_a_policy(restow, tmp_path):
    ran = restow("plan", *uneven(tmp_path), "--goal", "balance", "--budget", "1", "-o", "json")
    plan = msgspec.json.decode(ran.out, type=PlanDocument)
    assert [(move.source, move.target, move.steering) for move in plan.moves] == [("n1", "n2", "nominate")]
    (goal,) = plan.goals
    assert goal.goal == "balance"
    assert goal.bound <= goal.after < goal.before
    assert plan.policy["profiles"][0]["pluginConfig"][1]["args"]["budget"] == 1


def test_a_table_says_how_near_the_plan_comes_to_its_goal(restow, tmp_path):
    ran = restow("plan", *uneven(tmp_path), "--goal", "pack", "--free", "pool=spot")
    assert "goal         pack, 0 -> 0 nodes in use; no plan is better" in ran.out


def test_room_is_made_for_the_pods_that_are_named(restow, tmp_path):
    ran = restow("plan", *uneven(tmp_path), "--goal", "room", "--for", "default/waits", "-o", "json")
    (goal,) = msgspec.json.decode(ran.out, type=PlanDocument).goals
    assert (goal.before, goal.after) == (0, 0)


def test_room_is_made_for_what_a_pod_would_request(restow, tmp_path):
    """Two pods leave the full node, or none would: the other one has room for three cores."""
    ran = restow("plan", *uneven(tmp_path), "--goal", "room", "--for", "3500m cpu", "-o", "json")
    (goal,) = msgspec.json.decode(ran.out, type=PlanDocument).goals
    assert (goal.before, goal.after) == (0, 0)


def test_prices_say_which_nodes_are_worth_to_be_emptied(restow, tmp_path):
    (tmp_path / "prices.yaml").write_text("prices:\n- {nodes: pool=spot, price: 0.25}\n")
    ran = restow("plan", *uneven(tmp_path), "--goal", "pack", "--prices", str(tmp_path / "prices.yaml"), "-o", "json")
    plan = msgspec.json.decode(ran.out, type=PlanDocument)
    assert plan.policy["profiles"][0]["pluginConfig"][1]["args"]["prices"] == [{"nodes": "pool=spot", "price": 0.25}]


class TestCurve:
    """``--curve``: a plan for each of several budgets."""

    def test_each_point_is_the_plan_of_its_budget(self, restow, tmp_path):
        cluster = uneven(tmp_path)
        ran = restow("plan", *cluster, "--goal", "balance", "--curve", "-o", "json")
        curve = msgspec.json.decode(ran.out, type=GoalCurve)
        assert [point.moves for point in curve.points] == [0, 1, 2]
        for point in curve.points:
            budget = ("--budget", str(point.budget))
            plan = msgspec.json.decode(
                restow("plan", *cluster, "--goal", "balance", *budget, "-o", "json").out, type=PlanDocument
            )
            assert (len(plan.moves), plan.goals[0].after) == (point.moves, point.value)

    def test_the_first_of_several_goals_makes_the_curve(self, restow, tmp_path):
        ran = restow("plan", *uneven(tmp_path), "--goal", "pack,balance", "--curve", "-o", "json")
        assert msgspec.json.decode(ran.out, type=GoalCurve).goal == "pack"

    def test_a_budget_ends_the_curve(self, restow, tmp_path):
        ran = restow("plan", *uneven(tmp_path), "--goal", "balance", "--budget", "1", "--curve", "-o", "json")
        assert [point.moves for point in msgspec.json.decode(ran.out, type=GoalCurve).points] == [0, 1]

    def test_a_table_has_a_line_for_each_point_and_says_how_to_get_its_plan(self, restow, tmp_path):
        lines = restow("plan", *uneven(tmp_path), "--goal", "balance", "--curve").out.splitlines()
        assert lines[0].startswith("goal     balance: points of standard deviation")
        assert [line.split()[:2] for line in lines[3:6]] == [["0", "0"], ["1", "1"], ["2", "2"]]
        assert "restow plan ... --goal balance --budget 1" in "\n".join(lines)

    def test_a_page_draws_it(self, restow, tmp_path):
        page = restow("plan", *uneven(tmp_path), "--goal", "balance", "--curve", "-o", "html").out
        assert page.startswith("<!doctype html>")
        assert page.count("<circle") == 3
        assert "restow plan ... --goal balance --budget 2" in page

    def test_where_nothing_is_worth_it_the_curve_is_one_point(self, restow, tmp_path):
        cluster = uneven(tmp_path)
        ran = restow("plan", *cluster, "--goal", "spread", "--curve", "-o", "json")
        assert [point.moves for point in msgspec.json.decode(ran.out, type=GoalCurve).points] == [0]
        assert "no move is worth it" in restow("plan", *cluster, "--goal", "spread", "--curve", "-o", "html").out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--goal", "pack,pack"], "goal: names a goal twice"),
        (["--curve"], "--curve shows what more moves are worth for a goal; add --goal, such as --goal balance"),
        (["--goal", "pack", "--curve", "-o", "wide"], "-o wide: a curve is shown as table, json, html"),
        (["--goal", "room", "--for", "default/none", "--curve"], "pods: no pod default/none waits for a node"),
        (["--goal", "room", "--for", "4x cpu"], '"4x" is not a quantity'),
        (["--goal", "room", "--for", "4 cpu,"], '"" is no request; write a quantity and a resource'),
        (["--prices", "p.yaml"], "--prices is part of a goal; add --goal, such as --goal balance"),
        (["--goal", "pack", "--prices", "none.yaml"], "none.yaml: No such file or directory"),
        (["--budget", "3"], "--budget is part of a goal; add --goal, such as --goal balance"),
        (["--free", "a=b"], "--free is part of a goal; add --goal, such as --goal balance"),
        (["--for", "a/b"], "--for is part of a goal; add --goal, such as --goal balance"),
        (["--goal", "pack:0+balance"], 'goal: "pack:0": a weight behind a colon is a number from 0.01 to 50'),
        (["--goal", "pack+balance,pack"], "goal: names a goal twice"),
        (["--goal", "tidy"], 'goal: "tidy" is unknown; choose one of balance, pack, room, spread'),
        (["--goal", "pack", "--free", "=,"], "free: "),
        (["--goal", "pack", "--policy-config-file", "p.yaml"], "--goal plans without a policy"),
    ],
)
def test_a_goal_that_cannot_be_planned_for_is_named(restow, tmp_path, arguments, sentence):
    ran = restow("plan", *uneven(tmp_path), *arguments)
    assert ran.status == 2
    assert sentence in ran.err
