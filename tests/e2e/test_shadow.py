"""``restow run --shadow`` beside the real Descheduler: what it says of each eviction is what came of it.

Every ReplicaSet has one pod, so that each new pod replaces the one before, and the events of the pods, read by the test
itself, say what each eviction came to. ``RESTOW_E2E_SHADOW_EVICTIONS=1000`` makes it longer.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from builders import HOSTNAME, Object
from builders.policies import Policy, a_config, a_policy, a_profile
from e2e.beside import beside
from e2e.control_plane import ControlPlane
from e2e.deschedulers import a_descheduler, evicted
from e2e.rest import name_of
from e2e.running import Descheduler
from e2e.waiting import wait_until
from e2e.workloads import replica_set

pytestmark = pytest.mark.e2e

EVICTIONS = int(os.environ.get("RESTOW_E2E_SHADOW_EVICTIONS", "120"))
_NODES = 12
#: Workloads that may go anywhere, that must come back to their node, and that have no place to go to.
_FREE, _PINNED, _STUCK = 24, 10, 4
#: Pods take this long to end, as most do; kwok's others are gone at once, often before their replacement is placed.
SLOW = {"test/delete-delay": "2s"}
#: Seconds after which a pod without a node certainly counts as pending.
_PENDING = 60.0
_READING = ("get", "list", "watch")


def old_pods() -> Policy:
    """Evict whatever is a few seconds old, some pods a cycle."""
    strategy = a_config("PodLifeTime", {"maxPodLifeTimeSeconds": 3})
    return a_policy(a_profile(strategy, deschedule=["PodLifeTime"]), maxNoOfPodsToEvictTotal=10)


def mild() -> Policy:
    """restow's own policy, which has nothing to do here."""
    return a_policy(a_profile(a_config("RemoveDuplicates"), balance=["RemoveDuplicates"]))


@pytest.fixture(scope="module")
def stage(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("shadow")) as plane:
        names = plane.add_nodes(_NODES)
        here = {"node_selector": {HOSTNAME: names[0]}}
        shut = {"node_selector": {HOSTNAME: names[1]}}
        sets = [
            *(replica_set(f"free-{number}", annotations=SLOW if number % 2 else {}) for number in range(_FREE)),
            *(replica_set(f"pinned-{number}", **here) for number in range(_PINNED)),
            *(replica_set(f"stuck-{number}", **shut) for number in range(_STUCK)),
        ]
        plane.admin.create_all(sets)
        wait_until("all pods are there", lambda: len(placed(plane)) == len(sets), 60)
        plane.admin.patch("Node", names[1], {"spec": {"unschedulable": True}})
        yield plane


def placed(plane: ControlPlane) -> list[Object]:
    return [each for each in plane.admin.items("Pod", "default") if each["status"].get("phase") == "Running"]


class Truth:
    """What the events of the pods say: who was evicted, and who came on which node instead."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        #: The pods of each ReplicaSet in the order in which they came; the node of each pod; who was evicted.
        self.pods: dict[str, list[str]] = {}
        self.nodes: dict[str, str] = {}
        self.evicted: set[str] = set()

    def watch(self, over: threading.Event) -> None:
        version = "0"
        while not over.is_set():
            for event in self._plane.admin.watch("Pod", "default", version=version, seconds=2):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] in ("ADDED", "MODIFIED"):
                    self._note(event["object"])

    def _note(self, pod: Object) -> None:
        owner, uid = pod["metadata"]["ownerReferences"][0]["name"], pod["metadata"]["uid"]
        known = self.pods.setdefault(owner, [])
        if uid not in known:
            known.append(uid)
        if node := pod["spec"].get("nodeName"):
            self.nodes[uid] = node
        conditions = pod["status"].get("conditions", ())
        if "deletionTimestamp" in pod["metadata"] and any(each["type"] == "DisruptionTarget" for each in conditions):
            self.evicted.add(uid)

    def outcome(self, uid: str) -> str:
        """What the eviction of a pod came to, as far as nodes say."""
        (chain,) = (each for each in self.pods.values() if uid in each)
        following = chain[chain.index(uid) + 1]
        if following not in self.nodes:
            return "pending"
        return "inVain" if self.nodes[following] == self.nodes[uid] else "moved"


@pytest.fixture(scope="module")
def seen(stage: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> tuple[Truth, dict[str, Any], list[str]]:
    """The truth, the report, and what restow wrote to the API server."""
    directory = tmp_path_factory.mktemp("reports")
    flags = ["--descheduling-interval=5s", "--shadow", f"--shadow-reports={directory}"]
    truth = Truth(stage)
    with ExitStack() as stack:
        stack.enter_context(beside(truth.watch))
        restow = stack.enter_context(a_descheduler(stage, "restow", mild(), directory, flags))
        restow.wait_for_line("watches what others evict")
        stage.audit.restart()
        _evict(stage, directory)
        wait_until("the last replacements are ready or pending", lambda: _is_quiet(stage), 60)
        wait_until("every outcome is known", lambda: _counted(restow) >= len(_evicted(stage)), _PENDING)
        assert restow.samples().total("restow_shadow_forecasts_total") >= EVICTIONS
        _stop(restow)
    (file,) = directory.glob("*.json")
    print(file)
    calls = stage.audit.calls(agent="restow")
    writes = [f"{call.verb} {call.object_ref.resource}" for call in calls if call.verb not in _READING]
    return truth, json.loads(file.read_bytes()), writes


def _evict(stage: ControlPlane, directory: Path) -> None:
    """The real Descheduler, until it has evicted enough."""
    with a_descheduler(stage, "Descheduler", old_pods(), directory, ["--descheduling-interval=1s"]) as descheduler:
        wait_until(f"{EVICTIONS} evictions", lambda: len(_evicted(stage)) >= EVICTIONS, 120 + EVICTIONS)
        _stop(descheduler)


def _evicted(stage: ControlPlane) -> set[str]:
    """The pods that were evicted; the API server also grants the eviction of one that ends already, which counts once."""
    return set(evicted(stage))


def _stop(descheduler: Descheduler) -> None:
    descheduler.send(signal.SIGTERM)
    assert descheduler.wait() == 0


def _counted(restow: Descheduler) -> float:
    return restow.samples().total("restow_shadow_evictions_total")


def _is_quiet(stage: ControlPlane) -> bool:
    pods = stage.admin.items("Pod", "default")
    running = [each for each in pods if each["status"].get("phase") == "Running"]
    stuck = [each for each in pods if name_of(each).startswith("stuck-")]
    return len(running) >= _FREE + _PINNED and len(running) + len(stuck) >= len(pods)


def test_every_eviction_is_seen(seen, stage):
    truth, report, _ = seen
    assert report["evictions"]["total"] == len(report["listed"]) == len(truth.evicted)
    assert Counter(f"default/{each['pod']}" for each in report["listed"]) == Counter(_evicted(stage))


def test_every_outcome_is_counted_right(seen):
    truth, report, _ = seen
    wanted = Counter(map(truth.outcome, truth.evicted))
    counts = report["evictions"]
    assert {name: counts[name] for name in ("moved", "inVain", "pending")} == {
        name: wanted[name] for name in ("moved", "inVain", "pending")
    }
    assert counts["pending"] == _STUCK
    assert counts["open"] == counts["unreplaced"] == 0
    assert counts["repeated"] > 0


def test_forecasts_are_good(seen):
    _, report, _ = seen
    (sure,) = (each for each in report["scores"] if each["certainty"] == "certain or likely")
    assert sure["forecasts"] > EVICTIONS / 4
    # Of 70 forecasts, four that chance decides the other way are 0.05 already.
    assert sure["brier"] <= (0.05 if EVICTIONS >= 1000 else 0.1)
    (all_of_them,) = (each for each in report["scores"] if each["certainty"] == "all")
    assert all_of_them["forecasts"] == report["evictions"]["total"]


def test_nothing_is_written(seen):
    """It asks whether it might be steered, as every dry run does; that writes nothing."""
    _, _, writes = seen
    assert set(writes) <= {"create selfsubjectaccessreviews"}
