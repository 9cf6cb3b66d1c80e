"""ReplicaSets and ReplicationControllers keep as many pods as they should, and report them."""

from __future__ import annotations

import pytest
from msgspec import structs

from restow.simulating.api_server.store import ORPHAN
from restow.workloads.controllers import DELETION_COST
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenes import Scene


def labelled(pod, **labels):
    """A pod with these labels."""
    return structs.replace(pod, metadata=structs.replace(pod.metadata, labels=labels))


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_there_are_as_many_pods_as_replicas(kind):
    """They are scheduled, run and are ready, and the status says so."""
    scene = Scene()
    scene.store.apply(a_controller(kind, "web", 3))
    scene.settle()
    pods = scene.pods("web")
    assert [pod.status.phase for pod in pods] == ["Running"] * 3
    assert {pod.node for pod in pods} == {"n1", "n2", "n3"}
    assert [pod.metadata.controller.name for pod in pods] == ["web"] * 3
    status = scene.get(kind, "web").status
    assert (status.replicas, status.ready_replicas, status.available_replicas, status.observed_generation) == (
        3,
        3,
        3,
        1,
    )


def test_a_deleted_pod_is_replaced_beside_the_old_one():
    """The new one is created at once, and the old one vanishes when its kubelet is done."""
    scene = Scene()
    scene.store.apply(a_controller("ReplicaSet", "web", 2))
    scene.settle()
    before = scene.names()
    scene.delete("Pod", before[0])
    scene.run(0.5)
    assert len(scene.names()) == 3
    assert set(before) < set(scene.names())
    scene.settle()
    assert len(scene.names()) == 2
    assert before[0] not in scene.names()


def test_too_many_pods_go_by_what_their_deletion_costs():
    """The cheapest first; those that stay are the dearest."""
    scene = Scene()
    scene.store.apply(a_controller("ReplicaSet", "web", 4))
    scene.settle()
    for cost, pod in zip((5, -3, 9, 2), scene.pods(), strict=True):
        metadata = structs.replace(pod.metadata, annotations={DELETION_COST: str(cost)})
        scene.store.update(structs.replace(pod, metadata=metadata))
    dearest = [scene.names()[0], scene.names()[2]]
    scene.store.apply(a_controller("ReplicaSet", "web", 2))
    scene.settle()
    assert scene.names() == dearest


def test_a_pod_of_nobody_is_adopted_and_one_with_other_labels_is_let_go():
    """The number of pods that it has stays the same."""
    scene = Scene()
    scene.store.apply(a_bare_pod("stray", metadata={"labels": {"app": "web"}}))
    scene.store.apply(a_controller("ReplicaSet", "web", 2))
    scene.settle()
    assert len(scene.names("web")) == 2
    assert scene.get("Pod", "stray").metadata.controller.name == "web"
    scene.store.update(labelled(scene.get("Pod", "stray"), app="debug"))
    scene.settle()
    assert scene.get("Pod", "stray").metadata.controller is None
    assert len(scene.names("web")) == 2
    scene.store.update(labelled(scene.get("Pod", "stray"), app="web"))
    scene.settle()
    assert len(scene.names("web")) == 2


def test_pods_go_with_their_replica_set_unless_they_are_to_be_kept():
    """With ``orphan`` they stay, without an owner, and the next ReplicaSet of that selector takes them over."""
    scene = Scene()
    scene.store.apply(a_controller("ReplicaSet", "web", 2))
    scene.settle()
    before = scene.names()
    scene.delete("ReplicaSet", "web", propagation=ORPHAN)
    scene.settle()
    assert (scene.get("ReplicaSet", "web"), scene.names()) == (None, before)
    assert all(pod.metadata.controller is None for pod in scene.pods())
    scene.store.apply(a_controller("ReplicaSet", "web", 2))
    scene.settle()
    assert scene.names() == before
    scene.delete("ReplicaSet", "web")
    scene.settle()
    assert scene.names() == []


def test_a_pod_counts_as_available_once_it_has_been_ready_for_long_enough():
    """``minReadySeconds`` after it became ready."""
    scene = Scene()
    scene.store.apply(a_controller("ReplicaSet", "web", 1, minReadySeconds=30))
    scene.run(10)
    status = scene.get("ReplicaSet", "web").status
    assert (status.ready_replicas, status.available_replicas) == (1, 0)
    scene.settle()
    assert scene.get("ReplicaSet", "web").status.available_replicas == 1


def test_hundreds_of_pods_come_in_bursts():
    """All of them in the end."""
    scene = Scene(nodes=20)
    scene.store.apply(a_controller("ReplicaSet", "web", 700))
    scene.settle()
    assert scene.get("ReplicaSet", "web").status.ready_replicas == 700
