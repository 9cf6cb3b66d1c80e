"""The pod that really comes back: restow says what it requests before the real controllers create it.

Each case makes a workload, changes something about it or its pod, asks restow for the next pod of one pod, and evicts that
one. Every field that the scheduler reads of the pod that the controller then creates is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError, name_of
from e2e.snapshots import write_snapshot
from e2e.waiting import wait_until
from e2e.workloads import a_template, daemon_set, deployment, job, replica_set, stateful_set
from restow.cluster.pod_classes import Aspect, columns_of
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.sources.documents import load_cluster
from restow.workloads.replacements import Replacements

pytestmark = pytest.mark.e2e

#: What the scheduler reads of a pod, but for whose it is: that is the same for all pods of a controller.
READ = sorted({*columns_of(Aspect.SCHEDULING | Aspect.QUEUE)} - {"namespace", "owners", "flags"})
#: Columns whose numbers mean something themselves.
PLAIN = ("priority",)

#: The API server copies these from the node when a pod is bound (PodTopologyLabels, Kubernetes 1.36), and not before.
OF_THE_NODE = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
#: A Job's pod runs for so long; pods are terminating for a moment.
WORKING = {"test/complete-delay": "1h", "test/delete-delay": "100ms"}

#: Changes something of a workload that runs.
Change = Callable[[ControlPlane, str], None]


@dataclass(slots=True, frozen=True)
class Case:
    """A workload called ``web``, and what happens to it."""

    workload: Callable[..., Object]
    change: Change
    #: How many pods it has at least.
    pods: int = 1
    #: The pod that is evicted, by its place in the order of names.
    evicted: int = 0


def resized(plane: ControlPlane, namespace: str) -> None:
    """Each pod takes more of its node in place; the template still says 100m."""
    for pod in plane.admin.items("Pod", namespace):
        _say_that_it_can_be_resized(plane, pod)
        container = {"name": pod["spec"]["containers"][0]["name"], "resources": {"requests": {"cpu": "700m"}}}
        path = f"/api/v1/namespaces/{namespace}/pods/{name_of(pod)}/resize"
        plane.admin.call(
            "PATCH", path, {"spec": {"containers": [container]}}, content="application/strategic-merge-patch+json"
        )


def _say_that_it_can_be_resized(plane: ControlPlane, pod: Object) -> None:
    """What a kubelet that can resize says in the status: what each container has."""
    told = plane.admin.get("Pod", name_of(pod), pod["metadata"]["namespace"])["status"]["containerStatuses"]
    have = pod["spec"]["containers"][0]["resources"]
    statuses = [each | {"resources": have, "allocatedResources": have["requests"]} for each in told]
    change = {"status": {"containerStatuses": statuses}}
    plane.admin.patch("Pod", name_of(pod), change, pod["metadata"]["namespace"], part="status")


def unchanged(_plane: ControlPlane, _namespace: str) -> None:
    """Nothing has happened since the pod was created."""


def edited(kind: str, **spec: Any) -> Change:
    """The template is another one now: more CPU, a label, a node selector that every node meets, a toleration."""

    def change(plane: ControlPlane, namespace: str) -> None:
        template = a_template("web", cpu="350m", memory="96Mi", labels={"version": "2"})
        template["spec"] |= {
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"key": "example.com/new", "operator": "Exists"}],
        }
        wait_until(f"{kind} web is changed", lambda: _replaced(plane, kind, namespace, {"template": template, **spec}))
        wait_until(f"the controller has seen the change of {kind} web", lambda: _is_seen(plane, kind, namespace), 60)

    return change


def rolled_out(change: Change) -> Change:
    """The change, and then the one pod above the partition has been replaced, as the controller does by itself."""

    def changed(plane: ControlPlane, namespace: str) -> None:
        change(plane, namespace)
        wait_until("the rollout is over", lambda: _is_rolled_out(plane, namespace), 60)

    return changed


def _is_rolled_out(plane: ControlPlane, namespace: str) -> bool:
    status, pods = plane.admin.get("StatefulSet", "web", namespace)["status"], plane.admin.items("Pod", namespace)
    are_there = len(pods) == 2 and not any("deletionTimestamp" in each["metadata"] for each in pods)
    return are_there and status.get("updatedReplicas") == 1 and status.get("readyReplicas") == 2


def _replaced(plane: ControlPlane, kind: str, namespace: str, spec: Object) -> bool:
    """Whether the change was taken: the controller may have written the status in between."""
    wanted = plane.admin.get(kind, "web", namespace)
    wanted["spec"] |= spec
    try:
        plane.admin.replace(wanted)
    except RefusedError as error:
        if error.status != 409:
            raise
        return False
    return True


def _is_seen(plane: ControlPlane, kind: str, namespace: str) -> bool:
    found = plane.admin.get(kind, "web", namespace)
    return bool(found["status"].get("observedGeneration", 0) >= found["metadata"]["generation"])


def strategy(type_: str, **rolling: Any) -> Object:
    return {"updateStrategy": {"type": type_} | ({"rollingUpdate": rolling} if rolling else {})}


def with_strategy(make: Callable[..., Object], type_: str, **rolling: Any) -> Callable[..., Object]:
    """A workload with this update strategy from the beginning."""

    def made(*args: Any, **options: Any) -> Object:
        workload = make(*args, **options)
        workload["spec"] |= strategy(type_, **rolling)
        return workload

    return made


def two(make: Callable[..., Object]) -> Callable[..., Object]:
    """A workload of two pods."""
    return partial(make, replicas=2)


def with_limits(make: Callable[..., Object]) -> Callable[..., Object]:
    """A workload whose pods request nothing of memory themselves: the namespace's LimitRange does, and a class gives priority."""
    spec = {"priorityClassName": "system-node-critical"}
    return partial(make, memory=None, spec=spec)


CASES = {
    "ReplicaSet": Case(replica_set, unchanged),
    "Deployment": Case(deployment, unchanged),
    "StatefulSet": Case(stateful_set, unchanged),
    "DaemonSet": Case(daemon_set, unchanged),
    "Job": Case(job, unchanged),
    "Deployment with defaults of the namespace": Case(with_limits(deployment), unchanged),
    "Deployment with defaults of the namespace resized": Case(with_limits(deployment), resized),
    "ReplicaSet resized": Case(replica_set, resized),
    "Deployment resized": Case(deployment, resized),
    "StatefulSet resized": Case(stateful_set, resized),
    "DaemonSet resized": Case(daemon_set, resized),
    "Job resized": Case(job, resized),
    "ReplicaSet edited": Case(replica_set, edited("ReplicaSet")),
    "Deployment edited while paused": Case(deployment, edited("Deployment", paused=True)),
    "StatefulSet edited, OnDelete": Case(with_strategy(stateful_set, "OnDelete"), edited("StatefulSet")),
    "StatefulSet edited, below the partition": Case(
        with_strategy(two(stateful_set), "RollingUpdate", partition=2), edited("StatefulSet"), 2
    ),
    "StatefulSet edited, above the partition": Case(
        with_strategy(two(stateful_set), "RollingUpdate", partition=1), rolled_out(edited("StatefulSet")), 2, evicted=1
    ),
    "DaemonSet edited, OnDelete": Case(with_strategy(daemon_set, "OnDelete"), edited("DaemonSet")),
}


def values(cluster: ClusterSnapshot, pod: int) -> dict[str, Any]:
    """What the scheduler reads of a pod, decoded; the order of tolerations does not matter."""
    pods = cluster.pods
    ids = {column: getattr(pods, column)[pod] for column in READ}
    found = {
        column: int(number) if column in PLAIN else getattr(pods.tables, column)[number]
        for column, number in ids.items()
    }
    return found | {"tolerations": set(found["tolerations"])}


def of_the_new_pod(cluster: ClusterSnapshot, pod: int) -> dict[str, Any]:
    """What the scheduler read of a pod that is bound by now."""
    found = values(cluster, pod)
    return found | {"labels": {key: value for key, value in found["labels"].items() if key not in OF_THE_NODE}}


def a_limit_range(namespace: str) -> Object:
    """What containers of a namespace request if they do not say."""
    limits = [{"type": "Container", "defaultRequest": {"memory": "48Mi"}}]
    made = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults", "namespace": namespace}}
    return made | {"spec": {"limits": limits}}


def position(cluster: ClusterSnapshot, pod: Object) -> int:
    return cluster.pods.uids.index(pod["metadata"]["uid"])


def read(plane: ControlPlane, folder: Path) -> ClusterSnapshot:
    return load_cluster([str(write_snapshot(plane.admin, folder))])[0]


def another(plane: ControlPlane, namespace: str, known: set[str]) -> Object | None:
    """The pod that has come since."""
    return next((pod for pod in plane.admin.items("Pod", namespace) if pod["metadata"]["uid"] not in known), None)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_next_pod_is_as_foretold(plane: ControlPlane, namespace: str, case: Case, tmp_path: Path) -> None:
    plane.admin.create(a_limit_range(namespace))
    plane.admin.create(case.workload("web", namespace=namespace, annotations=WORKING))
    wait_until("its pods run", lambda: _running(plane, namespace, case.pods), 60)
    case.change(plane, namespace)
    pods = sorted(plane.admin.items("Pod", namespace), key=name_of)
    old, known = pods[case.evicted], {each["metadata"]["uid"] for each in pods}

    before = ClusterState(read(plane, tmp_path / "before"))
    replacement = Replacements(before, 0).of(position(before.cluster, old))
    foretold = values(before.cluster, replacement)
    assert plane.admin.evict(name_of(old), namespace).status == 201
    new = wait_until(f"{name_of(old)} is replaced", lambda: another(plane, namespace, known), 60)

    after = read(plane, tmp_path / "after")
    assert of_the_new_pod(after, position(after, new)) == foretold


def _running(plane: ControlPlane, namespace: str, least: int) -> bool:
    """Whether all pods run, of a DaemonSet one on each node: one that came later would pass for a replacement."""
    phases = [each["status"].get("phase") for each in plane.admin.items("Pod", namespace)]
    daemon_sets = [each["status"] for each in plane.admin.items("DaemonSet", namespace)]
    wanted = max([least, *(each.get("desiredNumberScheduled", 0) for each in daemon_sets)])
    are_known = all(each.get("observedGeneration") for each in daemon_sets)
    return are_known and len(phases) >= wanted and set(phases) == {"Running"}
