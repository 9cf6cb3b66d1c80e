"""When nodes are judged, by which policy, and what becomes of their taints when something is missing."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from builders.json_patches import patched_taints
from builders.kubedeschedulers import INSTALLED, OPENSHIFT, a_kubedescheduler, an_object
from client.double import Double, a_double, a_status, an_answer, an_api
from restow.daemon.logs import Log
from restow.descheduling.plugins.low_node_utilization import LowNodeUtilizationArgs
from restow.errors import ClientError, InputError
from restow.operator.desired import desired
from restow.operator.resource import NAMESPACE
from restow.operator.soft_tainting import LOOK, SoftTainting, keys_of, node_states, read_policy, tainting_policy
from restow.operator.soft_taints import APPROPRIATE, EFFECT, OVERUTILIZED
from restow.serving.health import Health

KUBEVIRT = "KubeVirtRelieveAndMigrate"
NODES = "/api/v1/nodes"
RESOURCE = f"/apis/operator.openshift.io/v1/namespaces/{NAMESPACE}/kubedeschedulers/cluster"
SOFT = {"key": OVERUTILIZED, "value": "true", "effect": EFFECT}

BOTH = frozenset({APPROPRIATE, OVERUTILIZED})
#: What a node bears, in a letter: none, the taint of appropriate use, both.
LETTERS = {frozenset(): "-", frozenset({APPROPRIATE}): "A", BOTH: "O"}


def a_node(name: str, *taints: Any, labels: Any = None, cordoned: bool = False) -> dict[str, Any]:
    spec: dict[str, Any] = {"taints": [*taints]} if taints else {}
    labels = {"kubevirt.io/schedulable": "true"} if labels is None else labels
    return {"metadata": {"name": name, "labels": labels}, "spec": spec | ({"unschedulable": True} if cordoned else {})}


class Scene:
    """A soft tainter whose cluster and whose Prometheus say what they are told to."""

    def __init__(self, double: Double, api: Any, directory: Path) -> None:
        self.double, self.stream, self.health = double, io.StringIO(), Health()
        self.usage: Mapping[str, float] | ClientError = {}
        self.policy = directory / "policy.yaml"
        self.write_policy(KUBEVIRT)
        log = Log(self.stream, "sentences")
        self.tainting = SoftTainting(api, NAMESPACE, str(self.policy), self._usage, log, self.health)
        self.asked = 0
        self.before: dict[str, list[Any]] = {}

    def write_policy(self, *profiles: str) -> None:
        thing = a_kubedescheduler(*profiles, custom={"devLowNodeUtilizationThresholds": "Medium"})
        self.policy.write_text(desired(thing, OPENSHIFT, INSTALLED).policy)

    def resource(self, *profiles: str, **settings: Any) -> None:
        self.double.answers("GET", RESOURCE, an_answer(an_object(*(profiles or (KUBEVIRT,)), **settings)))

    def nodes(self, *nodes: Any) -> None:
        self.double.answers(
            "GET", NODES, an_answer({"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": [*nodes]})
        )
        for node in nodes:
            self.before[node["metadata"]["name"]] = node["spec"].get("taints", [])
            self.double.answers("PATCH", f"{NODES}/{node['metadata']['name']}", an_answer({}))

    async def _usage(self, _policy: Any, _query: str) -> Mapping[str, float]:
        self.asked += 1
        if isinstance(self.usage, ClientError):
            raise self.usage
        return self.usage

    @property
    def patches(self) -> dict[str, Any]:
        """The keys of the taints that each node has after its patch."""
        patches = {asked.path.rpartition("/")[2]: asked.json for asked in self.double.asked if asked.method == "PATCH"}
        return {
            node: [each["key"] for each in patched_taints(self.before[node], patch)] for node, patch in patches.items()
        }


@pytest_asyncio.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with a_double() as double, an_api(double.url) as api:
        yield Scene(double, api, tmp_path)


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_busy_nodes_get_taints_and_idle_ones_lose_them(scene):
    scene.resource(mode="Automatic")
    scene.nodes(a_node("idle", SOFT), a_node("fair"), a_node("busy"))
    scene.usage = {"idle": 0.1, "fair": 0.3, "busy": 0.9}
    await scene.tainting.look()
    assert scene.patches == {"idle": [], "fair": [APPROPRIATE], "busy": [APPROPRIATE, OVERUTILIZED]}
    assert "Soft taints changed" in scene.stream.getvalue()
    assert scene.health.waiting_for == ""


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_nodes_that_the_policy_does_not_select_bear_none_and_need_no_figure(scene):
    scene.resource(mode="Automatic")
    scene.nodes(a_node("other", SOFT, labels={}), a_node("idle"))
    scene.usage = {"idle": 0.1}
    await scene.tainting.look()
    assert scene.patches == {"other": []}


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_a_cordoned_node_is_no_room(scene):
    scene.resource(mode="Automatic")
    scene.nodes(a_node("idle", cordoned=True), a_node("fair"))
    scene.usage = {"idle": 0.1, "fair": 0.3}
    await scene.tainting.look()
    assert scene.patches == {}


@pytest.mark.parametrize(
    "settings",
    [{"mode": "Predictive"}, {"mode": "Automatic", "managementState": "Removed"}],
    ids=["Predictive", "Removed"],
)
@pytest.mark.asyncio
@pytest.mark.looptime
async def test_where_nothing_is_moved_taints_go_and_nobody_is_asked(scene, settings):
    scene.resource(**settings)
    scene.nodes(a_node("a", SOFT))
    await scene.tainting.look()
    assert (scene.patches, scene.asked) == ({"a": []}, 0)


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_another_profile_takes_them_off(scene):
    scene.resource("LongLifecycle", mode="Automatic")
    scene.nodes(a_node("a", SOFT))
    await scene.tainting.look()
    assert scene.patches == {"a": []}


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_without_a_resource_they_go(scene):
    scene.nodes(a_node("a", SOFT))
    await scene.tainting.look()
    assert scene.patches == {"a": []}


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_a_resource_that_is_about_to_go_counts_as_gone(scene):
    thing = an_object(KUBEVIRT, mode="Automatic")
    thing["metadata"]["deletionTimestamp"] = "2026-11-22T00:00:00Z"
    scene.double.answers("GET", RESOURCE, an_answer(thing))
    scene.nodes(a_node("a", SOFT))
    await scene.tainting.look()
    assert scene.patches == {"a": []}


@pytest.mark.parametrize("after", ["Predictive", "gone"])
@pytest.mark.asyncio
@pytest.mark.looptime
async def test_a_resource_that_is_switched_off_while_prometheus_answers_gets_no_taints(scene, after):
    scene.resource(mode="Automatic")
    if after == "gone":
        scene.double.answers("GET", RESOURCE, a_status(404, "NotFound"))
    else:
        scene.resource(mode="Predictive")
    scene.nodes(a_node("idle"), a_node("busy"), a_node("old", SOFT))
    scene.usage = {"idle": 0.1, "busy": 0.9, "old": 0.9}
    await scene.tainting.look()
    assert (scene.asked, scene.patches) == (1, {"old": []})


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_while_prometheus_is_away_taints_stay(scene):
    scene.resource(mode="Automatic")
    scene.nodes(a_node("a", SOFT))
    scene.usage = ClientError("Prometheus is away")
    for _ in range(3):
        await scene.tainting.look()
    assert scene.patches == {}
    # Told once, however often it is tried.
    assert scene.stream.getvalue().count("Prometheus is away") == 1
    assert scene.asked == 3
    assert scene.health.waiting_for == "Prometheus is away"


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_a_node_without_a_figure_leaves_all_as_they_are(scene):
    scene.resource(mode="Automatic")
    scene.nodes(a_node("a", SOFT), a_node("b"))
    scene.usage = {"b": 0.9}
    await scene.tainting.look()
    assert scene.patches == {}
    assert "unable to find metric entry for a, query: " in scene.stream.getvalue()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_an_api_server_that_is_away_says_nothing_of_the_resource(scene):
    scene.double.answers("GET", RESOURCE, a_status(403, "Forbidden", "no"))
    scene.nodes(a_node("a", SOFT))
    await scene.tainting.look()
    assert scene.patches == {}


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_nodes_are_judged_once_an_interval_and_when_the_resource_changes(scene):
    # A judgement looks twice.
    for _ in range(5):
        scene.resource(mode="Automatic", deschedulingIntervalSeconds=60)
    scene.resource(mode="Automatic", deschedulingIntervalSeconds=90)
    scene.nodes(a_node("a"))
    scene.usage = {"a": 0.1}
    judged = []
    for _ in range(16):
        await scene.tainting.look()
        judged.append(scene.asked)
        await asyncio.sleep(LOOK)
    # At 0 s; at 40 s another spec; 90 s after that.
    assert judged == [1, 1, 1, 1, *[2] * 9, *[3] * 3]


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_what_could_not_be_written_is_tried_again(scene):
    scene.resource(mode="Automatic")
    scene.double.answers("PATCH", f"{NODES}/busy", a_status(403, "Forbidden", "no"))
    scene.nodes(a_node("idle"), a_node("busy"))
    scene.usage = {"idle": 0.1, "busy": 0.9}
    await scene.tainting.look()
    await scene.tainting.look()
    assert len([asked for asked in scene.double.asked if asked.method == "PATCH"]) == 2
    assert "the soft taints of busy cannot be changed" in scene.stream.getvalue()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_a_new_policy_file_counts_from_the_next_judgement_on(scene):
    scene.resource(mode="Automatic")
    scene.nodes(a_node("a", SOFT))
    scene.write_policy("LongLifecycle")
    await scene.tainting.look()
    assert (scene.patches, scene.asked) == ({"a": []}, 0)


class TestPolicy:
    @pytest.mark.asyncio
    @pytest.mark.looptime
    async def test_the_strategy_of_the_profile_for_virtual_machines_counts(self, scene):
        found = tainting_policy(read_policy(str(scene.policy)))
        assert found is not None
        assert found.args.target_thresholds == {"MetricResource": 50}
        assert found.query.startswith("descheduler:node:")

    @pytest.mark.asyncio
    @pytest.mark.looptime
    async def test_other_profiles_do_not(self, scene):
        scene.write_policy("LongLifecycle")
        assert tainting_policy(read_policy(str(scene.policy))) is None

    @pytest.mark.asyncio
    @pytest.mark.looptime
    async def test_one_that_asks_nobody_is_refused(self, scene):
        scene.policy.write_text(
            "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: KubeVirtRelieveAndMigrate\n"
            "  pluginConfig:\n  - name: LowNodeUtilization\n    args: {thresholds: {cpu: 1}, targetThresholds: {cpu: 2}}\n"
            "  plugins: {balance: {enabled: [LowNodeUtilization]}}\n"
        )
        with pytest.raises(InputError, match="soft taints go by Prometheus"):
            tainting_policy(read_policy(str(scene.policy)))

    @pytest.mark.asyncio
    @pytest.mark.looptime
    async def test_no_file(self, tmp_path):
        with pytest.raises(InputError, match=r"none\.yaml: No such file or directory \(--policy-config-file\)"):
            read_policy(str(tmp_path / "none.yaml"))


def args(low: int, high: int, *, deviation: bool) -> LowNodeUtilizationArgs:
    return LowNodeUtilizationArgs(
        use_deviation_thresholds=deviation,
        thresholds={"MetricResource": low},
        target_thresholds={"MetricResource": high},
    )


def usage(*percents: float) -> dict[str, float]:
    return {f"n{at}": percent / 100 for at, percent in enumerate(percents)}


def letters(
    percents: tuple[float, ...], low: int, high: int, *, deviation: bool, cordoned: tuple[str, ...] = ()
) -> str:
    keys = keys_of(node_states(usage(*percents), cordoned, args(low, high, deviation=deviation)))
    return "".join(LETTERS[keys[node]] for node in sorted(keys))


@pytest.mark.parametrize(
    ("span", "percents", "expected"),
    [
        ((0, 10), (10, 20, 30), "--A"),
        ((0, 10), (10, 20, 31), "--O"),
        ((0, 10), (10, 35, 50), "-AO"),
        ((0, 10), (70,), "-"),
        ((10, 10), (10, 50, 90), "-AO"),
        ((10, 10), (10, 10, 10), "---"),
        ((10, 10), (90, 90, 90), "---"),
        ((10, 10), (60, 100, 100), "-OO"),
        ((10, 10), (0, 100), "-O"),
    ],
    ids=str,
)
def test_around_the_mean(span, percents, expected):
    assert letters(percents, *span, deviation=True) == expected


@pytest.mark.parametrize(("percents", "expected"), [((20, 50, 51), "-AO"), ((21, 50, 51), "--O")], ids=str)
def test_fixed_thresholds_count_themselves_as_below(percents, expected):
    assert letters(percents, 20, 50, deviation=False) == expected


def test_a_fraction_of_a_percent_is_cut_off():
    assert letters((20.9, 50.9, 51.0), 20, 50, deviation=False) == "-AO"


def test_a_cordoned_node_has_no_room():
    assert letters((10, 50, 90), 10, 10, deviation=True, cordoned=("n0",)) == "--O"
    assert letters((10, 10, 50, 90), 10, 10, deviation=True, cordoned=("n0",)) == "A-AO"


def test_nodes_bear_taints_where_others_have_room():
    states = {"low": "underutilized", "fair": "appropriate", "high": "overutilized"}
    assert keys_of(states) == {"low": set(), "fair": {APPROPRIATE}, "high": BOTH}


def test_where_no_node_has_room_the_fair_ones_are_the_best_there_are():
    assert keys_of({"fair": "appropriate", "high": "overutilized"}) == {"fair": set(), "high": BOTH}


def test_no_nodes_bear_nothing():
    assert node_states({}, (), args(10, 10, deviation=True)) == {}
    assert keys_of({}) == {}
