"""What a scheduler writes, on a real API server and with the rights of kube-scheduler only."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from builders import Object, a_container, a_pod
from e2e.control_plane import ControlPlane
from e2e.waiting import wait_until
from restow.client.binding import (
    BindingRefused,
    Bound,
    Elsewhere,
    PodGone,
    Said,
    StatusChange,
    bind,
    claim_volume,
    preempt,
    select_node,
    unschedulable,
    write_status,
)
from restow.client.connection import connect
from restow.client.errors import Conflict
from restow.client.objects import ObjectRef
from restow.client.transport import Api, always

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]

#: Nobody serves it.
OURS = "nobody-else"
ROLES = ("system:kube-scheduler", "system:volume-scheduler")
NOW = 1_700_000_000.0


@pytest_asyncio.fixture
async def api(plane: ControlPlane, namespace: str) -> AsyncIterator[Api]:
    token = plane.service_account("binder", namespace, roles=ROLES)
    async with connect(str(plane.kubeconfig_for(token, f"binder-{namespace}")), qps=-1) as made:
        yield made


def waiting(plane: ControlPlane, namespace: str, name: str, **spec: object) -> Object:
    pod = a_pod(name, namespace=namespace, containers=[a_container("c", image="example/app:1")])
    pod["spec"] |= {"schedulerName": OURS, **spec}
    pod.pop("status", None)
    return plane.admin.create(pod)


def ref(thing: Object) -> ObjectRef:
    metadata = thing["metadata"]
    return ObjectRef(metadata.get("namespace", ""), metadata["name"], metadata["uid"], metadata["resourceVersion"])


def conditions(plane: ControlPlane, pod: Object) -> dict[str, Object]:
    metadata = pod["metadata"]
    found = plane.admin.get("Pod", metadata["name"], metadata["namespace"])
    return {each["type"]: each for each in found["status"].get("conditions", ())}


async def test_a_pod_is_bound_once(plane: ControlPlane, api: Api, namespace: str) -> None:
    first, second = sorted(each["metadata"]["name"] for each in plane.admin.items("Node"))[:2]
    pod = waiting(plane, namespace, "web")

    assert await bind(api, ref(pod), first, permit=always) == Bound()
    assert await bind(api, ref(pod), first, permit=always) == Bound()
    elsewhere = await bind(api, ref(pod), second, permit=always)

    assert isinstance(elsewhere, Elsewhere)
    assert elsewhere.node == first
    assert conditions(plane, pod)["PodScheduled"]["status"] == "True"


async def test_a_pod_that_may_not_be_bound(plane: ControlPlane, api: Api, namespace: str) -> None:
    node = plane.admin.items("Node")[0]["metadata"]["name"]
    gated = waiting(plane, namespace, "gated", schedulingGates=[{"name": "example.com/wait"}])
    other = ObjectRef(namespace, "gated", "another")

    assert isinstance(await bind(api, ref(gated), node, permit=always), BindingRefused)
    assert isinstance(await bind(api, other, node, permit=always), PodGone)
    assert isinstance(await bind(api, ObjectRef(namespace, "nobody", "u"), node, permit=always), PodGone)


async def test_conditions_and_nominations(plane: ControlPlane, api: Api, namespace: str) -> None:
    pod = waiting(plane, namespace, "web")
    nobody = unschedulable("0/5 nodes are available: 5 Insufficient cpu.")

    await write_status(api, ref(pod), StatusChange(nobody, None, "node-1", 1), NOW, permit=always)
    told = conditions(plane, pod)["PodScheduled"]
    later = StatusChange(unschedulable("else"), nobody, "")
    await write_status(api, ref(plane.admin.get("Pod", "web", namespace)), later, NOW + 60, permit=always)

    assert (told["reason"], told["message"], told["observedGeneration"]) == (nobody.reason, nobody.message, 1)
    again = conditions(plane, pod)["PodScheduled"]
    assert (again["message"], again["lastTransitionTime"]) == ("else", told["lastTransitionTime"])
    assert "nominatedNodeName" not in plane.admin.get("Pod", "web", namespace)["status"]
    other = ObjectRef(namespace, "web", "another")
    with pytest.raises(Conflict):
        await write_status(api, other, StatusChange(Said("PodScheduled", "False", "x", "y")), NOW, permit=always)


async def test_a_victim_is_deleted_as_it_was_judged(plane: ControlPlane, api: Api, namespace: str) -> None:
    pod = waiting(plane, namespace, "victim", terminationGracePeriodSeconds=600)
    changed = plane.admin.patch("Pod", "victim", {"metadata": {"labels": {"app": "else"}}}, namespace)

    with pytest.raises(Conflict):
        await preempt(api, ref(pod), "my-scheduler", time.time(), permit=always)
    assert "DisruptionTarget" not in conditions(plane, pod)

    await preempt(api, ref(changed), "my-scheduler", time.time(), permit=always)
    wait_until("the victim is gone", lambda: plane.admin.find("Pod", "victim", namespace) is None, 120)
    await preempt(api, ref(changed), "my-scheduler", time.time(), permit=always)
    user = f"system:serviceaccount:{namespace}:binder"
    assert [call.response_status.code for call in plane.audit.calls("patch", "pods", "status", user=user)] == [
        409,
        200,
        404,
    ]


def a_claim(namespace: str, **spec: object) -> Object:
    requested = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": namespace},
        "spec": {**requested, **spec},
    }


async def test_a_claim_and_its_volume(plane: ControlPlane, api: Api, namespace: str) -> None:
    """The controller binds the claim to the volume that was reserved for it, not before."""
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": f"{namespace}-late"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-disk"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage["metadata"]["name"],  # type: ignore[index]
            "hostPath": {"path": "/nowhere"},
        },
    }
    plane.admin.create(storage)
    disk = plane.admin.create(volume)
    claim = plane.admin.create(a_claim(namespace, storageClassName=f"{namespace}-late"))
    stale = ObjectRef(namespace, "data", claim["metadata"]["uid"], "1")

    with pytest.raises(Conflict):
        await select_node(api, stale, "node-1", permit=always)
    await select_node(api, ObjectRef(namespace, "data", stale.uid), "node-1", permit=always)
    now = plane.admin.get("PersistentVolumeClaim", "data", namespace)
    assert now["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "node-1"
    disk = plane.admin.get("PersistentVolume", disk["metadata"]["name"])
    await claim_volume(api, ref(disk), ref(now), permit=always)

    def bound() -> bool:
        found = plane.admin.get("PersistentVolumeClaim", "data", namespace)
        return found["status"].get("phase") == "Bound" and found["spec"]["volumeName"] == f"{namespace}-disk"

    wait_until("the claim is bound", bound, 120)
