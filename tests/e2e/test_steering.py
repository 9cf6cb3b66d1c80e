"""Replacements brought to their targets on a real control plane, by restow under its own account with the shipped objects."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders import Object
from builders.policies import Policy, as_yaml, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError
from e2e.running import Descheduler
from e2e.shipped import NAMESPACE, USER, kubeconfig_of_restow, without
from e2e.steered import CONFIG_MAP, DONE, PACK, STEERED, entries, gated, install, nodes_of, spread_out, web
from e2e.waiting import wait_until
from e2e.workloads import deployment, is_ready, pods_of, replica_set, stateful_set, wait_for_ready

pytestmark = pytest.mark.e2e

COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()")
_OPTIONS = ("--descheduling-interval=1h", "--v=3")
_EVICTED = "Evicted pod"


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("steering")) as plane:
        plane.add_nodes(5, cpu="4")
        install(plane)
        yield plane


@pytest.fixture
def slow(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """As ``spread``, with three pods that take their time to go, and whose replacements come after that."""
    with spread_out(cluster, stateful_set("db", 3, cpu="100m", annotations={"test/delete-delay": "6s"})) as slow:
        yield slow


@pytest.fixture
def spread(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """Two nodes are half full; six replicas of ``web`` are alone on the three others."""
    with spread_out(cluster, web()) as spread:
        yield spread


def restow(cluster: ControlPlane, directory: Path, policy: Policy = PACK, *options: str) -> Descheduler:
    return Descheduler(directory, policy=policy, kubeconfig=kubeconfig_of_restow(cluster), flags=(*_OPTIONS, *options))


def longest_gate(cluster: ControlPlane, is_over: Callable[[], bool]) -> float:
    """Seconds for which a pod was gated until something is so, and nothing gated."""
    began: dict[str, float] = {}
    longest = 0.0

    def over() -> bool:
        nonlocal longest
        now = time.monotonic()
        waiting = gated(cluster)
        longest = max(longest, *(now - began.setdefault(name, now) for name in waiting), 0.0)
        return not waiting and is_over()

    wait_until("nothing is gated, and all is done", over, timeout=120.0, every=0.05)
    return longest


def test_nodes_are_emptied_with_the_stock_scheduler_and_stay_empty(spread: ControlPlane, tmp_path: Path) -> None:
    with restow(spread, tmp_path) as running:
        running.wait_for_line(STEERED)
        running.wait_for_line(DONE)
        wait_for_ready(spread.admin, "web", 6)
        assert set(nodes_of(spread, "web")) <= {"node-1", "node-2"}
        samples = running.samples()
        assert samples.total("restow_predictions_total", result="hit", certainty="steered") == 6
        assert samples.total("restow_gates_released_total") == 0
        running.send(signal.SIGTERM)
        assert running.wait() == 0
    refused = [call for call in spread.audit.calls(user=USER) if call.response_status.code == 403]
    assert refused == []


def test_a_replacement_is_as_its_controller_made_it(spread: ControlPlane, tmp_path: Path) -> None:
    before = pods_of(spread.admin, "web")[0]["spec"]
    with restow(spread, tmp_path) as running:
        running.wait_for_line(DONE)
        running.send(signal.SIGTERM)
        assert running.wait() == 0
    after = wait_for_ready(spread.admin, "web", 6)[0]["spec"]
    its_own = ("nodeName", "volumes", "containers", "schedulingGates")
    assert {key: value for key, value in after.items() if key not in its_own} == {
        key: value for key, value in before.items() if key not in its_own
    }
    assert "schedulingGates" not in after


@pytest.mark.parametrize(
    ("role", "resource"),
    [("restow-steering", "pods"), ("restow-steering", "pods/status"), ("restow-gating", "configmaps")],
)
def test_without_a_right_nothing_is_steered_and_the_log_names_the_rule(
    spread: ControlPlane, tmp_path: Path, role: str, resource: str
) -> None:
    with without(spread, role, resource, "patch"), restow(spread, tmp_path) as running:
        rule = f'resources: ["{resource}"], verbs: [patch]'
        assert rule in running.wait_for_line("replacements are not steered")
        running.wait_for_line(DONE)
        assert running.samples().total("restow_predictions_total", certainty="steered") == 0
        running.send(signal.SIGTERM)
        assert running.wait() == 0


class TestObjectsNotInstalled:
    def test_nothing_is_steered_and_the_log_says_what_to_install(self, own_plane: ControlPlane, tmp_path: Path) -> None:
        own_plane.add_nodes(2)
        with Descheduler(tmp_path, policy=PACK, kubeconfig=own_plane.kubeconfig, flags=_OPTIONS) as running:
            assert "docs/how-to/steer.md" in running.wait_for_line("replacements are not steered")
            running.wait_for_line(DONE)
            running.send(signal.SIGTERM)
            assert running.wait() == 0


def test_whatever_waits_behind_the_gate_and_is_awaited_by_nobody_is_let_go(
    spread: ControlPlane, tmp_path: Path
) -> None:
    """An entry that another process left behind, and pods that were created meanwhile."""
    spread.admin.create(replica_set("late", 0))
    uid = spread.admin.get("ReplicaSet", "late")["metadata"]["uid"]
    spread.admin.patch("ConfigMap", "restow-steering", {"data": {uid: "left behind"}}, NAMESPACE)
    wait_until("the admission policy has seen the entry", lambda: creates_gated(spread))
    with restow(spread, tmp_path, strategy_policy("RemoveDuplicates")) as running:
        running.wait_for_line(STEERED)
        wait_until("the gates are off", lambda: not gated(spread), timeout=120.0)
        # There may be entries of moves that are under way.
        assert uid not in entries(spread)
        assert running.samples().total("restow_gates_released_total") >= 1
        running.send(signal.SIGTERM)
        assert running.wait() == 0


def test_after_an_accident_everything_can_be_let_go_by_hand(spread: ControlPlane) -> None:
    spread.admin.create(replica_set("late", 0))
    uid = spread.admin.get("ReplicaSet", "late")["metadata"]["uid"]
    spread.admin.patch("ConfigMap", "restow-steering", {"data": {uid: "left behind"}}, NAMESPACE)
    wait_until("the admission policy has seen the entry", lambda: creates_gated(spread))
    command = [*COMMAND, "release", "--kubeconfig", kubeconfig_of_restow(spread)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "  default/late-" in done.stdout
    assert gated(spread) == []


GATE = {"schedulingGates": [{"name": "restow.dev/steer"}]}


def test_nobody_else_gives_pods_the_gate(spread: ControlPlane) -> None:
    """Neither a bare pod nor a template: whoever may create pods could have restow release any number of them."""
    container = {"name": "main", "image": "web"}
    bare: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "bare", "namespace": "default"},
        "spec": {"containers": [container], **GATE},
    }
    with pytest.raises(RefusedError, match="only restow gives pods the scheduling gate"):
        spread.admin.create(bare)
    spread.admin.create(deployment("gated", 1, cpu="100m", spec=GATE))

    def problems() -> str:
        found = [each for each in spread.admin.items("ReplicaSet", "default") if owner(each) == "gated"]
        return json.dumps([each.get("status", {}).get("conditions") for each in found])

    wait_until("its pod is refused", lambda: "only restow gives pods" in problems())
    assert pods_of(spread.admin, "gated") == []
    spread.admin.create({**bare, "spec": {"containers": [container], "schedulingGates": [{"name": "other"}]}})
    spread.admin.delete("Pod", "bare", at_once=True)


#: Pods that a tenant creates with the gate.
CROWD = int(os.environ.get("RESTOW_E2E_GATED", "300"))


def test_any_number_of_pods_that_bring_the_gate_along_take_few_connections(
    spread: ControlPlane, tmp_path: Path
) -> None:
    """Where the policy that refuses them is not installed."""
    binding = spread.admin.get("ValidatingAdmissionPolicyBinding", "restow-steering-gate")
    spread.admin.delete("ValidatingAdmissionPolicyBinding", "restow-steering-gate")
    container = {"name": "main", "image": "web"}
    stay = {"kubernetes.io/hostname": "nowhere"}
    bare: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"containers": [container], "nodeSelector": stay, **GATE},
    }

    def accepted() -> bool:
        metadata = {"name": "bare", "namespace": "default"}
        return spread.admin.ask("POST", "/api/v1/namespaces/default/pods", {**bare, "metadata": metadata}).status == 201

    wait_until("nothing refuses them", accepted)
    try:
        named = ({"name": f"gated-{at}", "namespace": "default"} for at in range(CROWD))
        spread.admin.create_all([{**bare, "metadata": each} for each in named])
        with restow(spread, tmp_path) as running:
            descriptors = Path(f"/proc/{running.pid}/fd")
            most = 0

            def released() -> bool:
                nonlocal most
                most = max(most, len(list(descriptors.iterdir())))
                return not gated(spread)

            wait_until("none waits", released, timeout=120.0, every=0.02)
            print(f"{CROWD} gated pods: {most} descriptors, {running.peak_rss() >> 20} MiB at most")
            assert most < 150
            running.send(signal.SIGTERM)
            assert running.wait() == 0
    finally:
        spread.admin.create({key: binding[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": GATE_BINDING})


GATE_BINDING = {"name": "restow-steering-gate"}


def owner(thing: Object) -> str:
    return str(thing["metadata"].get("ownerReferences", [{"name": ""}])[0]["name"])


@pytest.mark.parametrize("kind", ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"])
def test_without_its_guard_nothing_is_steered_and_the_log_names_the_object(
    spread: ControlPlane, tmp_path: Path, kind: str
) -> None:
    whole = spread.admin.get(kind, "restow-steering")
    spread.admin.delete(kind, "restow-steering")
    try:
        with restow(spread, tmp_path) as running:
            line = running.wait_for_line("replacements are not steered")
            assert f"there is no {kind} restow-steering" in line
            assert "deploy/kubernetes/steering/guarding.yaml" in line
            running.wait_for_line(DONE)
            running.send(signal.SIGTERM)
            assert running.wait() == 0
    finally:
        spread.admin.create({each: whole[each] for each in ("apiVersion", "kind", "spec")} | {"metadata": NAMED})


NAMED = {"name": "restow-steering"}


def test_a_guard_that_only_warns_is_none(spread: ControlPlane, tmp_path: Path) -> None:
    kind = "ValidatingAdmissionPolicyBinding"
    spread.admin.patch(kind, "restow-steering", {"spec": {"validationActions": ["Warn"]}})
    try:
        with restow(spread, tmp_path) as running:
            assert "its validationActions are Warn, without Deny" in running.wait_for_line("are not steered")
            running.send(signal.SIGTERM)
            assert running.wait() == 0
    finally:
        spread.admin.patch(kind, "restow-steering", {"spec": {"validationActions": ["Deny"]}})


def creates_gated(cluster: ControlPlane) -> bool:
    replicas = cluster.admin.get("ReplicaSet", "late")["spec"]["replicas"]
    cluster.admin.patch("ReplicaSet", "late", {"spec": {"replicas": replicas + 1}})
    time.sleep(0.3)
    return bool(gated(cluster))


def test_killed_in_the_middle_a_second_replica_lets_the_gated_go(spread: ControlPlane, tmp_path: Path) -> None:
    """The leader is killed as soon as something is gated; the standby lets it go within ten seconds."""
    election = (
        "--leader-elect",
        "--leader-elect-lease-duration=6s",
        "--leader-elect-renew-deadline=4s",
        "--leader-elect-retry-period=1s",
    )
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with (
        restow(spread, tmp_path / "a", PACK, *election) as first,
        restow(spread, tmp_path / "b", PACK, *election) as second,
    ):
        wait_until("one of them leads", lambda: first.lines(STEERED) or second.lines(STEERED), timeout=60.0)
        leader, standby = (first, second) if first.lines(STEERED) else (second, first)
        wait_until("an entry is written", lambda: entries(spread), timeout=60.0, every=0.01)
        leader.send(signal.SIGKILL)
        began = time.monotonic()
        wait_until("nothing is gated", lambda: not gated(spread), timeout=15.0)
        assert time.monotonic() - began < 10
        standby.wait_for_line(DONE)
        standby.send(signal.SIGTERM)
        assert standby.wait() == 0
    wait_for_ready(spread.admin, "web", 6)


def test_a_target_that_is_cordoned_before_the_nomination_costs_no_more_than_a_second(
    slow: ControlPlane, tmp_path: Path
) -> None:
    """The replacement is let go without a nomination, and lands where the scheduler wants."""
    with restow(slow, tmp_path) as running:
        running.wait_for_line(_EVICTED)
        with slow.cordoned(["node-1", "node-2"]):
            running.wait_for_line(DONE)
            assert set(nodes_of(slow, "db")) <= {"node-3", "node-4", "node-5"}
        samples = running.samples()
        assert samples.total("restow_gates_released_total") >= 1, "\n".join(running.lines())
        assert samples.total("restow_predictions_total", certainty="steered", result="hit") == 0
        running.send(signal.SIGTERM)
        assert running.wait() == 0
    wait_for_ready(slow.admin, "db", 3)


def test_a_target_that_somebody_fills_before_the_nomination_does_not_hold_the_replacement(
    slow: ControlPlane, tmp_path: Path
) -> None:
    """The scheduler refuses the nominated node and goes on with all the others."""
    with restow(slow, tmp_path) as running:
        running.wait_for_line(_EVICTED)
        for node in ("node-1", "node-2"):
            slow.admin.create(replica_set(f"filler-{node}", cpu="2", spec={"nodeName": node}))
        running.wait_for_line(DONE)
        wait_for_ready(slow.admin, "db", 3)
        assert set(nodes_of(slow, "db")) <= {"node-3", "node-4", "node-5"}
        samples = running.samples()
        assert samples.total("restow_predictions_total", certainty="steered", result="miss") == 1
        assert samples.total("restow_gates_released_total") == 0
        running.send(signal.SIGTERM)
        assert running.wait() == 0


def test_without_its_config_map_nothing_is_gated_and_the_rest_goes_unsteered(
    slow: ControlPlane, tmp_path: Path
) -> None:
    whole = slow.admin.get("ConfigMap", "restow-steering", NAMESPACE)
    with restow(slow, tmp_path) as running:
        running.wait_for_line(_EVICTED)
        slow.admin.delete("ConfigMap", "restow-steering", NAMESPACE)
        try:
            running.wait_for_line(DONE)
            wait_for_ready(slow.admin, "db", 3)
            assert gated(slow) == []
            running.send(signal.SIGTERM)
            assert running.wait() == 0
        finally:
            slow.admin.create({each: whole[each] for each in ("apiVersion", "kind")} | {"metadata": CONFIG_MAP})


def test_a_writer_that_fills_targets_on_purpose_keeps_no_replacement_waiting(
    spread: ControlPlane, tmp_path: Path
) -> None:
    """Node after node is filled while replacements are under way; each lands on its target or elsewhere."""
    with restow(spread, tmp_path) as running:
        running.wait_for_line(_EVICTED)
        fillers = iter(range(4))

        def over() -> bool:
            if (number := next(fillers, None)) is not None:
                filler = replica_set(f"filler-{number}", cpu="1", spec={"nodeName": f"node-{number % 2 + 1}"})
                spread.admin.create(filler)
            return bool(running.lines(DONE)) and all(map(is_ready, pods_of(spread.admin, "web")))

        assert longest_gate(spread, over) < 10
        assert running.samples().total("restow_predictions_total", result="missing") == 0
        running.send(signal.SIGTERM)
        assert running.wait() == 0
    wait_for_ready(spread.admin, "web", 6)


def test_nothing_stays_gated_after_the_api_server_was_away(spread: ControlPlane, tmp_path: Path) -> None:
    with restow(spread, tmp_path) as running:
        wait_until("an entry is written", lambda: entries(spread), timeout=60.0, every=0.01)
        spread.kill("kube-apiserver")
        time.sleep(3.0)
        spread.restart("kube-apiserver")
        # How long that takes depends on how long it was away.
        longest_gate(spread, lambda: all(map(is_ready, pods_of(spread.admin, "web"))))
        wait_until("no entry is left", lambda: not entries(spread), timeout=120.0)
        running.send(signal.SIGTERM)
        assert running.wait() == 0
    # Both of 1.36 may do nothing for minutes after that, or end: what they have read is older than what they have written.
    for component in ("kube-controller-manager", "kube-scheduler"):
        spread.kill(component)
        spread.restart(component)
    wait_for_ready(spread.admin, "web", 6)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("", {"metadata": {"labels": {"mine": "now"}}}),
        ("", {"spec": {"containers": [{"name": "main", "image": "evil"}]}}),
        ("", {"metadata": {"annotations": {"a": "b"}}}),
        ("status", {"status": {"nominatedNodeName": "node-1"}}),
        ("status", {"status": {"phase": "Failed"}}),
    ],
    ids=["labels", "image", "annotations", "nomination of a running pod", "phase"],
)
def test_every_other_patch_of_a_pod_is_refused(spread: ControlPlane, part: str, change: Object) -> None:
    ours = spread.rest(spread.token_of("restow", NAMESPACE))
    name = pods_of(spread.admin, "web")[0]["metadata"]["name"]
    with pytest.raises(RefusedError) as refused:
        ours.patch("Pod", name, change, part=part)
    assert refused.value.status in (403, 422)


@pytest.mark.parametrize(
    ("name", "namespace"),
    [("other", NAMESPACE), ("restow-steering", "default"), ("other", "default")],
    ids=["of another name", "in another namespace", "of somebody else"],
)
def test_every_other_config_map_is_out_of_reach(spread: ControlPlane, name: str, namespace: str) -> None:
    ours = spread.rest(spread.token_of("restow", NAMESPACE))
    metadata = {"name": name, "namespace": namespace}
    spread.admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"kept": "yes"}})
    try:
        with pytest.raises(RefusedError) as refused:
            ours.patch("ConfigMap", name, {"data": {"kept": "no"}}, namespace)
        assert refused.value.status == 403
    finally:
        spread.admin.delete("ConfigMap", name, namespace)


def test_its_own_config_map_stays_where_it_is(spread: ControlPlane) -> None:
    ours = spread.rest(spread.token_of("restow", NAMESPACE))
    with pytest.raises(RefusedError) as refused:
        ours.delete("ConfigMap", "restow-steering", NAMESPACE)
    assert refused.value.status == 403


def test_a_plan_on_the_live_cluster_is_steered_where_the_cluster_steers(spread: ControlPlane, tmp_path: Path) -> None:
    """And says so; without the objects it is not, and says why."""
    policy = tmp_path / "policy.yaml"
    policy.write_bytes(as_yaml(PACK))

    def steered() -> tuple[set[str], str]:
        options = ("plan", "--kubeconfig", str(spread.kubeconfig), "--policy-config-file", str(policy), "-o", "json")
        ran = subprocess.run((*COMMAND, *options), capture_output=True, text=True, check=True)
        return {move["steering"] for move in json.loads(ran.stdout)["moves"]}, ran.stderr

    ways, told = steered()
    assert ways == {"nominate"}
    assert "replacements are steered, behind a scheduling gate that an admission policy gives" in told
    binding = spread.admin.get("MutatingAdmissionPolicyBinding", "restow-steering")
    spread.admin.delete("MutatingAdmissionPolicyBinding", "restow-steering")
    try:
        ways, told = steered()
    finally:
        binding["metadata"] = {"name": "restow-steering"}
        spread.admin.create(binding)
    assert "nominate" not in ways
    assert "replacements are not steered: there is no MutatingAdmissionPolicyBinding restow-steering or " in told
