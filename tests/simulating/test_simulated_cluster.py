"""The view is at any time the state that a dump of the store's objects would give."""

from __future__ import annotations

import msgspec
import pytest

from builders import a_node, a_pdb
from restow.cluster.snapshot import ClusterStore
from restow.kube.manifests import document_of, manifest_of
from restow.kube.objects import KINDS
from restow.simulating.simulated_cluster import SimulatedCluster, TrailingCluster
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenes import Scene


def dumped(store):
    """The cluster that a dump of a store gives."""
    read = ClusterStore()
    for kind, wire in KINDS.items():
        pages = [msgspec.json.decode(msgspec.json.encode(document_of(each)), type=wire) for each in store.list(kind)]
        read.add(kind, pages)
    return read.snapshot()


def told(cluster, exists, nodes):
    """Everything that can be said of the pods that exist, by name, and of other objects."""
    pods, tables = cluster.pods, cluster.pods.tables
    names = [name for name in tables.__slots__ if name not in ("namespaces", "held")]
    return {
        pods.full_name(pod): (
            [getattr(tables, name)[getattr(pods, name)[pod]] for name in names],
            nodes[pods.node[pod]] if pods.node[pod] >= 0 else None,
            [getattr(pods, name)[pod] for name in ("uids", "phase", "priority", "created", "started", "flags", "qos")],
        )
        for pod in pods.where(exists).tolist()
    }


def check(scene, view):
    """The view's state against a dump."""
    state, cluster = view.state, dumped(scene.store)
    expected = told(cluster, cluster.pods.read(), cluster.nodes.names)
    assert told(state.cluster, state.exists, state.cluster.nodes.names) == expected
    assert state.cluster.nodes.names == cluster.nodes.names
    for kind in ("ReplicaSet", "Deployment", "PodDisruptionBudget", "Namespace"):
        assert dict(state.cluster.kind(kind)) == dict(cluster.kind(kind)) or kind == "PodDisruptionBudget"
        assert state.cluster.kind(kind).keys() == cluster.kind(kind).keys()


@pytest.mark.parametrize("longest_past", [500_000, 20], ids=["remembers", "forgets"])
def test_a_cluster_that_trails_behind_is_what_a_dump_would_give_each_time_it_has_caught_up(longest_past):
    """A StatefulSet's pod is another one of the same name by then; also where the past is forgotten while it catches up."""
    scene = Scene(nodes=2)
    scene.store.apply(a_controller("StatefulSet", "db", 2))
    scene.settle()
    trailing = TrailingCluster(scene.store, SimulatedCluster(scene.store, longest_past=longest_past))
    check(scene, trailing.caught_up())
    scene.store.apply(a_controller("Deployment", "web", 6))
    scene.run(60)
    check(scene, trailing.caught_up())
    scene.store.delete("Pod", "default", "db-0")
    scene.store.apply(a_controller("Deployment", "web", 3))
    scene.store.load(manifest_of(a_node("n0", cpu="4", memory="8Gi")))
    scene.settle()
    check(scene, trailing.caught_up())
    trailing.caught_up().state.validate()


def test_a_view_is_what_a_dump_would_give():
    """While pods and nodes come, change and go, also where the past is forgotten in between."""
    scene = Scene(nodes=3)
    forgetful = SimulatedCluster(scene.store, longest_past=10)
    scene.store.apply(a_controller("Deployment", "web", 4))
    scene.store.apply(manifest_of(a_pdb("web", selector={"matchLabels": {"app": "web"}}, max_unavailable=1)))
    scene.store.apply(manifest_of({"kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "a"}}}))
    for seconds in (0.02, 0.05, 1, 3, 60):
        scene.run(seconds)
        check(scene, scene.simulation.view)
        check(scene, forgetful)
    scene.store.apply(a_bare_pod("p", tolerations=[{"operator": "Exists"}], priority=7))
    scene.store.load(manifest_of(a_node("n0", cpu="4", memory="8Gi")))
    scene.store.delete("Node", "", "n2")
    scene.kubelets.stop_node("n1")
    for seconds in (1, 60, 400):
        scene.run(seconds)
        check(scene, scene.simulation.view)
        check(scene, forgetful)
    assert forgetful.epoch > 5


def test_schedulers_hear_of_claims_and_namespaces_that_come_later():
    """A pod whose claim comes after the scheduler has begun gets a node."""
    scene = Scene(nodes=2)
    scene.store.apply(a_bare_pod("first"))
    scene.settle()
    volume = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    scene.store.apply(a_bare_pod("p", volumes=volume))
    scene.run(10)
    assert scene.get("Pod", "p").node == ""
    bound = {"metadata": {"name": "data", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}
    claim = bound | {"kind": "PersistentVolumeClaim", "spec": {"volumeName": "v"}, "status": {"phase": "Bound"}}
    scene.store.apply(manifest_of({"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {}}))
    scene.store.apply(manifest_of(claim))
    scene.run(600)
    assert scene.get("Pod", "p").node
