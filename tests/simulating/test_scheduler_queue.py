"""Which events a simulated kube-scheduler tries a pod again for, and which it does not."""

from __future__ import annotations

import pytest
from msgspec import structs

from builders import a_node, a_pod, claim_volume, node_affinity, node_term, pod_affinity, pod_term, selector
from builders.cluster_objects import a_pv, a_pvc, a_storage_class
from restow.kube.manifests import manifest_of
from restow.scheduling.queueing.queued_pods import QueuePlace
from simulating.scenes import Scene


def a_scene(*objects, nodes=1):
    scene = Scene(nodes=nodes, cpu="1")
    for each in objects:
        scene.store.load(manifest_of(each))
    return scene


def queued(scene, name="p"):
    pod = scene.get("Pod", name)
    return scene.scheduler.queue.get(pod.metadata.uid)


def node_of(scene, name="p"):
    return scene.get("Pod", name).node


FULL = a_pod("full", node="n1", cpu="900m", phase="Running")
NODE = a_node("n1", cpu="1", labels={"kubernetes.io/hostname": "n1"})
NEAR = a_pod("p", affinity=pod_affinity([pod_term(selector(labels={"app": "partner"}))]))
ON_SSD = a_pod("p", affinity=node_affinity([node_term(("disk", "In", "ssd"))]))


def bound(claim):
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return claim


def disk(kind):
    return a_node("n1", cpu="1", labels={"disk": kind})


def tainted(*keys):
    return a_node("n1", cpu="1", taints=[f"{key}:NoSchedule" for key in keys])


@pytest.mark.parametrize(
    ("there", "pod", "unhelpful", "helpful"),
    [
        pytest.param([FULL], a_pod("p", cpu="800m"), a_node("n2", cpu="500m"), a_node("n3", cpu="1"), id="node-added"),
        pytest.param([], ON_SSD, disk("hdd"), disk("ssd"), id="label"),
        pytest.param([tainted("a")], a_pod("p"), tainted("a", "b"), tainted(), id="taint-removed"),
        pytest.param(
            [NODE],
            NEAR,
            a_pod("stranger", cpu="1m"),
            a_pod("partner", cpu="1m", labels={"app": "partner"}),
            id="partner-placed",
        ),
        pytest.param(
            [a_storage_class("sc"), a_pv("v", storage_class="sc"), a_pvc("c", storage_class="sc")],
            a_pod("p", volumes=[claim_volume("c")]),
            a_pvc("another", storage_class="sc"),
            bound(a_pvc("c", storage_class="sc", volume="v")),
            id="claim-bound",
        ),
    ],
)
def test_a_pod_is_tried_again_for_what_helps_it_and_for_nothing_else(there, pod, unhelpful, helpful):
    scene = a_scene(*there)
    scene.store.create(manifest_of(pod))
    for each in (None, unhelpful):
        if each is not None:
            scene.store.load(manifest_of(each))
        scene.run(10)
        assert queued(scene).attempts == 1
    scene.store.load(manifest_of(helpful))
    scene.run(60)
    assert node_of(scene)
    assert len(scene.scheduler.queue) == 0


def test_a_pod_is_tried_again_when_another_one_leaves_its_node_and_not_when_it_only_comes():
    scene = a_scene(FULL)
    scene.store.create(manifest_of(a_pod("p", cpu="800m")))
    scene.store.create(manifest_of(a_pod("small", cpu="1m")))
    scene.run(10)
    assert (queued(scene).attempts, node_of(scene, "small")) == (1, "n1")
    scene.delete("Pod", "full")
    scene.run(60)
    assert node_of(scene) == "n1"


def test_a_gated_pod_is_tried_once_its_last_gate_is_removed():
    scene = a_scene()
    scene.store.create(manifest_of(a_pod("p", spec={"schedulingGates": [{"name": "a"}]})))
    scene.run(400)
    assert scene.scheduler.queue.lengths()[QueuePlace.GATED] == 1
    scene.store.update(structs.replace(scene.get("Pod", "p"), spec=manifest_of(a_pod("p")).spec))
    scene.run(1)
    assert node_of(scene) == "n1"


def test_a_pod_that_fits_nowhere_is_tried_again_after_five_minutes_and_lets_the_cluster_be_quiet():
    scene = a_scene(FULL)
    scene.store.create(manifest_of(a_pod("p", cpu="800m")))
    scene.settle()
    assert queued(scene).attempts == 1
    scene.run(299)
    assert queued(scene).attempts == 1
    scene.run(32)
    assert queued(scene).attempts == 2
    assert scene.scheduler.queue.incoming[QueuePlace.ACTIVE, "UnschedulableTimeout"] == 1


def test_pods_come_in_order_of_priority_and_the_preemptor_gets_the_place_of_its_victim():
    scene = a_scene(FULL)
    scene.store.create(manifest_of(a_pod("p", cpu="800m", priority=10)))
    scene.run(120)
    assert node_of(scene) == "n1"
    assert scene.get("Pod", "full") is None
