"""Nodes closed to replacements on a real control plane, by restow under its own account with the shipped objects."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import Object
from builders.policies import Policy, as_yaml, strategy_policy
from e2e.audit import Call
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError
from e2e.running import Descheduler
from e2e.shipped import DEPLOY, NAMESPACE, USER, kubeconfig_of_restow, kustomized, rights, without
from e2e.steered import component, nodes_of
from e2e.waiting import wait_until
from e2e.workloads import deployment, wait_for_ready

pytestmark = pytest.mark.e2e

COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()")
KEY = "restow.dev/fence"
_OPTIONS = ("--descheduling-interval=1h", "--v=3")
_DONE = "Number of evictions/requests"
_STEERED = "replacements are steered"
_DRY = "Evicted pod in dry run mode"
#: More than the scheduler looks at: it takes a sample of a hundred.
_HOT, _COLD, _SPARE = 8, 16, 84
_ELECTION = (
    "--leader-elect",
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
)
_PATIENCE = 120.0


def leveling(**restow: Any) -> Policy:
    """Nodes above 50 % of CPU give pods to those below 30 %."""
    settings = {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 50}}
    return strategy_policy("LowNodeUtilization", settings, restow={"perWorkload": "100%", **restow})


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("fencing")) as plane:
        plane.add_nodes(_HOT + _COLD + _SPARE, cpu="4")
        for thing in rights(kustomized(DEPLOY / "kubernetes" / "deployment")):
            plane.admin.create(thing)
        for thing in component("fencing", "guarding", "rights"):
            plane.admin.create(thing)
        yield plane


def names(first: int, count: int) -> list[str]:
    return [f"node-{number}" for number in range(first, first + count)]


HOT, COLD = names(1, _HOT), names(1 + _HOT, _COLD)
SPARE = names(1 + _HOT + _COLD, _SPARE)


@pytest.fixture
def uneven(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """Some nodes are hot, some are empty, and most are between: they count as neither, and take no more."""
    cluster.clear("default")
    with cluster.cordoned(COLD + SPARE):
        cluster.admin.create(deployment("web", 3 * _HOT, cpu="1"))
        wait_for_ready(cluster.admin, "web", 3 * _HOT, timeout=_PATIENCE)
    yield cluster
    assert fenced(cluster) == []


def fenced(cluster: ControlPlane) -> list[str]:
    nodes = cluster.admin.items("Node")
    return [
        each["metadata"]["name"]
        for each in nodes
        if any(taint["key"] == KEY for taint in each["spec"].get("taints", ()))
    ]


def restow(cluster: ControlPlane, directory: Path, policy: Policy, *options: str) -> Descheduler:
    return Descheduler(directory, policy=policy, kubeconfig=kubeconfig_of_restow(cluster), flags=(*_OPTIONS, *options))


def end(running: Descheduler) -> None:
    running.send(signal.SIGTERM)
    assert running.wait() == 0


def test_no_replacement_lands_on_a_hot_node_and_no_fence_is_left(uneven: ControlPlane, tmp_path: Path) -> None:
    written = len(patches(uneven))
    with restow(uneven, tmp_path, leveling(steering="fence")) as running:
        assert f"{KEY}:NoSchedule" in running.wait_for_line(_STEERED)
        running.wait_for_line(_DONE, timeout=_PATIENCE)
        wait_for_ready(uneven.admin, "web", 3 * _HOT, timeout=_PATIENCE)
        samples = running.samples()
        assert samples.total("restow_predictions_total", result="hit") >= _HOT
        assert samples.total("restow_predictions_total", result="miss") == 0
        assert samples.total("restow_steering", mode="fence") == 1
        assert max(nodes_of(uneven, "web").values()) <= 2
        assert fenced(uneven) == []
        end(running)
    # Once on and once off, however often the plan was made anew.
    assert len(patches(uneven)) - written == 2 * _HOT
    refused = [call for call in uneven.audit.calls(user=USER) if call.response_status.code in {403, 422}]
    assert refused == []


def test_nodes_can_be_made_less_liked_instead(uneven: ControlPlane, tmp_path: Path) -> None:
    """The scheduler is free to take them, and rarely does."""
    written = len(patches(uneven))
    with restow(uneven, tmp_path, leveling(steering="prefer")) as running:
        assert f"{KEY}:PreferNoSchedule" in running.wait_for_line(_STEERED)
        running.wait_for_line(_DONE, timeout=_PATIENCE)
        wait_for_ready(uneven.admin, "web", 3 * _HOT, timeout=_PATIENCE)
        samples = running.samples()
        assert samples.total("restow_predictions_total", result="hit") >= _HOT // 2
        assert samples.total("restow_steering", mode="prefer") == 1
        assert fenced(uneven) == []
        end(running)
    assert len(patches(uneven)) - written == 2 * _HOT


def patches(cluster: ControlPlane) -> list[Call]:
    """What restow has written on nodes."""
    return cluster.audit.calls("patch", "nodes", agent="restow")


def test_a_dry_run_tells_what_it_would_move_behind_the_fence_and_writes_nothing(
    uneven: ControlPlane, tmp_path: Path
) -> None:
    once = ("--dry-run", "--descheduling-interval=0")
    written = len(patches(uneven))
    with restow(uneven, tmp_path, leveling(steering="fence"), *once) as running:
        assert running.wait() == 0
        assert len(running.lines(_STEERED)) == 1
        assert len(running.lines(_DRY)) == _HOT
    assert len(patches(uneven)) == written


def test_a_plan_is_applied_behind_its_fence(uneven: ControlPlane, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_bytes(as_yaml(leveling(certainty="certain")))
    admin = ("--kubeconfig", str(uneven.kubeconfig))
    made = run(tmp_path, "plan", "--policy-config-file", "policy.yaml", "-o", "json", "--steering", "fence", *admin)
    (tmp_path / "plan.json").write_text(made.stdout)
    plan = json.loads(made.stdout)
    assert set(plan["fence"]["nodes"]) == set(HOT)
    written = len(patches(uneven))
    looked = run(tmp_path, "apply", "plan.json", "--dry-run", *admin)
    assert f"The plan counts on a fence: {_HOT} of " in " ".join(looked.stdout.split())
    alone = run(tmp_path, "apply", "plan.json", "--no-lease", "--dry-run", *admin)
    assert "replacements are not steered: without the lease" in " ".join(alone.stdout.split())
    assert len(patches(uneven)) == written
    done = run(tmp_path, "apply", "plan.json", "--yes", "-o", "json", *admin)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {(each["result"], each["asPlanned"]) for each in result["moves"]} == {("moved", True)}
    assert len(result["moves"]) == len(plan["moves"]) >= _HOT
    assert not set(HOT) & {each["landed"] for each in result["moves"]}
    assert fenced(uneven) == []
    assert len(patches(uneven)) - written == 2 * _HOT


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=directory, capture_output=True, text=True, check=False, timeout=300
    )


def test_a_leader_that_is_killed_leaves_no_fence_while_a_standby_lives(uneven: ControlPlane, tmp_path: Path) -> None:
    """It is killed while its fence stands."""
    for name in "ab":
        (tmp_path / name).mkdir()
    policy = leveling(steering="fence", perWorkload=1)
    with (
        restow(uneven, tmp_path / "a", policy, *_ELECTION) as first,
        restow(uneven, tmp_path / "b", policy, *_ELECTION) as second,
    ):
        wait_until("one of them leads", lambda: first.lines(_STEERED) or second.lines(_STEERED), timeout=_PATIENCE)
        leader, standby = (first, second) if first.lines(_STEERED) else (second, first)
        wait_until("nodes are fenced", lambda: fenced(uneven), timeout=_PATIENCE, every=0.01)
        leader.send(signal.SIGKILL)
        wait_until("the standby removes the fence", lambda: standby.samples().total("restow_fences_removed_total"))
        standby.wait_for_line(_DONE, timeout=_PATIENCE)
        wait_until("no node is fenced", lambda: not fenced(uneven), timeout=_PATIENCE)
        end(standby)
    wait_for_ready(uneven.admin, "web", 3 * _HOT, timeout=_PATIENCE)


def test_told_to_stop_in_the_middle_it_leaves_no_fence(uneven: ControlPlane, tmp_path: Path) -> None:
    with restow(uneven, tmp_path, leveling(steering="fence", perWorkload=1)) as running:
        wait_until("nodes are fenced", lambda: fenced(uneven), timeout=_PATIENCE, every=0.01)
        end(running)
        assert fenced(uneven) == []


def test_after_the_api_server_was_away_no_fence_is_left(uneven: ControlPlane, tmp_path: Path) -> None:
    """It is killed while the fence stands, and evictions are under way."""
    with restow(uneven, tmp_path, leveling(steering="fence", perWorkload=1)) as running:
        wait_until("nodes are fenced", lambda: fenced(uneven), timeout=_PATIENCE, every=0.01)
        uneven.kill("kube-apiserver")
        uneven.restart("kube-apiserver")
        # Both of 1.36 may do nothing for minutes after that, or end.
        for program in ("kube-controller-manager", "kube-scheduler"):
            uneven.kill(program)
            uneven.restart(program)
        wait_until("no node is fenced", lambda: not fenced(uneven) and running.lines(_DONE), timeout=_PATIENCE)
        end(running)
        assert fenced(uneven) == []
    wait_for_ready(uneven.admin, "web", 3 * _HOT, timeout=_PATIENCE)


@pytest.fixture
def left_behind(cluster: ControlPlane) -> Iterator[str]:
    """A node as a restow that is dead has left it, with a taint of somebody else."""
    node = SPARE[0]
    fence = {"key": KEY, "value": "restow-0_20261122T170000Z", "effect": "NoSchedule"}
    cluster.admin.patch("Node", node, {"spec": {"taints": [{"key": "mine", "effect": "PreferNoSchedule"}, fence]}})
    yield node
    cluster.admin.patch("Node", node, {"spec": {"taints": None}})


def taints_of(cluster: ControlPlane, node: str) -> list[str]:
    return [each["key"] for each in cluster.admin.get("Node", node)["spec"].get("taints", ())]


def test_what_another_process_has_left_is_removed_at_the_start_and_other_taints_stay(
    cluster: ControlPlane, left_behind: str, tmp_path: Path
) -> None:
    with restow(cluster, tmp_path, strategy_policy("RemoveDuplicates")) as running:
        wait_until("the fence is gone", lambda: taints_of(cluster, left_behind) == ["mine"], timeout=_PATIENCE)
        end(running)


def test_after_an_accident_fences_can_be_taken_off_by_hand(cluster: ControlPlane, left_behind: str) -> None:
    command = [*COMMAND, "release", "--kubeconfig", str(cluster.kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert f"1 node open again\n  {left_behind}\n" in done.stdout
    assert taints_of(cluster, left_behind) == ["mine"]


def test_without_the_right_nothing_is_fenced_and_the_log_names_the_rule(cluster: ControlPlane, tmp_path: Path) -> None:
    with (
        without(cluster, "restow-fencing", "nodes", "patch"),
        restow(cluster, tmp_path, leveling(steering="fence")) as running,
    ):
        assert 'resources: ["nodes"], verbs: [patch]' in running.wait_for_line("replacements are not steered")
        running.wait_for_line("Number of evictions/requests", timeout=_PATIENCE)
        assert running.samples().total("restow_steering", mode="none") == 1
        end(running)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("", {"metadata": {"labels": {"mine": "now"}}}),
        ("", {"metadata": {"annotations": {"a": "b"}}}),
        ("", {"metadata": {"finalizers": ["example.com/mine"]}}),
        ("", {"spec": {"unschedulable": True}}),
        ("", {"spec": {"podCIDR": "10.9.0.0/24"}}),
        ("", {"spec": {"taints": [{"key": "other", "effect": "NoSchedule"}]}}),
        ("", {"spec": {"taints": [{"key": KEY, "value": "x", "effect": "NoExecute"}]}}),
        ("status", {"status": {"phase": "Terminated"}}),
    ],
    ids=["labels", "annotations", "finalizers", "cordon", "podCIDR", "another taint", "NoExecute", "status"],
)
def test_every_other_patch_of_a_node_is_refused(cluster: ControlPlane, part: str, change: Object) -> None:
    ours = cluster.rest(cluster.token_of("restow", NAMESPACE))
    with pytest.raises(RefusedError) as refused:
        ours.patch("Node", SPARE[1], change, part=part)
    assert refused.value.status in (403, 422)


def test_the_taints_of_others_cannot_be_removed(cluster: ControlPlane, left_behind: str) -> None:
    ours = cluster.rest(cluster.token_of("restow", NAMESPACE))
    with pytest.raises(RefusedError):
        ours.patch("Node", left_behind, {"spec": {"taints": None}})
    ours.patch("Node", left_behind, {"spec": {"taints": [{"key": "mine", "effect": "PreferNoSchedule"}]}})
    assert taints_of(cluster, left_behind) == ["mine"]
