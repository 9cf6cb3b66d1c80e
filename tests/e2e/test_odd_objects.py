"""Whatever the API server accepts, restow reads, or leaves out by itself: no object stops a plan or ends the daemon."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from builders import Object, Owner, a_container, a_list, a_node, a_pod, node_affinity, node_term
from builders.policies import Policy, a_config, a_policy, a_profile, as_yaml
from e2e.control_plane import ControlPlane
from e2e.crowds import crowd
from e2e.deschedulers import evicted
from e2e.faulty_runs import APPS, REPLICAS, a_restow, stop
from e2e.kinds import collection
from e2e.odd_objects import OddObjects
from e2e.waiting import wait_until
from restow.cli.main import run

pytestmark = pytest.mark.e2e

#: Objects that the API server is asked about; ``RESTOW_E2E_OBJECTS=5000`` asks about more.
TRIED = int(os.environ.get("RESTOW_E2E_OBJECTS", "300"))
SEED = int(os.environ.get("RESTOW_E2E_OBJECTS_SEED", "0"))
#: Objects of one dump; those that are made while the daemon runs.
_DUMP, _REAL = 250, 80
_ODD, _NODES = "odd", 5
#: Pods of an app on one node when RemoveDuplicates is done.
_SPREAD = 2
#: The pods of the ordinary cluster beside which odd objects are put.
_WEB = [f"web-{at}" for at in range(8)]
#: More digits than Python reads; more bytes than int64 holds.
_DIGITS, _BEYOND = "9" * 5_000, "10E"
_STRATEGIES = {
    "deschedule": (
        "PodLifeTime",
        "RemoveFailedPods",
        "RemovePodsHavingTooManyRestarts",
        "RemovePodsViolatingInterPodAntiAffinity",
        "RemovePodsViolatingNodeAffinity",
        "RemovePodsViolatingNodeTaints",
    ),
    "balance": ("LowNodeUtilization", "RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"),
}
_ARGUMENTS = {
    "LowNodeUtilization": {"thresholds": {"cpu": 20, "memory": 20}, "targetThresholds": {"cpu": 50, "memory": 50}},
    "PodLifeTime": {"maxPodLifeTimeSeconds": 60},
    "RemovePodsHavingTooManyRestarts": {"podRestartThreshold": 1},
    "RemovePodsViolatingNodeAffinity": {
        "nodeAffinityType": [
            "requiredDuringSchedulingIgnoredDuringExecution",
            "preferredDuringSchedulingIgnoredDuringExecution",
        ]
    },
    "RemovePodsViolatingTopologySpreadConstraint": {"constraints": ["DoNotSchedule", "ScheduleAnyway"]},
}


def every_strategy() -> Policy:
    names = (name for point in _STRATEGIES.values() for name in point)
    configs = [a_config(name, _ARGUMENTS.get(name, {})) for name in names]
    return a_policy(a_profile(*configs, **{point: list(names) for point, names in _STRATEGIES.items()}))


def stored(plane: ControlPlane, thing: Object) -> Object | None:
    """The object as the API server would store it; None where it refuses it."""
    answer = plane.admin.ask("POST", collection(thing["kind"], _ODD), thing, query={"dryRun": "All"})
    assert answer.status < 500, answer.body
    return {**answer.body, "apiVersion": thing["apiVersion"], "kind": thing["kind"]} if answer.status < 400 else None


def a_small_cluster() -> list[Object]:
    """Four nodes, and eight pods of one owner on two of them."""
    nodes = [a_node(f"node-{at}", labels={"kubernetes.io/hostname": f"node-{at}", "size": str(at)}) for at in range(4)]
    owner = Owner("ReplicaSet", "web")
    pods = [a_pod(name, node=f"node-{at % 2}", owner=owner, images=["web"]) for at, name in enumerate(_WEB)]
    return nodes + pods


def worst() -> list[Object]:
    """What once ended the daemon or stopped a plan."""
    far = node_affinity(preferred=[(1, node_term(("size", "Gt", _DIGITS)))])
    most = {"resources": {"requests": {"memory": "8Pi"}}}
    half = [a_container(f"c{at}", image="a", requests={"memory": "4Pi"}) for at in range(2)]
    return [
        a_pod("digits", namespace=_ODD, containers=[a_container("c", image="a")], affinity=far),
        a_pod("sum", namespace=_ODD, containers=half, spec=most),
        *(
            a_pod(name, namespace=_ODD, containers=[a_container("c", image="a", requests={"memory": amount})])
            for name, amount in (("large", "9Pi"), ("largest", "9Ei"), ("beyond", _BEYOND))
        ),
    ]


@pytest.fixture
def odd(plane: ControlPlane) -> OddObjects:
    if plane.admin.find("Namespace", _ODD) is None:
        plane.namespace(_ODD)
    return OddObjects(random.Random(SEED), _ODD, [f"node-{at}" for at in range(4)])


def test_what_the_api_server_accepts_stops_no_command(
    plane: ControlPlane, odd: OddObjects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``plan``, ``schedule`` and ``snapshot`` on dumps of accepted objects beside an ordinary cluster."""
    drawn = [odd.draw() for _ in range(TRIED - len(worst()))]
    answers = plane.admin.together(stored, [(plane, thing) for thing in (*worst(), *drawn)])
    accepted = [each for each in answers if each is not None]
    assert all(answers[: len(worst())])
    with capsys.disabled():
        print(f"\n{len(answers)} odd objects tried, {len(accepted)} accepted: {told(accepted)}")
    assert len(accepted) > TRIED // 2
    policy = tmp_path / "policy.yaml"
    policy.write_bytes(as_yaml(every_strategy()))
    for start in range(0, len(accepted), _DUMP):
        file = tmp_path / f"{start}.json"
        file.write_text(json.dumps(a_list(*a_small_cluster(), *accepted[start : start + _DUMP])))
        for command in (
            ("plan", "-f", file, "--policy-config-file", policy, "-o", "json"),
            ("schedule", "-f", file),
            ("snapshot", "-f", file, "-o", tmp_path / "snapshot.json"),
        ):
            status = run([str(each) for each in command])
            output, errors = capsys.readouterr()
            assert status == 0, (command, errors)
            assert "Traceback" not in errors
            if command[0] == "plan":
                plan = json.loads(output)
                judged = {each["pod"]["name"] for part in ("moves", "refusals") for each in plan[part]}
                assert judged.issuperset(_WEB), file


def told(accepted: Sequence[Object]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(Counter(each["kind"] for each in accepted).items()))


class TestRunning:
    """A daemon in a cluster that fills with odd objects."""

    def test_the_daemon_outlives_them_and_evicts_what_it_should(self, own_plane: ControlPlane, tmp_path: Path) -> None:
        plane = own_plane
        plane.add_nodes(_NODES)
        crowd(plane, APPS, REPLICAS)
        plane.namespace(_ODD)
        odd = OddObjects(random.Random(SEED), _ODD)
        plane.audit.restart()
        with a_restow(tmp_path, plane.kubeconfig) as restow:
            for thing in worst() + [odd.draw() for _ in range(_REAL)]:
                plane.admin.ask("POST", collection(thing["kind"], _ODD), _left_alone(thing))
                restow.check()
            for name in ("n", "m"):
                plane.admin.ask("POST", collection("Pod", _ODD), a_bound_pod(name))

            def spread() -> bool:
                restow.check()
                pods = plane.admin.items("Pod", "default")
                crowds = Counter((pod["metadata"]["labels"]["app"], pod["spec"].get("nodeName", "")) for pod in pods)
                return len(pods) == APPS * REPLICAS and max(crowds.values()) <= _SPREAD

            wait_until("the pods are spread", spread, 120.0)
            said = restow.lines("it is left out")
            assert len([line for line in said if f"{_ODD}/beyond" in line]) == 1, said
            wait_until("they are counted", lambda: restow.samples().total("restow_left_out_objects", kind="Pod") > 0)
            stop(restow)
        assert any(each.startswith("default/app-") for each in evicted(plane))
        assert not restow.lines("Traceback")
        assert not restow.lines("Descheduling cycle failed")


def _left_alone(thing: Object) -> Object:
    """A pod that no scheduler takes, so that the others have room."""
    if thing["kind"] == "Pod":
        thing["spec"]["schedulerName"] = "nobody"
    return thing


def a_bound_pod(name: str) -> Object:
    """A pod that is too large for its node together with the other one."""
    container = a_container("c", image="a", requests={"memory": "6Ei"})
    return a_pod(name, namespace=_ODD, node="node-5", containers=[container])
