"""Nodes in trouble are tainted, their pods leave when they do not tolerate that any more, and come back elsewhere."""

from __future__ import annotations

from msgspec import structs

from builders import a_node
from restow.kube.manifests import manifest_of
from restow.kube.objects import Taint
from restow.simulating.api_server.changes import with_condition
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenes import Scene


def taints(scene, name):
    """Key and effect of a node's taints."""
    return {(each.key.partition("/")[2], each.effect) for each in scene.store.get("Node", "", name).spec.taints or ()}


def phases(scene, node):
    """Whether each pod of a node terminates."""
    return [pod.metadata.is_terminating for pod in scene.store.on_node(node)]


def test_a_node_that_falls_silent_is_left_after_five_minutes():
    """50 s until it is unreachable, 300 s until its pods are deleted; they stay until somebody hears of the node."""
    scene = Scene(nodes=4)
    scene.store.apply(a_controller("ReplicaSet", "web", 8))
    scene.settle()
    begun = scene.clock.now
    scene.kubelets.stop_node("n1")
    scene.run(49)
    assert taints(scene, "n1") == set()
    scene.run(3)
    assert taints(scene, "n1") == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
    assert all(pod.ready_since is None for pod in scene.store.on_node("n1"))
    scene.run(297)
    assert phases(scene, "n1") == [False, False]
    scene.run(10)
    assert phases(scene, "n1") == [True, True]
    assert len([pod for pod in scene.pods("web") if pod.is_active and pod.node != "n1"]) == 8
    scene.run(3600)
    assert phases(scene, "n1") == [True, True]
    scene.kubelets.start_node("n1")
    scene.settle()
    assert (taints(scene, "n1"), phases(scene, "n1")) == (set(), [])
    assert scene.clock.now > begun


def test_a_node_that_comes_back_in_time_keeps_its_pods():
    """The time of their tolerations is over with the taint."""
    scene = Scene(nodes=3)
    scene.store.apply(a_controller("ReplicaSet", "web", 3))
    scene.settle()
    before = scene.names()
    scene.kubelets.stop_node("n1")
    scene.run(200)
    scene.kubelets.start_node("n1")
    scene.run(600)
    assert scene.names() == before
    assert taints(scene, "n1") == set()
    assert all(pod.ready_since for pod in scene.pods())


def test_nodes_of_a_zone_are_not_all_left_at_once():
    """One each ten seconds."""
    scene = Scene(nodes=10)
    for name in ("n1", "n2", "n3"):
        scene.kubelets.stop_node(name)
    scene.run(51)

    def left():
        return sum(("unreachable", "NoExecute") in taints(scene, f"n{number}") for number in range(1, 11))

    counts = [left()]
    for _ in range(3):
        scene.run(10)
        counts.append(left())
    assert counts == [1, 2, 3, 3]


def test_where_all_nodes_are_silent_no_pod_is_driven_away():
    """Then it is not the nodes that are cut off."""
    scene = Scene(nodes=3)
    scene.store.apply(a_controller("ReplicaSet", "web", 3))
    scene.settle()
    before = scene.names()
    for name in ("n1", "n2", "n3"):
        scene.kubelets.stop_node(name)
        scene.run(30)
    assert taints(scene, "n1") == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
    scene.run(3600)
    assert taints(scene, "n1") == {("unreachable", "NoSchedule")}
    assert scene.names() == before
    assert not any(pod.metadata.is_terminating for pod in scene.pods())


def test_what_a_node_reports_becomes_a_taint():
    """So does being cordoned; both go with their reason."""
    scene = Scene(nodes=2)
    pressed = manifest_of(a_node("n1", cpu="4", memory="8Gi"))
    condition = manifest_of(
        {
            "kind": "Node",
            "metadata": {"name": "x"},
            "status": {"conditions": [{"type": "DiskPressure", "status": "True"}]},
        }
    ).status.conditions
    node = scene.store.get("Node", "", "n1")
    cordoned = structs.replace(node.spec, unschedulable=True)
    scene.store.update(structs.replace(node, spec=cordoned, status=structs.replace(node.status, conditions=condition)))
    scene.run(1)
    assert taints(scene, "n1") == {("disk-pressure", "NoSchedule"), ("unschedulable", "NoSchedule")}
    node = scene.store.get("Node", "", "n1")
    scene.store.update(
        structs.replace(node, spec=structs.replace(node.spec, unschedulable=False), status=pressed.status)
    )
    scene.run(1)
    assert taints(scene, "n1") == set()


def test_a_taint_that_expels_spares_those_who_tolerate_it_and_budgets_do_not_count():
    """For as long as they say."""
    scene = Scene(nodes=1)
    tolerated = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute"}
    scene.store.apply(a_bare_pod("stays", tolerations=[tolerated]))
    scene.store.apply(a_bare_pod("leaves", tolerations=[tolerated | {"tolerationSeconds": 60}]))
    scene.store.apply(a_bare_pod("goes"))
    scene.settle()
    node = scene.store.get("Node", "", "n1")
    expelling = (Taint("maintenance", "", "NoExecute"),)
    scene.store.update(structs.replace(node, spec=structs.replace(node.spec, taints=expelling)))
    scene.run(5)
    assert scene.names() == ["leaves", "stays"]
    scene.run(70)
    assert scene.names() == ["stays"]


def test_pods_of_a_node_that_is_gone_are_deleted():
    """After 40 s, without asking their kubelet."""
    scene = Scene(nodes=2)
    scene.store.apply(a_controller("ReplicaSet", "web", 2))
    scene.settle()
    scene.store.delete("Node", "", "n1")
    scene.run(35)
    assert len(scene.store.on_node("n1")) == 1
    scene.settle()
    assert len(scene.store.on_node("n1")) == 0
    assert [pod.node for pod in scene.pods("web")] == ["n2", "n2"]


def test_a_node_out_of_service_lets_go_of_pods_that_cannot_end():
    """What an operator does with a machine that is known to be off."""
    scene = Scene(nodes=3)
    scene.store.apply(a_controller("ReplicaSet", "web", 3))
    scene.settle()
    scene.kubelets.stop_node("n1")
    scene.run(400)
    assert phases(scene, "n1") == [True]
    node = scene.store.get("Node", "", "n1")
    out = (*node.spec.taints, Taint("node.kubernetes.io/out-of-service", "", "NoExecute"))
    scene.store.update(structs.replace(node, spec=structs.replace(node.spec, taints=out)))
    scene.settle()
    assert phases(scene, "n1") == []


def test_pods_of_a_node_that_says_it_is_not_ready_stay_ready():
    """Only where a node says nothing any more, others say it of its pods."""
    scene = Scene(2)
    scene.store.apply(a_controller("ReplicaSet", "web", 2))
    scene.settle()
    node = scene.store.get("Node", "", scene.pods("web")[0].node)
    scene.store.update(with_condition(node, "Ready", "False", scene.clock.text))
    scene.run(60)
    assert all(pod.ready_since is not None for pod in scene.pods("web"))
