"""``restow apply`` on a real control plane: what its table says, and nothing more."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from builders import Object
from builders.policies import Policy, as_yaml, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.steered import component
from e2e.waiting import wait_until
from e2e.workloads import budget, deployment, pods_of, stateful_set, wait_for_ready

pytestmark = pytest.mark.e2e

COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()")
#: Pods have to go where their node affinity says, so each has one node to land on.
HOME = strategy_policy(
    "RemovePodsViolatingNodeAffinity", {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]}
)
PACK = strategy_policy("HighNodeUtilization", {"thresholds": {"cpu": 20}})
#: Generous: on a busy machine everything takes its time.
PATIENCE = 120.0
LEASE = "descheduler"
PIPES: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
NODES = ("node-1", "node-2", "node-3", "node-4")


def restow(plane: ControlPlane, directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *arguments, "--kubeconfig", str(plane.kubeconfig)]
    return subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True, timeout=PATIENCE)


def planned(plane: ControlPlane, directory: Path, policy: Policy, *options: str) -> Object:
    """The plan, which is in ``plan.json`` as well."""
    (directory / "policy.yaml").write_bytes(as_yaml(policy))
    ran = restow(plane, directory, "plan", "--policy-config-file", "policy.yaml", "-o", "json", *options)
    assert ran.returncode == 0, ran.stderr
    (directory / "plan.json").write_text(ran.stdout)
    plan: Object = json.loads(ran.stdout)
    return plan


def applied(plane: ControlPlane, directory: Path, *options: str) -> tuple[int, Object]:
    ran = restow(plane, directory, "apply", "plan.json", "--yes", "-o", "json", *options)
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


def results(result: Object, field: str = "result") -> dict[str, Any]:
    """Of each move, by the app that the pod's name begins with."""
    return {each["pod"]["name"].partition("-")[0]: each[field] for each in result["moves"]}


def evictions(plane: ControlPlane) -> list[str]:
    """The pods that were asked for, by their apps."""
    calls = plane.audit.calls("create", "pods", "eviction")
    return [call.object_ref.name.partition("-")[0] for call in calls]


def live_at(plane: ControlPlane, **targets: str) -> None:
    """Apps may run on one node each, from now on."""
    for node in NODES:
        labels = {f"home-{app}": "yes" if target == node else None for app, target in targets.items()}
        plane.admin.patch("Node", node, {"metadata": {"labels": labels}})


def made_on_node_1(plane: ControlPlane, *apps: Object) -> None:
    for app in apps:
        home = {"key": f"home-{app['metadata']['name']}", "operator": "In", "values": ["yes"]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [home]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        app["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}
    live_at(plane, **{app["metadata"]["name"]: "node-1" for app in apps})
    plane.admin.create_all(list(apps))
    for app in apps:
        wait_for_ready(plane.admin, app["metadata"]["name"], 1, app["metadata"]["namespace"], timeout=PATIENCE)


@pytest.fixture
def town(plane_of_four: ControlPlane) -> Iterator[ControlPlane]:
    yield plane_of_four
    for namespace in ("default", "quiet"):
        plane_of_four.clear(namespace, timeout=PATIENCE)
    for budget_left in plane_of_four.admin.items("PodDisruptionBudget", "default"):
        plane_of_four.admin.delete("PodDisruptionBudget", budget_left["metadata"]["name"])


@pytest.fixture(scope="module")
def plane_of_four(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("apply")) as plane:
        plane.add_nodes(4, cpu="4")
        plane.namespace("quiet")
        yield plane


def test_a_plan_that_is_stale_in_six_ways_is_carried_out_where_it_still_holds(
    town: ControlPlane, tmp_path: Path
) -> None:
    """Pod gone, pod recreated, node cordoned, budget full, namespace opted out, place taken; and one that holds."""
    admin = town.admin
    apps = [deployment(name) for name in ("gone", "bound", "shut", "full", "web")]
    made_on_node_1(town, *apps, stateful_set("again"), deployment("quiet", namespace="quiet"))
    targets = {"shut": "node-3", "full": "node-4"}
    live_at(
        town, **{app: targets.get(app, "node-2") for app in ("gone", "again", "bound", "quiet", "shut", "full", "web")}
    )
    plan = planned(town, tmp_path, HOME)
    assert {each["certainty"] for each in plan["moves"]} == {"certain"}
    assert len(plan["moves"]) == 7

    admin.delete("Deployment", "gone")
    admin.delete("Pod", "again-0", at_once=True)
    wait_for_ready(admin, "again", 1, timeout=PATIENCE)
    admin.create(budget("bound", "bound", min_available=1))
    wait_until(
        "the budget is full", lambda: admin.get("PodDisruptionBudget", "bound")["status"].get("expectedPods"), PATIENCE
    )
    admin.patch("Namespace", "quiet", {"metadata": {"annotations": {"restow.dev/eviction": "disabled"}}})
    filler = deployment("filler", cpu="3950m")
    filler["spec"]["template"]["spec"]["nodeName"] = "node-4"
    admin.create(filler)
    wait_for_ready(admin, "filler", 1, timeout=PATIENCE)
    wait_until("the pod is gone", lambda: not pods_of(admin, "gone"), PATIENCE)
    try:
        with town.cordoned(["node-3"]):
            looked = restow(town, tmp_path, "apply", "plan.json", "--dry-run", "-o", "json")
            assert evictions(town) == []
            status, result = applied(town, tmp_path)
    finally:
        admin.patch("Namespace", "quiet", {"metadata": {"annotations": {"restow.dev/eviction": None}}})

    refused = {
        "gone": "Gone",
        "again": "Gone",
        "shut": "Stale",
        "bound": "DisruptionBudget",
        "quiet": "NamespaceOptedOut",
        "full": "NoFit",
    }
    assert results(json.loads(looked.stdout)) == dict.fromkeys(refused, "refused") | {"web": "promised"}
    assert results(result) == dict.fromkeys(refused, "refused") | {"web": "moved"}
    assert results(result, "code") == refused | {"web": ""}
    assert results(result, "landed")["web"] == "node-2"
    assert status == 0
    assert evictions(town) == ["web"]


def a_pair(town: ControlPlane, labels: Object, **pod: Any) -> None:
    """Two pods of one group on node-1 that have to go to node-2."""
    made_on_node_1(town, *(stateful_set(name, labels=labels, **pod) for name in ("head", "work")))
    live_at(town, head="node-2", work="node-2")


def test_a_group_moves_as_a_whole_if_the_policy_says_so_and_stays_by_default(
    town: ControlPlane, tmp_path: Path
) -> None:
    a_pair(town, {"ray.io/cluster": "ray"})
    plan = planned(town, tmp_path, HOME)
    assert (plan["moves"], {each["code"] for each in plan["refusals"]}) == ([], {"GroupMember"})
    plan = planned(town, tmp_path, HOME | {"restow": {"groups": "together"}})
    assert {each["proposal"]["purpose"] for each in plan["moves"]} == {"move RayCluster default/ray"}

    made_on_node_1(town, stateful_set("late", labels={"ray.io/cluster": "ray"}))
    status, result = applied(town, tmp_path)
    assert results(result, "code") == {"head": "GroupMember", "work": "GroupMember"}
    town.admin.delete("StatefulSet", "late")
    wait_until("the third pod is gone", lambda: not pods_of(town.admin, "late"), PATIENCE)
    status, result = applied(town, tmp_path)
    assert (status, results(result)) == (0, {"head": "moved", "work": "moved"})
    assert results(result, "landed") == {"head": "node-2", "work": "node-2"}


def test_pods_that_go_because_their_group_restarts_are_moved_too(town: ControlPlane, tmp_path: Path) -> None:
    """The test is the controller of LeaderWorkerSets: once one pod of the group goes, it deletes the other."""
    lws = "leaderworkerset.sigs.k8s.io"
    labels = {f"{lws}/name": "llm", f"{lws}/group-index": "0"}
    a_pair(town, labels, annotations={"test/delete-delay": "5s"})
    planned(town, tmp_path, HOME | {"restow": {"groups": "together"}})
    before = len(evictions(town))
    command = [*COMMAND, "apply", "plan.json", "--yes", "-o", "json", "--kubeconfig", str(town.kubeconfig)]
    with subprocess.Popen(command, cwd=tmp_path, text=True, **PIPES) as running:
        wait_until("the first pod goes", lambda: len(evictions(town)) > before, PATIENCE)
        town.admin.delete("Pod", {"head": "work-0", "work": "head-0"}[evictions(town)[-1]])
        out, err = running.communicate(timeout=PATIENCE)
    assert out, err
    result = json.loads(out)
    assert (running.returncode, results(result)) == (0, {"head": "moved", "work": "moved"}), err
    assert len(evictions(town)) == before + 1


def test_what_others_forbid_since_the_plan_is_respected(town: ControlPlane, tmp_path: Path) -> None:
    """Karpenter, the autoscaler, a node that is to be removed; and one pod about which nobody says anything."""
    admin = town.admin
    made_on_node_1(town, *map(deployment, ("disrupt", "unsafe", "leaving", "web")))
    live_at(town, disrupt="node-2", unsafe="node-2", web="node-2", leaving="node-3")
    assert len(planned(town, tmp_path, HOME)["moves"]) == 4
    before = len(evictions(town))

    annotations = {
        "disrupt": {"karpenter.sh/do-not-disrupt": "1h"},
        "unsafe": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
    }
    for app, annotation in annotations.items():
        (pod,) = pods_of(admin, app)
        admin.patch("Pod", pod["metadata"]["name"], {"metadata": {"annotations": annotation}})
    candidate = {"key": "DeletionCandidateOfClusterAutoscaler", "value": "1", "effect": "PreferNoSchedule"}
    admin.patch("Node", "node-3", {"spec": {"taints": [candidate]}})
    try:
        status, result = applied(town, tmp_path)
    finally:
        admin.patch("Node", "node-3", {"spec": {"taints": None}})
    refused = {"disrupt": "Vetoed", "unsafe": "Vetoed", "leaving": "Vetoed"}
    assert results(result, "code") == refused | {"web": ""}
    assert results(result, "message")["leaving"].startswith("node-3, where it would land, is about to be removed")
    assert (status, results(result, "landed")["web"]) == (0, "node-2")
    assert evictions(town)[before:] == ["web"]
    again = planned(town, tmp_path, HOME)
    codes = {each["pod"]["name"].partition("-")[0]: each["code"] for each in again["refusals"]}
    assert codes == {"disrupt": "DoNotDisrupt", "unsafe": "NotSafeToEvict"}


def test_while_no_window_is_open_nothing_is_done(town: ControlPlane, tmp_path: Path) -> None:
    made_on_node_1(town, deployment("web"))
    live_at(town, web="node-2")
    before = len(evictions(town))
    month = (datetime.now(UTC).month + 5) % 12 + 1
    window = {"start": f"0 0 1 {month} *", "duration": "1h"}
    planned(town, tmp_path, HOME | {"restow": {"windows": [window]}})
    status, result = applied(town, tmp_path)
    assert (status, results(result), results(result, "code")) == (0, {"web": "refused"}, {"web": "Window"})
    assert len(evictions(town)) == before


def test_a_leader_that_evicts_keeps_a_plan_from_being_applied(town: ControlPlane, tmp_path: Path) -> None:
    made_on_node_1(town, deployment("web"))
    live_at(town, web="node-2")
    planned(town, tmp_path, HOME)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "somebody", "leaseDurationSeconds": 3600, "renewTime": now, "acquireTime": now}
    metadata = {"name": LEASE, "namespace": "kube-system"}
    held = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
    if town.admin.find("Lease", LEASE, "kube-system"):
        town.admin.delete("Lease", LEASE, "kube-system")
    town.admin.create(held)
    try:
        ran = restow(town, tmp_path, "apply", "plan.json", "--yes")
    finally:
        town.admin.delete("Lease", LEASE, "kube-system")
    assert ran.returncode == 1
    assert "the lease kube-system/descheduler is held by somebody" in ran.stderr
    assert pods_of(town.admin, "web")[0]["spec"]["nodeName"] == "node-1"


def test_ctrl_c_begins_nothing_more_and_follows_what_was_evicted(town: ControlPlane, tmp_path: Path) -> None:
    """Four evictions are asked for at a time at first, so most of twelve have not begun."""
    apps = [f"app{at}" for at in range(12)]
    made_on_node_1(town, *(deployment(app, annotations={"test/ready-delay": "1s"}) for app in apps))
    live_at(town, **dict.fromkeys(apps, "node-2"))
    planned(town, tmp_path, HOME | {"restow": {"perWorkload": 1}})
    before = len(evictions(town))
    command = [*COMMAND, "apply", "plan.json", "--yes", "-o", "json", "--kubeconfig", str(town.kubeconfig)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        # The table comes first.
        first = next((line for line in running.stderr if "-> node-2" in line), "")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=PATIENCE)
    assert "-> node-2" in first
    assert "no more evictions are begun" in err
    assert running.returncode == 130
    result = json.loads(out)
    made = [app for app, told in results(result).items() if told == "moved"]
    assert sorted(evictions(town)[before:]) == sorted(made)
    assert set(results(result).values()) == {"moved", "dropped"}
    for app in made:
        assert wait_for_ready(town.admin, app, 1, timeout=PATIENCE)[0]["spec"]["nodeName"] == "node-2"
    assert town.admin.get("Lease", LEASE, "kube-system")["spec"]["holderIdentity"] == ""


class TestSteered:
    def test_replacements_go_where_the_plan_says_and_no_entry_is_left(self, town: ControlPlane, tmp_path: Path) -> None:
        """The stock scheduler would put them right back on the emptiest nodes."""
        for thing in component("steering", "config-map", "gating", "guarding"):
            town.admin.create(thing)
        with town.cordoned(["node-3", "node-4"]):
            town.admin.create(deployment("base", 4, cpu="1"))
            wait_for_ready(town.admin, "base", 4, timeout=PATIENCE)
        with town.cordoned(["node-1", "node-2"]):
            town.admin.create(deployment("web", 4, cpu="100m"))
            wait_for_ready(town.admin, "web", 4, timeout=PATIENCE)
        plan = planned(town, tmp_path, PACK, "--steering", "nominate")
        assert [each["steering"] for each in plan["moves"]] == ["nominate"] * 4
        looked = restow(town, tmp_path, "apply", "plan.json", "--no-lease", "--dry-run")
        assert "do not hold any more" in looked.stdout
        assert "note     replacements are not steered: without the lease" in looked.stdout
        wait_until("the admission policy works", lambda: _is_steered(town, tmp_path), PATIENCE)
        status, result = applied(town, tmp_path)
        assert status == 0, result
        assert [each["landed"] for each in result["moves"]] == [each["to"] for each in plan["moves"]]
        assert town.admin.get("ConfigMap", "restow-steering", "kube-system").get("data") in (None, {})


def _is_steered(plane: ControlPlane, directory: Path) -> bool:
    """Whether the table says so."""
    ran = restow(plane, directory, "apply", "plan.json", "--dry-run")
    return "4 moves, the gain of all is certain; 4 targets steered" in ran.stdout


class TestApiServerDown:
    def test_nothing_is_done_before_the_table_or_after_the_answer(self, town: ControlPlane, tmp_path: Path) -> None:
        made_on_node_1(town, deployment("web"))
        live_at(town, web="node-2")
        planned(town, tmp_path, HOME)
        command = [*COMMAND, "apply", "plan.json", "-o", "json", "--kubeconfig", str(town.kubeconfig)]
        ours, theirs = pty.openpty()
        with subprocess.Popen(command, cwd=tmp_path, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as running:
            os.close(theirs)
            _read_up_to(ours, b"[y/N]")
            before = len(evictions(town))
            town.kill("kube-apiserver")
            try:
                os.write(ours, b"y\n")
                # A terminal that nobody reads is full after some seconds of progress, and then its program stands still.
                Thread(target=_read_to_the_end, args=(ours,), daemon=True).start()
                with subprocess.Popen([*command, "--yes"], cwd=tmp_path, **PIPES) as begun:
                    out, _ = running.communicate(timeout=PATIENCE)
                    down, why = begun.communicate(timeout=PATIENCE)
            finally:
                town.restart("kube-apiserver")
                os.close(ours)
        result = json.loads(out)
        assert (running.returncode, results(result)) == (1, {"web": "dropped"})
        assert (begun.returncode, down) == (1, b"")
        assert why.startswith(b"restow failed: ")
        assert len(evictions(town)) == before
        assert pods_of(town.admin, "web")[0]["spec"]["nodeName"] == "node-1"


def _read_up_to(terminal: int, mark: bytes) -> bytes:
    seen = b""
    while mark not in seen:
        seen += os.read(terminal, 4096)
    return seen


def _read_to_the_end(terminal: int) -> None:
    """Until nobody has its other side open, which is an error of reading on Linux."""
    with suppress(OSError):
        while os.read(terminal, 4096):
            pass
