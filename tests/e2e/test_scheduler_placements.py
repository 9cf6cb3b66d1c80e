"""Where restow and kube-scheduler put pods: the same node wherever kube-scheduler's choice is unique.

A random scene is created on a real API server. The pods that wait are gated. kube-scheduler gets them one by one, each
when the one before is decided; a pod that it cannot place is deleted. The scene is created again, and ``restow scheduler``
gets the same pods in the same order. After each pod there have to be the same pods on the same nodes (so the victims of
preemption are the same too), or the same message.

Where several nodes are the best, each scheduler draws one. Which those are says restow's own scheduler about the scene as
it was; a pod that restow has put on another one of them is then put where kube-scheduler had put it. Where that would take
back volumes or victims, the scene ends there, as where kube-scheduler leaves a pod waiting whose victims have gone, and as
where a pod got another volume: of those of the same size, kube-scheduler takes any.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from builders import Object
from e2e.claim_binding import bind_claims, claims_of
from e2e.components import Settings
from e2e.control_plane import ControlPlane
from e2e.kinds import collection
from e2e.rest import Rest
from e2e.schedulers import PATIENCE, Scheduler
from e2e.stored_scenes import FLAGS, NAME, NAMESPACES, clear, make, prepare, stored, ungate
from e2e.waiting import wait_until
from oracle.scheduler_comparison import Restow
from restow.scheduling.configuration.load import load_scheduler_configuration

pytestmark = pytest.mark.e2e

#: Pods that are compared at least, and the first scene.
PODS = int(os.environ.get("RESTOW_E2E_PLACEMENTS", "60"))
FIRST = int(os.environ.get("RESTOW_E2E_PLACEMENTS_SEED", "0"))
#: Seconds for kube-scheduler. It leaves a pod alone for minutes whose victims have gone, if that pod kept away from them
#: by namespaceSelector: what wakes pods does not know labels of namespaces (restow does the same).
_SOON = 20.0
PROFILE: Object = {"profiles": [{"schedulerName": NAME}]}
Key = tuple[str, str]


@dataclass(slots=True, frozen=True)
class Outcome:
    """What became of one pod."""

    pod: Key
    #: Where it is, or why it is nowhere.
    node: str
    reason: str
    message: str
    #: The node of each pod that has one.
    placed: dict[Key, str]
    #: The volume of each claim that has one, and its size.
    volumes: dict[Key, tuple[str, str]]

    @property
    def left(self) -> object:
        """What the pods that follow find."""
        return self.placed, self.volumes

    def __str__(self) -> str:
        return self.node or f"{self.reason}: {self.message}"


@pytest.fixture(scope="module")
def bare(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane without controllers and kubelets, whose kube-scheduler has the one name."""
    settings = Settings(apiserver=FLAGS, scheduler=PROFILE)
    programs = ("etcd", "kube-apiserver", "kube-scheduler")
    with ControlPlane(tmp_path_factory.mktemp("bare"), settings, programs) as plane:
        prepare(plane.admin)
        yield plane


def test_pods_go_where_kube_scheduler_puts_them(bare: ControlPlane, tmp_path: Path) -> None:
    tally: Counter[str] = Counter()
    faults: list[str] = []
    seed = FIRST
    while sum(tally.values()) < PODS:
        for verdict, told in _compare_scene(bare, seed, tmp_path):
            tally[verdict] += 1
            faults += [f"scene {seed}, {told}"] * (verdict == "fault")
        print(f"scenes {FIRST} to {seed}: {dict(tally)}, {faults}", flush=True)
        seed += 1
    assert not faults, "\n".join(faults)
    assert tally["same node"] > tally["another of the best"]


def _compare_scene(plane: ControlPlane, seed: int, directory: Path) -> Iterator[tuple[str, str]]:
    """The verdict on each pod of a scene, as far as both schedulers' states are the same."""
    plane.kill("kube-scheduler")
    waiting, scene = _created(plane, seed)
    plane.restart("kube-scheduler")
    expected = list(_expected(plane.admin, waiting))
    plane.kill("kube-scheduler")
    assert _created(plane, seed) == (waiting, scene)
    with Scheduler(directory, plane.kubeconfig, "--leader-elect=false", f"--config={_config(directory)}"):
        for outcome in expected:
            before = stored(plane.admin)
            found = _outcome(plane.admin, outcome.pod)
            verdict = _verdict(before, outcome, found)
            yield verdict, f"{'/'.join(outcome.pod)}: kube-scheduler {outcome}; restow {found}"
            if outcome.left != found.left and not _put_right(plane.admin, verdict, outcome):
                break


def _created(plane: ControlPlane, seed: int) -> tuple[list[Key], Object]:
    """Create a scene where another one may be; returns the pods that wait, and all that is the same each time."""
    clear(plane.admin)
    waiting = make(plane, seed)
    found = {f"{each['kind']}/{_key(each)}": each for each in stored(plane.admin)}
    # The API server makes this one again, some time after it was deleted.
    found.pop(f"Service/{('default', 'kubernetes')}", None)
    return waiting, _without(_MADE_UP, found)


def _without(fields: Collection[str], value: Any) -> Any:
    """A value without some fields, wherever they are in it."""
    if isinstance(value, dict):
        return {key: _without(fields, each) for key, each in value.items() if key not in fields}
    return [_without(fields, each) for each in value] if isinstance(value, list) else value


#: What the API server makes up, another time for each object.
_MADE_UP = {
    "clusterIP",
    "clusterIPs",
    "creationTimestamp",
    "deletionTimestamp",
    "lastPhaseTransitionTime",
    "lastTransitionTime",
    "managedFields",
    "resourceVersion",
    "uid",
}


def _expected(rest: Rest, waiting: list[Key]) -> Iterator[Outcome]:
    """What becomes of pods with kube-scheduler, as far as it decides about each soon."""
    for pod in waiting:
        try:
            yield _outcome(rest, pod, _SOON)
        except TimeoutError:
            return


def _config(directory: Path) -> Path:
    file = directory / "scheduler.yaml"
    file.write_text(_CONFIGURATION)
    return file


_CONFIGURATION = f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: {NAME}
"""


def _outcome(rest: Rest, pod: Key, patience: float = PATIENCE) -> Outcome:
    """Let a pod be scheduled, and see what becomes of it; nothing of it is left where it gets no node."""
    ungate(rest, *pod)

    def decided() -> Object | None:
        seen = rest.get("Pod", pod[1], pod[0])
        if not seen["spec"].get("nodeName"):
            bind_claims(rest, seen)
        return seen if _is_decided(seen) else None

    seen = wait_until(f"{pod} is decided", decided, patience)
    assert seen is not None
    node, condition = seen["spec"].get("nodeName", ""), _condition(seen)
    if not node:
        rest.delete("Pod", pod[1], pod[0], at_once=True)
    reason, message = ("", "") if node else (condition["reason"], condition["message"])
    return Outcome(pod, node, reason, message, _placed(rest), _volumes(rest))


def _is_decided(pod: Object) -> bool:
    """Whether it has a node, or has none and waits for no victims to go."""
    if pod["spec"].get("nodeName"):
        return True
    waits = _condition(pod).get("reason") in (None, "SchedulingGated")
    return not waits and not pod["status"].get("nominatedNodeName")


def _condition(pod: Object) -> Object:
    return next((each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"), {})


def _placed(rest: Rest) -> dict[Key, str]:
    pods = [each for name in NAMESPACES for each in rest.call("GET", collection("Pod", name))["items"]]
    return {_key(pod): pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}


def _volumes(rest: Rest) -> dict[Key, tuple[str, str]]:
    volumes = rest.call("GET", collection("PersistentVolume", None))["items"]
    held = [(each, each["spec"].get("claimRef", {})) for each in volumes]
    return {
        (claim["namespace"], claim["name"]): (each["metadata"]["name"], each["spec"]["capacity"]["storage"])
        for each, claim in held
        if claim
    }


def _key(thing: Object) -> Key:
    return thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


def _verdict(before: list[Object], expected: Outcome, found: Outcome) -> str:
    if expected == found:
        return "same node" if found.node else "same message"
    if expected.node and expected.node == found.node:
        same = expected.placed == found.placed and _sizes(expected) == _sizes(found)
        return "another volume" if same else "fault"
    if expected.node and found.node:
        best = _best(before, expected.pod)
        if {expected.node, found.node} <= set(best):
            return "another of the best"
    return "fault"


def _sizes(outcome: Outcome) -> dict[Key, str]:
    return {claim: size for claim, (_, size) in outcome.volumes.items()}


def _best(before: list[Object], pod: Key) -> list[str]:
    """The best nodes for a pod, or for its preemption, on the store as it was before it was ungated."""
    for each in before:
        if each["kind"] == "Pod" and _key(each) == pod:
            each["spec"].pop("schedulingGates", None)
    profiles = load_scheduler_configuration(_CONFIGURATION.encode(), "config").profiles
    answer = Restow(before, profiles).answers()["/".join(pod)]
    best: list[str] = answer["best"] or answer["bestCandidates"]
    return best


def _put_right(rest: Rest, verdict: str, expected: Outcome) -> bool:
    """Put a pod where kube-scheduler has put it; whether that is all there is to do."""
    namespace, name = expected.pod
    pod = rest.find("Pod", name, namespace)
    if (
        verdict == "fault"
        or pod is None
        or claims_of(pod)
        or any("ephemeral" in v for v in pod["spec"].get("volumes", ()))
    ):
        return False
    rest.delete("Pod", name, namespace, at_once=True)
    about = {
        key: pod["metadata"][key]
        for key in ("name", "namespace", "labels", "ownerReferences")
        if key in pod["metadata"]
    }
    spec = _without(_LABEL_KEYS, pod["spec"]) | {"nodeName": expected.node}
    rest.create({"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec})
    return _placed(rest) == expected.placed


#: The API server has put these into the selectors beside them, and takes them no second time.
_LABEL_KEYS = ("matchLabelKeys", "mismatchLabelKeys")
