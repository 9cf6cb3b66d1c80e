"""What goes with its owner or its namespace, and in which order."""

from __future__ import annotations

import pytest

from restow.kube.manifests import manifest_of
from restow.simulating.api_server.store import FOREGROUND, TerminatingError
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenes import Scene


def gone(scene):
    """The kinds of all objects in the order in which they go."""
    kinds = []
    scene.store.subscribe_all(lambda event: kinds.append(event.kind) if event.new is None else None)
    return kinds


def test_in_the_foreground_an_object_goes_after_what_it_owns():
    """Pods, then their ReplicaSet, then the Deployment; nobody replaces them meanwhile."""
    scene = Scene()
    scene.store.apply(a_controller("Deployment", "web", 2))
    scene.settle()
    kinds = gone(scene)
    scene.delete("Deployment", "web", propagation=FOREGROUND)
    assert scene.get("Deployment", "web").metadata.is_terminating
    scene.settle()
    assert kinds == ["Pod", "Pod", "ReplicaSet", "Deployment"]


def test_an_object_that_owns_nothing_goes_at_once():
    """There is nothing to wait for."""
    scene = Scene()
    scene.store.apply(a_controller("Deployment", "web", 0))
    scene.store.apply(a_controller("ReplicaSet", "lone", 0))
    scene.settle()
    scene.delete("ReplicaSet", "lone", propagation=FOREGROUND)
    scene.settle()
    assert scene.get("ReplicaSet", "lone") is None


def test_a_namespace_goes_after_everything_in_it():
    """Pods first; nothing new comes into it."""
    scene = Scene()
    scene.store.create(manifest_of({"kind": "Namespace", "metadata": {"name": "default"}}))
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        scene.store.apply(a_controller(kind, kind.lower(), None if kind == "DaemonSet" else 2))
    scene.settle()
    kinds = gone(scene)
    assert scene.store.delete("Namespace", "", "default")
    with pytest.raises(TerminatingError, match="namespace default is deleted"):
        scene.store.create(a_bare_pod("late"))
    scene.settle()
    assert (kinds[:7], kinds[-1]) == (["Pod"] * 7, "Namespace")
    assert [kind for kind in scene.store.kinds() if scene.store.list(kind, "default")] == []


def test_a_namespace_with_pods_on_a_dead_node_is_quiet_and_goes_when_the_node_is_back():
    """Its kubelet alone can end them, and nobody knows when it answers."""
    scene = Scene(nodes=1)
    scene.store.create(manifest_of({"kind": "Namespace", "metadata": {"name": "default"}}))
    scene.store.apply(a_bare_pod("lone"))
    scene.settle()
    scene.kubelets.stop_node("n1")
    scene.settle()
    assert scene.store.delete("Namespace", "", "default")
    scene.settle()
    assert scene.names() == ["lone"]
    scene.kubelets.start_node("n1")
    scene.run(120)
    assert (scene.names(), scene.store.get("Namespace", "", "default")) == ([], None)
