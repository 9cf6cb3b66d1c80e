"""The usage source of the how-to page works wherever usage is asked for, and no file of restow knows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from builders import RS, Object, pods_on, std_node
from builders.loopback import Loopback, Reply
from descheduler.hearing import Heard
from docs.console import agree, folder_for, output_of, runnable
from docs.usage_source_package import MODULE, PAGE, WITH_THE_SOURCE, installed
from restow.application.applying import read_order
from restow.client.resources import RESOURCES
from restow.cluster.usage_samples import UsageQuery
from restow.descheduler.loop import PolicySource
from restow.operator import soft_tainting
from restow.policies.fallbacks import Fallbacks
from restow.policies.policy import Policy
from restow.policies.usage import queries_of
from restow.serving.metrics import Metrics
from restow.simulating.scenarios.folder import Folder
from restow.usage.sources import usage_schemas

NAME = "Graphite"
QUERY = "aliasByNode(servers.*.cpu.busy, 1)"
LIVE = "restow plan --kubeconfig config.json --policy-config-file policy.yaml --steering none"
_KINDS = {resource.path(): kind for kind, resource in RESOURCES.items()}


class ClusterAndGraphite(Loopback):
    """An API server that only lists, and a Graphite with a value for each node, a minute old."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[str, list[Object]] = {
            "Node": [std_node(name, 4000, 3000, 100) for name in ("n1", "n2")],
            "Pod": pods_on("n1", "a", "b", "c", cpu="500m", owner=RS),
        }
        self.busy: dict[str, float] = {"n1": 95.0, "n2": 10.0}
        self.asked: list[dict[str, list[str]]] = []

    def reply(self, path: str, form: str) -> Reply:
        if path == "/render":
            asked = parse_qs(form)
            self.asked.append(asked)
            then = int(asked["until"][0])
            series = [
                {"target": name, "datapoints": [[value, then - 60], [None, then]]} for name, value in self.busy.items()
            ]
            return Reply(json.dumps(series).encode())
        if path == "/version":
            return Reply(b'{"major": "1", "minor": "36", "gitVersion": "v1.36.0"}')
        kind = _KINDS.get(path)
        if kind is None:
            return Reply(b'{"kind": "Status", "code": 404}', 404)
        items = self.objects.get(kind, [])
        return Reply(json.dumps({"kind": f"{kind}List", "metadata": {"resourceVersion": "1"}, "items": items}).encode())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The page's files, with its package installed."""
    with installed(tmp_path), folder_for(PAGE) as files:
        yield files


@pytest.fixture
def live(folder: Path) -> Iterator[ClusterAndGraphite]:
    """A cluster that the folder's files name, with its Graphite."""
    with ClusterAndGraphite() as server:
        config = {
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "contexts": [{"name": "c", "context": {"cluster": "c"}}],
            "current-context": "c",
        }
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        change(folder / "policy.yaml", "http://graphite.monitoring:8080", server.url)
        yield server


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def planned(folder: Path, command: str = LIVE) -> Object:
    told = output_of(f"{command} -o json > plan.json", folder)
    text = (folder / "plan.json").read_text(encoding="utf-8")
    assert text, told
    plan: Object = json.loads(text)
    return plan


def test_restow_does_not_know_the_source_by_itself() -> None:
    assert NAME not in usage_schemas()


def test_its_policy_is_found_as_the_page_shows(folder: Path) -> None:
    (example,) = runnable(PAGE, WITH_THE_SOURCE)
    printed = output_of(example.command, folder)
    assert agree(example.output, printed), printed


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param("url:", "uri:", 'unknown field "uri"; did you mean "url"?', id="unknown"),
        pytest.param("http://", "ftp://", "url must begin with http:// or https://", id="value"),
        pytest.param("busy, 1)", "busy, 1", "metricsUtilization.query: has unequal numbers of ( and )", id="query"),
        pytest.param(
            "source: Graphite\n            query", "source: Graphit\n            query", "Graphite", id="name"
        ),
    ],
)
def test_its_arguments_and_queries_are_checked_with_file_and_field(
    folder: Path, old: str, new: str, problem: str
) -> None:
    change(folder / "policy.yaml", old, new)
    for command in ("validate", "lint"):
        printed = output_of(f"restow policy {command} policy.yaml", folder)
        assert "policy.yaml" in printed
        assert problem in " ".join(printed.split())


def test_a_plan_of_a_live_cluster_goes_by_it(folder: Path, live: ClusterAndGraphite) -> None:
    plan = planned(folder)
    (asked,) = live.asked
    assert asked["target"] == [QUERY]
    assert int(asked["until"][0]) - int(asked["from"][0]) == 300
    assert [each["from"] for each in plan["moves"]] == ["n1", "n1"]
    assert plan["moves"][0]["reason"].startswith(f"n1 at MetricResource 95 % (Graphite {QUERY}, ")
    (usage,) = plan["usage"]
    assert (usage["source"], usage["query"], usage["problem"]) == (NAME, QUERY, "")
    assert [(each["node"], each["value"]) for each in usage["nodes"]] == [("n1", 0.95), ("n2", 0.1)]


def test_a_percentile_asks_for_a_window(folder: Path, live: ClusterAndGraphite) -> None:
    with (folder / "policy.yaml").open("a", encoding="utf-8") as file:
        file.write("restow: {usage: {percentile: 90, window: 2h}}\n")
    planned(folder)
    (asked,) = live.asked
    assert int(asked["until"][0]) - int(asked["from"][0]) == 7200


def test_usage_that_is_of_no_use_moves_nothing(folder: Path, live: ClusterAndGraphite) -> None:
    live.busy = {"n1": 950.0, "n2": 1.0}
    plan = planned(folder)
    assert plan["moves"] == []
    assert 'sample for "n1" has value 9.5 outside of <0; 1> interval' in plan["problems"][0]["message"]


def test_one_that_fails_is_a_problem_of_the_plan(tmp_path: Path, folder: Path, live: ClusterAndGraphite) -> None:
    change(tmp_path / f"{MODULE}.py", "/render?", "/nothing?")
    plan, problem = planned(folder), "error getting node usage: Graphite raised HTTPError: HTTP Error 404"
    assert plan["moves"] == live.asked == []
    assert plan["problems"][0]["message"].startswith(problem)
    assert plan["usage"][0]["problem"].startswith(problem)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        pytest.param("SOURCE =", "SOURCES =", "cannot be imported: AttributeError: module", id="not there"),
        pytest.param("UsageSourceSchema\n", "Schema\n", "cannot be imported: ImportError:", id="broken"),
        pytest.param("SOURCE = ", "SOURCE = 1 or ", "is no restow.usage.sources.UsageSource", id="a number"),
        pytest.param('Schema("Graphite"', 'Schema("graphite"', 'declares the source "graphite"; name', id="name"),
    ],
)
def test_a_broken_one_ends_in_a_sentence_about_the_package(
    tmp_path: Path, folder: Path, old: str, new: str, sentence: str
) -> None:
    change(tmp_path / f"{MODULE}.py", old, new)
    for command in ("plan -f examples/clusters/demo.json --policy-config-file", "policy validate"):
        (line,) = output_of(f"restow {command} policy.yaml", folder).splitlines()
        assert line.startswith(f"entry point restow.usage_sources: {NAME} {sentence}")


def test_a_broken_one_does_no_harm_where_no_policy_names_it(tmp_path: Path, folder: Path) -> None:
    (tmp_path / f"{MODULE}.py").write_text("raise ValueError", encoding="utf-8")
    assert '"kind": "Plan"' in output_of("restow plan -f examples/clusters/demo.json -o json", folder)


def a_dump(folder: Path) -> None:
    nodes = [std_node(name, 4000, 3000, 100) for name in ("n1", "n2")]
    pods = pods_on("n1", "a", "b", "c", cpu="500m", owner=RS)
    (folder / "dump.json").write_text("\n".join(map(json.dumps, [*nodes, *pods])), encoding="utf-8")


def test_of_a_dump_it_is_told_what_stands_in_for_it(folder: Path) -> None:
    a_dump(folder)
    command = "restow plan -f dump.json --policy-config-file policy.yaml --placement upstream"
    told = " ".join(output_of(f"{command} -o json > plan.json", folder).split())
    assert "LowNodeUtilization uses the answers of Graphite, which the input does not have: " in told
    assert "add -f usage.csv with lines of the resource share" in told
    lines = "n1,2026-11-21T00:00:00Z,share,0.95\nn2,2026-11-21T00:00:00Z,share,0.1\n"
    (folder / "usage.csv").write_text(f"node,time,resource,value\n{lines}", encoding="utf-8")
    plan = planned(folder, f"{command} -f usage.csv --now 2026-11-21T00:01:00Z")
    assert len(plan["moves"]) == 2


def test_apply_asks_it_too(folder: Path, live: ClusterAndGraphite) -> None:
    """What is asked follows from the policy that the plan holds."""
    planned(folder)
    assert queries_of(read_order(str(folder / "plan.json")).policy) == (UsageQuery(NAME, QUERY),)


READERS: dict[str, Callable[[str], Policy]] = {
    "run": lambda path: PolicySource.open(path, Fallbacks(), Heard(0).log, Metrics()).current,
    "simulate": lambda path: Folder(Path(path).parent).policy(Path(path).name).policy,
    "soft tainter": soft_tainting.read_policy,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_whoever_reads_a_policy_knows_it(folder: Path, read: Callable[[str], Policy]) -> None:
    assert queries_of(read(str(folder / "policy.yaml"))) == (UsageQuery(NAME, QUERY),)
