"""The admission policy of ``restow scheduler`` on a real API server: what its account may do with its rights, and what not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from builders import Object, a_pod
from e2e.control_plane import ControlPlane
from e2e.kinds import path_of
from e2e.rest import Answer, Rest
from e2e.shipped import DEPLOY, NAMESPACE, kustomized, rights
from e2e.waiting import wait_until
from e2e.workloads import is_ready

pytestmark = pytest.mark.e2e

ACCOUNT = "restow-scheduler"
GUARD = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
STRATEGIC, MERGE = "application/strategic-merge-patch+json", "application/merge-patch+json"
VICTIM = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "make room"}
WAITS = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}
REFUSED = 422


@pytest.fixture(scope="module")
def scheduler(plane: ControlPlane, kustomize: None) -> Iterator[Rest]:
    """The account with its rights and its guard, once the API server knows of both."""
    shipped = kustomized(DEPLOY / "kubernetes" / "scheduler")
    objects = [*rights(shipped), *(each for each in shipped if each["kind"] in GUARD)]
    for each in objects:
        plane.admin.create(each)
    ours = plane.rest(plane.token_of(ACCOUNT, NAMESPACE))
    plane.admin.create(volume("first"))
    wait_until("the guard is in force", lambda: labelled(ours).status == REFUSED)
    yield ours
    plane.admin.delete("PersistentVolume", "first")
    for each in objects:
        plane.admin.delete(each["kind"], each["metadata"]["name"], NAMESPACE)


def labelled(ours: Rest) -> Answer:
    return patched(ours, "PersistentVolume", "first", {"metadata": {"labels": {"a": "b"}}})


class Pods(NamedTuple):
    """Names of pods in a namespace: two that wait, one of them of another scheduler, and two on a node."""

    namespace: str
    mine: str = "mine"
    others: str = "others"
    running: str = "running"
    critical: str = "critical"


@pytest.fixture
def pods(plane: ControlPlane, namespace: str) -> Pods:
    if not plane.admin.items("Node"):
        plane.add_nodes(1, cpu="8")
    node = plane.admin.items("Node")[0]["metadata"]["name"]
    gone = {"schedulerName": "nobody"}
    for name, spec in (
        ("mine", {"schedulerName": "my-scheduler"}),
        ("others", gone),
        ("running", gone | {"nodeName": node}),
        ("critical", gone | {"nodeName": node, "priorityClassName": "system-node-critical"}),
    ):
        made = a_pod(name, namespace=namespace, cpu="10m", spec=spec)
        made["spec"]["containers"][0] |= {"name": "c", "image": "example/app:1"}
        plane.admin.create(made)

    # Who acts for the kubelet writes all conditions when a pod begins to run.
    def run() -> bool:
        found = (plane.admin.get("Pod", name, namespace) for name in ("running", "critical"))
        return all(map(is_ready, found))

    wait_until("two of them run", run)
    return Pods(namespace)


def volume(name: str, **spec: Any) -> Object:
    made = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "manual",
        "hostPath": {"path": "/tmp/volume"},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": made | spec}


def claim(name: str, namespace: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def patched(
    ours: Rest, kind: str, name: str, change: Object, namespace: str = "default", *, part: str = "", how: str = MERGE
) -> Answer:
    path = path_of(kind, name, namespace) + (f"/{part}" if part else "")
    return ours.ask("PATCH", path, change, content=how)


def said(ours: Rest, pods: Pods, name: str, **status: Any) -> Answer:
    """A change of a pod's status."""
    return patched(ours, "Pod", name, {"status": status}, pods.namespace, part="status", how=STRATEGIC)


def deleted(ours: Rest, plane: ControlPlane, pods: Pods, name: str, **options: Any) -> Answer:
    uid = plane.admin.get("Pod", name, pods.namespace)["metadata"]["uid"]
    wanted = {"preconditions": {"uid": uid}} | options
    return ours.ask("DELETE", path_of("Pod", name, pods.namespace), wanted)


def test_of_its_own_pods_it_says_why_they_wait_and_where_they_will_go(scheduler: Rest, pods: Pods) -> None:
    assert said(scheduler, pods, pods.mine, conditions=[WAITS], nominatedNodeName="node-1").status == 200


def test_of_the_pods_of_others_it_only_takes_nominations_back(scheduler: Rest, plane: ControlPlane, pods: Pods) -> None:
    """Those of a lower priority, which would have had the place."""
    assert said(scheduler, pods, pods.others, conditions=[WAITS]).status == REFUSED
    assert said(scheduler, pods, pods.others, nominatedNodeName="node-1").status == REFUSED
    assert said(plane.admin, pods, pods.others, nominatedNodeName="node-1").status == 200
    assert said(scheduler, pods, pods.others, nominatedNodeName=None).status == 200


def test_it_deletes_victims_after_they_were_told_and_nothing_else(
    scheduler: Rest, plane: ControlPlane, pods: Pods
) -> None:
    assert deleted(scheduler, plane, pods, pods.running).status == REFUSED
    assert said(scheduler, pods, pods.running, conditions=[VICTIM]).status == 200
    assert deleted(scheduler, plane, pods, pods.running, gracePeriodSeconds=0).status == REFUSED
    assert deleted(scheduler, plane, pods, pods.running, preconditions={}).status == REFUSED

    # Who acts for the kubelet may write the conditions once more in between.
    def preempted() -> bool:
        is_told = said(scheduler, pods, pods.running, conditions=[VICTIM]).status == 200
        return is_told and deleted(scheduler, plane, pods, pods.running).status == 200

    wait_until("the victim goes", preempted)


def test_pods_that_wait_and_pods_that_the_cluster_needs_are_no_victims(
    scheduler: Rest, plane: ControlPlane, pods: Pods
) -> None:
    assert said(scheduler, pods, pods.critical, conditions=[VICTIM]).status == REFUSED
    assert said(plane.admin, pods, pods.critical, conditions=[VICTIM]).status == 200
    assert deleted(scheduler, plane, pods, pods.critical).status == REFUSED
    assert said(plane.admin, pods, pods.mine, conditions=[VICTIM]).status == 200
    assert deleted(scheduler, plane, pods, pods.mine).status == REFUSED


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Failed"},
        {"reason": "Evicted"},
        {"conditions": [{"type": "Ready", "status": "False"}]},
        {"conditions": [VICTIM | {"reason": "DeletionByPodGC"}]},
        {"conditions": [VICTIM | {"status": "False"}]},
        {"conditions": [WAITS]},
        {"nominatedNodeName": "node-1"},
    ],
    ids=["phase", "reason", "ready", "another reason", "no victim", "not scheduled", "nomination"],
)
def test_of_pods_on_nodes_it_may_say_nothing_else(scheduler: Rest, pods: Pods, status: Object) -> None:
    assert said(scheduler, pods, pods.running, **status).status == REFUSED


@pytest.mark.parametrize("name", ["mine", "running"])
def test_of_pods_it_changes_no_metadata_by_their_status(scheduler: Rest, pods: Pods, name: str) -> None:
    change = {"metadata": {"labels": {"a": "b"}}}
    assert patched(scheduler, "Pod", name, change, pods.namespace, part="status").status == REFUSED
    assert patched(scheduler, "Pod", name, change, pods.namespace).status in (403, REFUSED)


def test_a_binding_names_a_pod_with_its_uid_and_nothing_beside(
    scheduler: Rest, plane: ControlPlane, pods: Pods
) -> None:
    uid = plane.admin.get("Pod", pods.mine, pods.namespace)["metadata"]["uid"]
    node = plane.admin.items("Node")[0]["metadata"]["name"]
    path = f"{path_of('Pod', pods.mine, pods.namespace)}/binding"

    def bound(**metadata: Any) -> int:
        named = {"name": pods.mine, "namespace": pods.namespace} | metadata
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": named, "target": {"kind": "Node", "name": node}}
        return scheduler.ask("POST", path, body).status

    assert bound() == REFUSED
    assert bound(uid=uid, annotations={"a": "b"}) == REFUSED
    assert bound(uid=uid) == 201


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"annotations": {"a": "b"}}},
        {"spec": {"persistentVolumeReclaimPolicy": "Delete"}},
        {"spec": {"storageClassName": "other"}},
        {"spec": {"capacity": {"storage": "2Gi"}}},
        {"spec": {"mountOptions": ["ro"]}},
        {"spec": {"claimRef": {"namespace": "other", "name": "other", "uid": "2"}}},
        {"spec": {"claimRef": None}},
    ],
    ids=["label", "annotation", "reclaim policy", "class", "capacity", "mount options", "other claim", "no claim"],
)
def test_of_a_volume_it_changes_nothing_but_its_claim_which_it_takes_from_nobody(
    scheduler: Rest, plane: ControlPlane, namespace: str, change: Object
) -> None:
    name = f"{namespace}-volume"
    reserved = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": "data", "uid": "1"}
    mark = {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}
    plane.admin.create(volume(name))
    try:
        reserve = {"metadata": mark, "spec": {"claimRef": reserved}}
        assert patched(scheduler, "PersistentVolume", name, reserve).status == 200
        assert patched(scheduler, "PersistentVolume", name, change).status == REFUSED
    finally:
        plane.admin.delete("PersistentVolume", name)


def test_of_a_claim_it_changes_nothing_but_the_selected_node(
    scheduler: Rest, plane: ControlPlane, namespace: str
) -> None:
    plane.admin.create(claim("data", namespace))
    selected = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-1"}}}
    assert patched(scheduler, "PersistentVolumeClaim", "data", selected, namespace).status == 200
    for change in (
        {"metadata": {"annotations": {"a": "b"}}},
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"finalizers": ["a.b/c"]}},
        {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
    ):
        assert patched(scheduler, "PersistentVolumeClaim", "data", change, namespace).status == REFUSED
