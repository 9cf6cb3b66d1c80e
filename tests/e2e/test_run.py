"""``restow run`` in the place of the Descheduler: as a Job, as a CronJob, as a Deployment, and what it cannot be."""

from __future__ import annotations

import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from builders.policies import Policy, an_old_policy, as_yaml, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.crowds import crowd
from e2e.deschedulers import evicted
from e2e.ports import HOST, free_ports
from e2e.running import Descheduler, write_yaml
from e2e.waiting import wait_until
from e2e.workloads import wait_for_ready

pytestmark = pytest.mark.e2e

#: Of each of two workloads on two of five nodes; two pods of each are to go.
REPLICAS, MOVES = 6, 4
CONTROLLER = "sigs.k8s.io.descheduler"
ENDS = "Number of evictions/requests"
WRITES = ("create", "update", "patch", "delete", "deletecollection")


def duplicates(namespace: str, **settings: Any) -> Policy:
    return strategy_policy("RemoveDuplicates", {"namespaces": {"include": [namespace]}}, **settings)


def a_run(directory: Path, plane: ControlPlane, policy: Policy, *flags: str, name: str = "restow") -> Descheduler:
    return Descheduler(directory, policy=policy, kubeconfig=plane.kubeconfig, flags=["--v=3", *flags], name=name)


def once(directory: Path, plane: ControlPlane, policy: Policy, *flags: str, name: str) -> Descheduler:
    """A run that ended by itself, and well."""
    with a_run(directory, plane, policy, *flags, name=name) as run:
        assert run.wait() == 0, run.lines()
    return run


def events_of(plane: ControlPlane, namespace: str) -> list[dict[str, Any]]:
    return [each for each in plane.admin.items("Event", namespace) if each["reportingController"] == CONTROLLER]


def pods_told(run: Descheduler, message: str = "Evicted pod") -> list[str]:
    """The pods of the lines of a log in JSON, in order."""
    return [f"{each['pod']['namespace']}/{each['pod']['name']}" for each in run.entries(message)]


def test_a_job_with_an_old_policy_moves_pods_and_ends(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    apps = crowd(plane, 2, REPLICAS, namespace=namespace)
    plane.audit.restart()
    params = {"namespaces": {"include": [namespace]}}
    run = once(tmp_path, plane, an_old_policy({"RemoveDuplicates": {"enabled": True, "params": params}}), name="job")

    gone = evicted(plane)
    assert len(gone) == len(set(gone)) == MOVES
    line = re.compile(r'\] "Evicted pod" pod="([^"]+)" reason="[^"]+" strategy="RemoveDuplicates" node="node-[12]"')
    assert sorted(line.search(each)[1] for each in run.lines(line)) == sorted(gone)  # type: ignore[index]
    assert run.lines(f'] "{ENDS}" totalEvicted={MOVES} evictionRequests=0')
    for app in apps:
        wait_for_ready(plane.admin, app, REPLICAS, namespace)
    on_pods = {f"{namespace}/{each['regarding']['name']}": each["reason"] for each in events_of(plane, namespace)}
    assert on_pods == dict.fromkeys(gone, "RemoveDuplicates")
    notes = [each["note"] for each in events_of(plane, "default") if each["reason"] == "PodsEvicted"]
    assert sum(int(re.match(r"\d+", note)[0]) for note in notes) >= MOVES  # type: ignore[index]


def test_a_cron_job_does_what_its_dry_run_said_and_then_nothing(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    crowd(plane, 2, REPLICAS, namespace=namespace)
    policy, json = duplicates(namespace), "--logging-format=json"
    plane.audit.restart()
    dry = once(tmp_path, plane, policy, json, "--dry-run", name="dry")
    assert len(pods_told(dry, "Evicted pod in dry run mode")) == MOVES
    assert plane.audit.calls("list", "pods", agent="restow/")
    # It asks what it may do; nothing of that is stored.
    calls = [call for verb in WRITES for call in plane.audit.calls(verb, agent="restow/")]
    assert [call for call in calls if call.object_ref.resource != "selfsubjectaccessreviews"] == []
    real = once(tmp_path, plane, policy, json, name="real")
    assert sorted(pods_told(real)) == sorted(evicted(plane))
    assert len(evicted(plane)) == MOVES
    # Where the first one to land has a choice, later moves may be others than those that were foretold.
    assert len({*pods_told(real)} & {*pods_told(dry, "Evicted pod in dry run mode")}) >= 1
    again = once(tmp_path, plane, policy, json, name="again")
    assert [each["totalEvicted"] for each in again.entries(ENDS)] == [0]
    assert len(evicted(plane)) == MOVES


def test_a_deployment_leads_reloads_its_policy_and_leaves_in_order(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    crowd(plane, 2, REPLICAS, namespace=namespace, max_unavailable=1)
    plane.audit.restart()
    flags = ["--descheduling-interval=1s", "--leader-elect", f"--leader-elect-resource-namespace={namespace}"]
    flags += [
        "--leader-elect-lease-duration=15s",
        "--leader-elect-renew-deadline=10s",
        "--leader-elect-retry-period=2s",
    ]
    with a_run(
        tmp_path, plane, duplicates(namespace, maxNoOfPodsToEvictTotal=0), *flags, "--logging-format=json"
    ) as run:
        run.wait_for_line(ENDS)
        assert run.is_ready()
        assert evicted(plane) == ()
        lease = plane.admin.get("Lease", "descheduler", namespace)["spec"]
        assert lease["holderIdentity"]
        assert run.samples().total("restow_leader") == 1

        run.policy.write_text("profiles: [")
        run.wait_for_line("the changed policy cannot be used; the previous policy stays in force")
        run.wait_for_line(ENDS, times=len(run.lines(ENDS)) + 2)
        assert evicted(plane) == ()
        write_yaml(run.policy, duplicates(namespace))
        run.wait_for_line("has changed: the new policy is in force")
        wait_until("the pods have moved", lambda: len(run.lines("Replacement is ready")) >= MOVES, 60.0)

        samples = run.samples()
        assert samples.total("descheduler_pods_evicted_total", result="success", namespace=namespace) == MOVES
        assert samples.total("restow_predictions_total", result="hit") == MOVES
        assert samples.total("restow_predictions_total") == MOVES
        assert samples.total("restow_policy_loads_total", result="broken") == 1
        run.send(signal.SIGTERM)
        assert run.wait() == 0
    assert plane.admin.get("Lease", "descheduler", namespace)["spec"]["holderIdentity"] == ""
    assert len(evicted(plane)) == MOVES
    assert {each["reason"] for each in events_of(plane, namespace)} >= {"RemoveDuplicates"}
    assert not run.lines("Traceback")
    assert Counter(pods_told(run)) == Counter(evicted(plane))


@pytest.mark.parametrize(
    ("policy", "flags", "sentence"),
    [
        (None, ["--leader-elect"], "--leader-elect: leaderElection must be used with deschedulingInterval"),
        (None, ["--nope"], "Unknown option"),
        (b"profiles: [", [], "policy.yaml"),
        (None, ["--policy-config-file=/nowhere/policy.yaml"], "/nowhere/policy.yaml: No such file or directory"),
    ],
    ids=["election", "flag", "yaml", "file"],
)
def test_what_cannot_be_used_is_one_sentence_and_status_2(
    tmp_path: Path, policy: bytes | None, flags: list[str], sentence: str
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_bytes(policy if policy is not None else as_yaml(duplicates("default")))
    with Descheduler(tmp_path, policy=file, kubeconfig=tmp_path / "nobody", flags=flags) as run:
        assert run.wait() == 2
    told = [line for line in run.lines() if "--help" not in line]
    assert len(told) == 1, told
    assert sentence in told[0]


def test_without_an_api_server_the_status_is_1(tmp_path: Path) -> None:
    named = {"cluster": {"server": f"https://{HOST}:{free_ports(1)[0]}"}, "name": "c"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [named],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_bytes(as_yaml(config))
    with Descheduler(tmp_path, policy=duplicates("default"), kubeconfig=kubeconfig) as run:
        assert run.wait() == 1
    assert run.lines('"command failed" err="')
    assert not run.lines("Traceback")
