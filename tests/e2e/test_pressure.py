"""`restow pressure` on a real Prometheus, a real API server and the real kube-scheduler."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import requirement
from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.load import METRIC, Load
from e2e.pressure import COMMAND, PATIENCE, Pressure, Rules
from e2e.prometheus import Prometheus
from e2e.pushgateway import a_gateway
from e2e.waiting import wait_until
from e2e.workloads import deployment
from restow.pressure.marking import FIELD_MANAGER
from restow.pressure.pushing import METRIC as METRIC_OF_MEMORY

pytestmark = pytest.mark.e2e

NODES = 5
CPU: Rules = {"cpu": {"Promsql": METRIC, "Threshold": 0.8}}
#: As its README has it.
AVOIDING = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": {"matchExpressions": [requirement("status", "NotIn", "presure")]}}
        ]
    }
}
SHORT_LEASE = (
    "--leader-elect",
    "--leader-elect-resource-namespace=default",
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=300ms",
)


@pytest.fixture(scope="module")
def load() -> Iterator[Load]:
    with Load() as running:
        yield running


@pytest.fixture(scope="module")
def gateway(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Pushgateway."""
    try:
        tool("prometheus")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with a_gateway(tmp_path_factory.mktemp("gateway")) as port:
        yield port


@pytest.fixture(scope="module")
def prometheus(gateway: int, load: Load, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    scraped = {"load": load.port, "pushgateway": gateway}
    with Prometheus(tmp_path_factory.mktemp("prometheus"), targets={}, plain=scraped) as running:
        yield running


@pytest.fixture(scope="module")
def cluster(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Five nodes with addresses."""
    with ControlPlane(tmp_path_factory.mktemp("pressure")) as plane:
        for number in range(1, NODES + 1):
            plane.add_nodes(1, address=f"10.0.0.{number}")
        yield plane


class Stage:
    """A cluster without labels, where no node has any load."""

    def __init__(self, plane: ControlPlane, prometheus: Prometheus, load: Load, directory: Path) -> None:
        self.plane, self.prometheus, self._load, self._directory = plane, prometheus, load, directory

    def load(self, node: int, value: float | None) -> None:
        """The load of a node from now on, and Prometheus knows it; None for none."""
        instance = f"10.0.0.{node}:9100"
        if value is None:
            self._load.values.pop(instance, None)
        else:
            self._load.values[instance] = value
        wait_until(f"Prometheus knows the load of node {node}", lambda: self._known(instance) == value, PATIENCE)

    def _known(self, instance: str) -> float | None:
        found = self.prometheus.ask(f'{METRIC}{{instance="{instance}"}}')
        return float(found[0]["value"][1]) if found else None

    def pressure(self, *flags: str, rules: Rules = CPU, name: str = "pressure") -> Pressure:
        return Pressure(self._directory, self.plane.kubeconfig, self.prometheus.url, rules, *flags, name=name)

    def status_of(self, node: int) -> str | None:
        label: str | None = self.plane.admin.get("Node", f"node-{node}")["metadata"]["labels"].get("status")
        return label

    def label(self, node: int, value: str | None) -> None:
        """By hand."""
        self.plane.admin.patch("Node", f"node-{node}", {"metadata": {"labels": {"status": value}}})

    def wait_for_status(self, node: int, value: str | None) -> None:
        wait_until(f"node-{node} has the label {value}", lambda: self.status_of(node) == value, PATIENCE)

    def taints(self, node: int) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.plane.admin.get("Node", f"node-{node}")["spec"].get("taints", [])
        return found

    def patches(self) -> list[str]:
        """The nodes that restow has patched, in order."""
        return [call.object_ref.name for call in self.plane.audit.calls("patch", "nodes", "", agent="restow/")]


@pytest.fixture
def stage(cluster: ControlPlane, prometheus: Prometheus, load: Load, tmp_path: Path) -> Stage:
    made = Stage(cluster, prometheus, load, tmp_path)
    for number in range(1, NODES + 1):
        path, name = f"/api/v1/nodes/node-{number}", f"node-{number}"
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        content = "application/apply-patch+yaml"
        cluster.admin.call("PATCH", path, body, query={"fieldManager": FIELD_MANAGER}, content=content)
        made.label(number, None)
        cluster.admin.patch("Node", name, {"spec": {"taints": None}})
        made.load(number, 0.1)
    cluster.audit.restart()
    return made


def test_pods_avoid_a_node_while_its_load_is_high(stage: Stage) -> None:
    """A pod that prefers nodes without the label, placed by kube-scheduler, goes elsewhere; and one patch makes each change."""
    with stage.pressure() as pressure:
        pressure.wait_for_rounds(3)
        for node in (1, 2):
            stage.load(node, 0.95)
        before = pressure.rounds()
        for node in (1, 2):
            stage.wait_for_status(node, "presure")
        assert pressure.rounds() <= before + 2
        wait_until("/nodes names them", lambda: pressure.nodes() == ["node-1", "node-2"], PATIENCE)
        assert json.loads(pressure.get("/nodes")[1]) == {
            "type": "presure",
            "num": 2,
            "node_names": ["node-1", "node-2"],
        }
        assert pressure.get("/status") == (200, "ok")

        # kube-scheduler has a watch of its own: one pod after the other, of which the last ones certainly know.
        stage.plane.admin.create(deployment("polite", 6, affinity=AVOIDING))
        placed = wait_until("the pods are placed", lambda: placed_on(stage.plane, "polite", 6), PATIENCE)
        assert set(placed) <= {"node-3", "node-4", "node-5"}

        for node in (1, 2):
            stage.load(node, 0.2)
        for node in (1, 2):
            stage.wait_for_status(node, None)
        pressure.wait_for_rounds(3)
        assert sorted(stage.patches()) == ["node-1", "node-1", "node-2", "node-2"]
        assert "cpu 0.95 > 0.8" in pressure.wait_for_line("Marked node")
    stage.plane.clear("default")


def placed_on(plane: ControlPlane, app: str, count: int) -> list[str]:
    """The nodes of an application's pods, once all of them have one."""
    pods = plane.admin.items("Pod", "default", labels=f"app={app}")
    nodes = [pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")]
    return nodes if len(nodes) == count else []


def test_a_node_is_labelled_by_the_memory_that_the_kubelet_counts_as_available(
    stage: Stage, gateway: int, tmp_path: Path
) -> None:
    """Pushed by `restow pressure push`, from cgroup files that a test writes."""
    (tmp_path / "meminfo").write_text("MemTotal: 16777216 kB\n")

    def push(used: int) -> None:
        (tmp_path / "memory.stat").write_text(f"anon {used * 2**30}\nfile {2**30}\ninactive_file {2**30}\n")
        files = ("--cgroup-root", str(tmp_path), "--meminfo", str(tmp_path / "meminfo"))
        where = ("--gateway", f"http://127.0.0.1:{gateway}", "--instance", "10.0.0.2")
        subprocess.run([*COMMAND, "push", *where, *files], check=True, timeout=PATIENCE)

    rules = {"mem": {"Promsql": METRIC_OF_MEMORY, "Threshold": 2 * 2**30, "direction": "below"}}
    with stage.pressure(rules=rules):
        push(used=15)
        stage.wait_for_status(2, "presure")
        push(used=4)
        stage.wait_for_status(2, None)
    assert stage.patches() == ["node-2"] * 2


def test_a_label_by_hand_stays_and_one_that_was_taken_by_hand_comes_back(stage: Stage) -> None:
    stage.label(1, "presure")
    stage.label(2, "fine")
    with stage.pressure() as pressure:
        stage.load(1, 0.9)
        stage.load(3, 0.9)
        stage.wait_for_status(3, "presure")
        stage.label(3, None)
        stage.wait_for_status(3, "presure")
        stage.load(1, 0.1)
        stage.load(3, 0.1)
        stage.wait_for_status(3, None)
        stage.load(2, 0.9)
        pressure.wait_for_line("node node-2 is under pressure and has the label status of somebody else")
    assert (stage.status_of(1), stage.status_of(2)) == ("presure", "fine")
    assert stage.patches() == ["node-3"] * 3


def test_the_next_process_knows_the_labels_of_the_one_before(stage: Stage) -> None:
    stage.load(1, 0.9)
    stage.load(2, 0.9)
    with stage.pressure() as first:
        stage.wait_for_status(1, "presure")
        stage.wait_for_status(2, "presure")
        first.terminate()
    assert stage.status_of(1) == "presure"
    stage.load(1, 0.1)
    with stage.pressure() as second:
        stage.wait_for_status(1, None)
        second.wait_for_rounds(2)
        second.kill()
    assert stage.patches() == ["node-1", "node-2", "node-1"] or stage.patches() == ["node-2", "node-1", "node-1"]
    assert stage.status_of(2) == "presure"


def test_load_that_flaps_makes_at_most_one_change_a_crossing(stage: Stage) -> None:
    """Between the thresholds nothing changes, and a peak that is shorter than ``for`` is none."""
    rules = {"cpu": {"Promsql": METRIC, "Threshold": 0.8, "clear": 0.5, "for": "1s"}}
    with stage.pressure(rules=rules) as pressure:
        pressure.wait_for_rounds(2)
        for value in (0.85, 0.7, 0.85):
            stage.load(1, value)
        stage.wait_for_status(1, "presure")
        for value in (0.75, 0.85, 0.6, 0.9, 0.55):
            stage.load(1, value)
            pressure.wait_for_rounds(1)
        assert stage.patches() == ["node-1"]
        stage.load(1, 0.4)
        stage.wait_for_status(1, None)
    assert stage.patches() == ["node-1"] * 2


def test_labels_stay_while_prometheus_is_down(stage: Stage) -> None:
    stage.load(1, 0.9)
    with stage.pressure() as pressure:
        stage.wait_for_status(1, "presure")
        stage.prometheus.kill()
        wait_until("/status tells of it", lambda: pressure.get("/status")[0] == 503, PATIENCE)
        assert pressure.get("/status")[1].startswith("Prometheus has not answered for ")
        pressure.wait_for_rounds(10)
        stage.prometheus.start()
        wait_until("/status is ok again", lambda: pressure.get("/status")[0] == 200, PATIENCE)
        pressure.wait_for_line("queries have answers again")
        assert len(pressure.lines("no query has an answer")) == 1
        assert pressure.samples().total("restow_pressure_queries_total", rule="cpu", result="failed") >= 10
        assert stage.status_of(1) == "presure"
        stage.load(1, 0.1)
        stage.wait_for_status(1, None)
    assert stage.patches() == ["node-1"] * 2


def test_after_the_grace_period_a_node_without_samples_loses_its_label(stage: Stage) -> None:
    stage.load(1, 0.9)
    with stage.pressure("--grace-period=1s") as pressure:
        stage.wait_for_status(1, "presure")
        stage.load(1, None)
        pressure.wait_for_line("rule cpu: 1 of 5 nodes have no value: node-1 (no sample)")
        stage.wait_for_status(1, None)
        assert pressure.samples().total("restow_pressure_unusable_values_total", reason="no sample") > 0


def test_a_prometheus_that_hangs_is_one_that_is_down(stage: Stage) -> None:
    stage.load(1, 0.9)
    with stage.pressure() as pressure:
        stage.wait_for_status(1, "presure")
        stage.prometheus.send(signal.SIGSTOP)
        try:
            pressure.wait_for_line("did not answer in time")
        finally:
            stage.prometheus.send(signal.SIGCONT)
        pressure.wait_for_line("queries have answers again")
        assert stage.status_of(1) == "presure"


def test_a_rule_that_would_mark_too_many_marks_none_and_alarms(stage: Stage) -> None:
    stage.load(1, 0.9)
    with stage.pressure() as pressure:
        stage.wait_for_status(1, "presure")
        for node in (2, 3):
            stage.load(node, 0.9)
        pressure.wait_for_line("rule cpu finds 3 of 5 nodes under pressure, more than the share 0.5: it marks none")
        for node in (1, 2, 3):
            stage.wait_for_status(node, None)
        assert pressure.samples().total("restow_pressure_rule_held_back", rule="cpu") == 1
        stage.load(3, 0.1)
        pressure.wait_for_line("rule cpu marks nodes again")
        stage.wait_for_status(1, "presure")


def test_a_taint_is_added_and_removed_beside_those_of_others(stage: Stage) -> None:
    theirs = {"key": "team", "value": "search", "effect": "NoSchedule"}
    ours = {"key": "status", "value": "presure", "effect": "PreferNoSchedule"}
    stage.plane.admin.patch("Node", "node-1", {"spec": {"taints": [theirs]}})
    for node in (1, 2):
        stage.load(node, 0.9)
    rules = {"cpu": {"Promsql": METRIC, "Threshold": 0.8, "effect": "taint"}}
    with stage.pressure(rules=rules) as pressure:
        wait_until("node-1 is tainted", lambda: stage.taints(1) == [theirs, ours], PATIENCE)
        wait_until("node-2 is tainted", lambda: stage.taints(2) == [ours], PATIENCE)
        for node in (1, 2):
            stage.load(node, 0.1)
        wait_until("node-1 has theirs only", lambda: stage.taints(1) == [theirs], PATIENCE)
        wait_until("node-2 has none", lambda: stage.taints(2) == [], PATIENCE)
        pressure.wait_for_rounds(2)
    assert sorted(stage.patches()) == ["node-1", "node-1", "node-2", "node-2"]


def test_of_two_replicas_one_writes_and_the_other_takes_over(stage: Stage) -> None:
    with stage.pressure(*SHORT_LEASE, name="first") as first:
        wait_until("the first leads", lambda: first.samples().total("restow_pressure_leader") == 1, PATIENCE)
        with stage.pressure(*SHORT_LEASE, name="second") as second:
            stage.load(1, 0.9)
            stage.wait_for_status(1, "presure")
            wait_until("the second sees it", lambda: second.nodes() == ["node-1"], PATIENCE)
            assert second.get("/status") == (200, "ok")
            assert stage.patches() == ["node-1"]
            first.kill()
            stage.load(1, 0.1)
            stage.wait_for_status(1, None)
    assert stage.patches() == ["node-1"] * 2


def test_an_api_server_that_is_down_is_told_and_what_was_due_is_written_when_it_is_back(stage: Stage) -> None:
    with stage.pressure() as pressure:
        pressure.wait_for_rounds(2)
        stage.plane.kill("kube-apiserver")
        try:
            stage.load(1, 0.9)
            wait_until("/status tells of it", lambda: pressure.get("/status")[0] == 503, PATIENCE)
            assert pressure.get("/status")[1].startswith("the API server has not answered for ")
            pressure.wait_for_line("could not be written")
        finally:
            stage.plane.restart("kube-apiserver")
        stage.wait_for_status(1, "presure")
        pressure.wait_for_line("marks can be written again")
        wait_until("/status is ok again", lambda: pressure.get("/status")[0] == 200, PATIENCE)
        assert len(pressure.lines("could not be written")) == 1
