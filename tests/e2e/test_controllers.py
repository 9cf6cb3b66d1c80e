"""The real controllers create and delete the pods that restow says."""

from __future__ import annotations

import time

import msgspec
import pytest

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.rest import name_of
from e2e.waiting import wait_until
from e2e.workloads import is_ready, pods_of, replica_set, stateful_set, wait_for_ready
from restow.cluster.pod_values import Phase
from restow.cluster.pods import PENDING
from restow.kube.objects import Workload
from restow.kube.timestamps import parse_time
from restow.workloads import controllers
from restow.workloads.controllers import ControlledPod

pytestmark = pytest.mark.e2e

COST = "controller.kubernetes.io/pod-deletion-cost"
NOT_READY = [{"type": "Ready", "status": "False"}]


def controlled(pod: Object) -> ControlledPod:
    """A pod as restow's functions take it."""
    metadata = pod["metadata"]
    return ControlledPod(
        metadata["name"],
        uid=metadata["uid"],
        phase=Phase[pod["status"]["phase"].upper()],
        terminating="deletionTimestamp" in metadata,
        ready=is_ready(pod),
        node=0 if "nodeName" in pod["spec"] else PENDING,
        deletion_cost=int(metadata.get("annotations", {}).get(COST, "0")),
        created=parse_time(metadata["creationTimestamp"]),
    )


def scale(plane: ControlPlane, kind: str, name: str, replicas: int, namespace: str) -> None:
    plane.admin.patch(kind, name, {"spec": {"replicas": replicas}}, namespace)


def end(plane: ControlPlane, pod: str, namespace: str) -> None:
    """What a kubelet says of a pod that has failed."""
    plane.admin.patch("Pod", pod, {"status": {"phase": "Failed"}}, namespace, part="status")


def test_a_replica_set_takes_away_the_pods_that_are_missed_least(plane: ControlPlane, namespace: str) -> None:
    """By readiness first, then by what the deletion of each costs; pods without the annotation cost nothing."""
    plane.admin.create(replica_set("web", 6, namespace=namespace))
    names = [name_of(pod) for pod in wait_for_ready(plane.admin, "web", 6, namespace, timeout=120)]
    for name, cost in zip(names, ("5", "-3", "2", "9", "-10"), strict=False):
        plane.admin.patch("Pod", name, {"metadata": {"annotations": {COST: cost}}}, namespace)
    plane.admin.patch("Pod", names[3], {"status": {"conditions": NOT_READY}}, namespace, part="status")
    pods = list(map(controlled, pods_of(plane.admin, "web", namespace)))
    going = [pod.name for pod in controllers.replica_set(3, pods, time.time_ns()).delete]
    assert going == [names[3], names[4], names[1]]
    # Once the controller has seen the last of these changes it has seen all of them.
    wait_until("the ReplicaSet counts five ready pods", lambda: _ready_replicas(plane, namespace) == 5, 120)
    scale(plane, "ReplicaSet", "web", 3, namespace)
    left = wait_for_three(plane, namespace)
    assert set(left) == set(names) - set(going)


def test_a_stateful_set_makes_a_failed_pod_again_and_a_replica_set_has_done_so(
    plane: ControlPlane, namespace: str
) -> None:
    """The one deletes the pod that is over first, the other leaves it and creates another one."""
    wire = plane.admin.create(stateful_set("db", 2, namespace=namespace))
    plane.admin.create(replica_set("web", 2, namespace=namespace))
    before = [pod for app in ("db", "web") for pod in wait_for_ready(plane.admin, app, 2, namespace, timeout=120)]
    failed = [before[0], before[2]]
    seen = [controlled(pod | {"status": {"phase": "Failed"}}) for pod in failed]
    others = [controlled(before[1]), controlled(before[3])]
    done = controllers.stateful_set(msgspec.json.decode(msgspec.json.encode(wire), type=Workload), [seen[0], others[0]])
    assert ([pod.name for pod in done.delete], done.create) == (["db-0"], [])
    done = controllers.replica_set(2, [seen[1], others[1]], time.time_ns())
    assert (len(done.create), done.delete) == (1, [])
    for pod in failed:
        end(plane, name_of(pod), namespace)
    wait_until("db-0 is another pod", lambda: _another(plane, failed[0], namespace), 120)
    wait_until("there are three pods of web", lambda: len(pods_of(plane.admin, "web", namespace)) == 3, 120)
    assert plane.admin.get("Pod", name_of(failed[1]), namespace)["metadata"]["uid"] == failed[1]["metadata"]["uid"]


def wait_for_three(plane: ControlPlane, namespace: str) -> list[str]:
    """The names of the pods of ``web`` once there are three."""

    def names() -> list[str]:
        found = [name_of(pod) for pod in pods_of(plane.admin, "web", namespace)]
        return found if len(found) == 3 else []

    return wait_until("three pods are left", names, 120)


def _ready_replicas(plane: ControlPlane, namespace: str) -> int:
    return int(plane.admin.get("ReplicaSet", "web", namespace)["status"].get("readyReplicas", 0))


def _another(plane: ControlPlane, old: Object, namespace: str) -> Object | None:
    """The pod that has come in the place of an old one."""
    found = plane.admin.find("Pod", name_of(old), namespace)
    return found if found and found["metadata"]["uid"] != old["metadata"]["uid"] else None
