"""The front door: a program reads a cluster, plans, schedules and explains in a few lines."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import restow
from builders.policies import strategy_policy
from restow.errors import InputError

ROOT = Path(__file__).parents[2]
NOW = "2026-11-21T00:00:00Z"
SCREEN = 100
LINES = 10


@pytest.fixture(scope="module")
def cluster() -> restow.Cluster:
    return restow.Cluster.read(ROOT / "examples/clusters/demo.json")


@pytest.fixture(scope="module")
def plan(cluster: restow.Cluster) -> restow.Plan:
    return cluster.plan(ROOT / "examples/policies/demo.yaml", now=NOW)


def test_a_plan_is_the_one_of_the_command_line(plan: restow.Plan) -> None:
    files = ["-f", "examples/clusters/demo.json", "--policy-config-file", "examples/policies/demo.yaml"]
    command = [sys.executable, "-c", "from restow.cli.main import main; main()", "plan", *files, "--now", NOW]
    ran = subprocess.run([*command, "-o", "json"], cwd=ROOT, capture_output=True, check=True)
    assert json.loads(plan.to_json()) == json.loads(ran.stdout)
    assert [str(move.pod) for move in plan.moves] == [
        f"{move['pod']['namespace']}/{move['pod']['name']}" for move in json.loads(ran.stdout)["moves"]
    ]


def test_nothing_is_printed_and_warnings_are_returned(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    dump = {"kind": "List", "apiVersion": "v1", "items": [*_objects(), {"kind": "Odd", "apiVersion": "a/v1"}]}
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    odd = restow.Cluster.read(tmp_path / "dump.json")
    assert any("objects that restow does not read: 1 Odd" in each for each in odd.warnings)
    made = odd.plan()
    assert any("which the input lacks" in each for each in made.warnings)
    assert not any("does not read" in each for each in made.warnings)
    assert capfd.readouterr() == ("", "")


def _objects() -> list[dict[str, object]]:
    items = json.loads((ROOT / "examples/clusters/demo.json").read_bytes())["items"]
    return [each for each in items if each["kind"] in ("Node", "Pod")]


def test_what_cannot_be_used_is_an_error_in_one_sentence(cluster: restow.Cluster) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json"):
        restow.Cluster.read("nowhere.json")
    with pytest.raises(restow.errors.InputError, match="policy"):
        cluster.plan({"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": 1})
    with pytest.raises(InputError, match="the input holds no pod shop/nobody"):
        cluster.explain("shop/nobody")
    with pytest.raises(ValueError, match="no time zone"):
        cluster.plan(now=datetime(2026, 11, 21))  # noqa: DTZ001 - that is the mistake
    with pytest.raises(InputError, match="not of a live cluster"):
        cluster.plan(now=NOW).apply()


@pytest.mark.parametrize("form", ["path", "text", "object"])
def test_a_policy_is_a_path_a_text_or_an_object(cluster: restow.Cluster, form: str, tmp_path: Path) -> None:
    policy = strategy_policy("RemovePodsViolatingNodeTaints")
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    given = {"path": tmp_path / "policy.json", "text": json.dumps(policy).encode(), "object": policy}[form]
    moves = cluster.plan(given, now=datetime(2026, 11, 21, tzinfo=UTC)).moves
    assert {move.plugin for move in moves} == {"RemovePodsViolatingNodeTaints"}


def test_pending_pods_are_scheduled_and_each_says_why(cluster: restow.Cluster) -> None:
    schedule = cluster.schedule()
    assert len(schedule.pods) == 2
    assert all("nodes are available" in outcome.message for outcome in schedule.pods)


def test_a_pod_and_a_node_are_explained(cluster: restow.Cluster, plan: restow.Plan) -> None:
    policy = ROOT / "examples/policies/demo.yaml"
    pod = cluster.explain(str(plan.moves[0].pod), policy, now=NOW)
    assert plan.moves[0].plugin in str(pod)
    node = cluster.explain(plan.moves[0].source, policy, now=NOW)
    assert json.loads(node.to_json())["kind"] == "NodeExplanation"


def test_a_scenario_runs_in_a_cluster_and_says_what_was_met() -> None:
    made = restow.Cluster.generate(nodes=4, pods=20)
    simulation = made.simulate(policy=strategy_policy("RemoveDuplicates"), duration=timedelta(hours=1), now=NOW)
    assert json.loads(simulation.to_json())["metadata"]["seconds"] == 3600
    assert len(simulation.evictions) == len(json.loads(simulation.to_json())["evictions"])


def test_the_expectations_of_a_scenario_are_rows(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text(
        "apiVersion: restow.dev/v1alpha1\nkind: Scenario\nfor: 10m\nexpect:\n- always: {pods: ready, atLeast: 1}\n  after: 5m\n"
    )
    simulation = restow.Cluster.generate(nodes=4, pods=20).simulate(tmp_path / "scenario.yaml", now=NOW)
    assert [each.result for each in simulation.expectations] == ["met"]


def test_a_generated_cluster_is_the_same_every_time() -> None:
    one, other = (restow.Cluster.generate(nodes=5, seed=3) for _ in range(2))
    assert one.pods == other.pods
    assert len(one.nodes) == 5
    assert one.plan(now=NOW).to_json() == other.plan(now=NOW).to_json()


@pytest.mark.asyncio
async def test_a_plan_can_be_made_beside_an_event_loop(cluster: restow.Cluster) -> None:
    made = await cluster.plan_async(now=NOW)
    assert made.moves == cluster.plan(now=NOW).moves


def _values(cluster: restow.Cluster, plan: restow.Plan) -> Iterator[object]:
    yield from (cluster, cluster.nodes, cluster.pods, plan, plan.moves, plan.refusals, cluster.nodes[:3])
    schedule = cluster.schedule()
    yield from (schedule, schedule.pods, cluster.explain(str(plan.moves[0].pod)), plan.to_arrow())


def test_the_repr_of_everything_fits_a_screen(cluster: restow.Cluster, plan: restow.Plan) -> None:
    for value in _values(cluster, plan):
        lines = repr(value).splitlines()
        assert len(lines) <= LINES, value
        assert max(map(len, lines)) <= SCREEN + 30, value


def test_a_notebook_shows_a_page_in_a_frame_and_tables(cluster: restow.Cluster, plan: restow.Plan) -> None:
    assert plan._repr_html_().startswith("<iframe srcdoc=")
    assert "27 moves" in plan._repr_html_()
    shown = cluster.pods._repr_html_()
    assert shown.count("<tr>") == 21
    assert "... and 342 more" in shown


def test_the_import_takes_no_time_and_needs_nothing() -> None:
    program = "import sys, restow; assert restow.__version__; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {name.partition(".")[0] for name in found}.isdisjoint(
        {"numpy", "msgspec", "yaml", "rich", "aiohttp", "asyncio", "typing"}
    )


#: Changing one of these lines breaks programs of others: docs/reference/stability.md says what that needs.
NAMES = {
    "Applied": None,
    "Cluster": None,
    "Explanation": None,
    "NodeSummary": None,
    "Plan": None,
    "PodSummary": None,
    "Rows": None,
    "Schedule": None,
    "Simulation": None,
    "__version__": None,
    "errors": None,
}
SIGNATURES = {
    "Cluster.read": "(*paths, scheduler_version=None)",
    "Cluster.live": "(*, context=None, kubeconfig=None)",
    "Cluster.live_async": "(*, context=None, kubeconfig=None)",
    "Cluster.generate": "(*, nodes=30, pods=None, seed=1, profile='mixed')",
    "Cluster.plan": "(self, policy=None, *, placement=None, steering=None, scheduler_config=None, now=None)",
    "Cluster.plan_async": "(self, policy=None, **options)",
    "Cluster.plan_for": "(self, goal, *, budget=None, free='', pods=(), prices=None, scheduler_config=None, now=None)",
    "Cluster.schedule": "(self, pod=None, *, scheduler_config=None, now=None)",
    "Cluster.explain": "(self, name, policy=None, *, now=None)",
    "Cluster.simulate": "(self, scenario=None, policy=None, *, duration=None, until_stable=False, seed=None, now=None)",
    "Plan.apply": "(self, *, dry_run=False, lease='kube-system/descheduler')",
    "Plan.apply_async": "(self, *, dry_run=False, lease='kube-system/descheduler')",
    "Plan.to_arrow": "(self)",
    "Plan.to_html": "(self)",
    "Plan.to_json": "(self)",
    "Rows.to_arrow": "(self)",
    "Applied.to_json": "(self)",
    "Explanation.to_json": "(self)",
    "Schedule.to_arrow": "(self)",
    "Simulation.to_json": "(self)",
    "Simulation.to_html": "(self)",
}
ATTRIBUTES = {
    "Cluster": {"warnings", "nodes", "pods"},
    "Plan": {"warnings", "moves", "refusals", "goals", "summary", "problems", "notes"},
    "Schedule": {"warnings", "pods"},
    "Explanation": {"name", "warnings", "document"},
    "Applied": {"warnings", "is_kept", "moves", "summary"},
    "Simulation": {"warnings", "summary", "expectations", "evictions"},
}


def test_a_plan_for_a_goal_says_how_near_it_comes(cluster: restow.Cluster) -> None:
    made = cluster.plan_for("pack", budget=3, now=NOW)
    (goal,) = made.goals
    assert goal.after < goal.before
    assert len(made.moves) <= 3
    assert {move.steering for move in made.moves} == {"nominate"}
    with pytest.raises(restow.errors.InputError, match='goal: "tidy" is unknown'):
        cluster.plan_for("tidy", now=NOW)


def test_the_exported_names_are_these() -> None:
    assert sorted(restow.__all__) == sorted(NAMES)
    assert dir(restow) == sorted(NAMES)
    for name in NAMES:
        assert getattr(restow, name) is not None


def test_the_signatures_are_these() -> None:
    assert {name: _signature(name) for name in SIGNATURES} == SIGNATURES


def _signature(name: str) -> str:
    kind, _, method = name.partition(".")
    signature = inspect.signature(getattr(getattr(restow, kind), method))
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return str(inspect.Signature(bare))


def test_the_public_attributes_are_these() -> None:
    methods: dict[str, set[str]] = {kind: set() for kind in ATTRIBUTES}
    for name in SIGNATURES:
        kind, _, method = name.partition(".")
        if kind in methods:
            methods[kind].add(method)
    for kind, attributes in ATTRIBUTES.items():
        found = {name for name in dir(getattr(restow, kind)) if not name.startswith("_")}
        fields = {name for name in getattr(restow, kind).__annotations__ if not name.startswith("_")}
        assert found | fields == attributes | methods[kind], kind
