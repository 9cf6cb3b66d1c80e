"""Simulated kubelets start, restart and end pods, in the time that they are told."""

from __future__ import annotations

from msgspec import structs

from builders import a_node
from restow.kube.manifests import manifest_of
from restow.kube.timestamps import SECOND
from restow.simulating.actors import start_actors
from restow.simulating.kubelets import (
    DELETE_DELAY,
    EXIT_CODE,
    READY_DELAY,
    RUN_FOR,
    START_DELAY,
    KubeletSettings,
)
from restow.simulating.virtual_cluster import VirtualCluster
from simulating.manifests import a_bare_pod
from simulating.scenes import START, Scene


def told(**annotations):
    """Metadata with annotations."""
    return {"annotations": annotations}


def bound(scene, pod):
    """A pod that somebody has put on the first node without asking."""
    return bound_to(scene.store, pod)


def bound_to(store, pod):
    made = store.apply(pod)
    return store.update(structs.replace(made, spec={**made.spec, "nodeName": "n1"}))


def readiness(pod):
    """Its phase, and what its condition Ready says."""
    (ready,) = (each for each in pod.status.conditions or () if each.type == "Ready")
    return pod.status.phase, ready.status, ready.reason


def test_a_pod_starts_and_is_ready_when_its_annotations_say():
    """Otherwise after two seconds."""
    scene = Scene()
    scene.store.apply(a_bare_pod("quick"))
    scene.store.apply(a_bare_pod("slow", metadata=told(**{START_DELAY: "10s", READY_DELAY: "20s"})))
    scene.run(3)
    assert [pod.status.phase for pod in scene.pods()] == ["Running", "Pending"]
    scene.run(9)
    assert readiness(scene.get("Pod", "slow")) == ("Running", "False", "ContainersNotReady")
    scene.run(10)
    slow = scene.get("Pod", "slow")
    assert (slow.status.phase, slow.ready_since) == ("Running", None)
    scene.settle()
    assert scene.get("Pod", "slow").ready_since == "2026-01-01T00:00:30Z"


def test_a_pod_ends_within_its_grace_period():
    """However long it would like to take."""
    scene = Scene()
    metadata = told(**{DELETE_DELAY: "10m"})
    scene.store.apply(a_bare_pod("p", metadata=metadata, terminationGracePeriodSeconds=60))
    scene.settle()
    scene.delete("Pod", "p")
    scene.run(59)
    assert scene.names() == ["p"]
    scene.run(2)
    assert scene.names() == []


def test_a_node_refuses_what_is_too_much_for_it():
    """The pod has failed; the others stay."""
    scene = Scene(nodes=1)
    containers = [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]
    scene.store.apply(a_bare_pod("first", containers=containers))
    scene.settle()
    bound(scene, a_bare_pod("second", containers=containers))
    scene.settle()
    second = scene.get("Pod", "second")
    assert (second.status.phase, second.status.reason) == ("Failed", "OutOfcpu")
    assert scene.get("Pod", "first").status.phase == "Running"


def test_of_two_pods_that_are_bound_at_once_a_node_refuses_the_later_one():
    """Also if it hears of both at the same moment."""
    scene = Scene(nodes=1)
    containers = [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]
    for name in ("z", "a"):
        bound(scene, a_bare_pod(name, containers=containers))
    scene.settle()
    assert {pod.metadata.name: pod.status.phase for pod in scene.pods()} == {"z": "Running", "a": "Failed"}


def test_pods_that_are_to_end_do_and_those_that_fail_are_restarted_where_they_say():
    """With Never they have failed, with OnFailure they start again."""
    scene = Scene()
    for name, policy, code in (
        ("a", "Never", "0"),
        ("b", "Never", "3"),
        ("c", "OnFailure", "0"),
        ("d", "OnFailure", "1"),
    ):
        metadata = told(**{RUN_FOR: "5s", EXIT_CODE: code})
        scene.store.apply(a_bare_pod(name, metadata=metadata, restartPolicy=policy))
    scene.run(60)
    assert [pod.status.phase for pod in scene.pods()] == ["Succeeded", "Failed", "Succeeded", "Running"]
    failed = scene.get("Pod", "b").status.container_statuses[0].state.terminated
    assert (failed.reason, failed.exit_code) == ("Error", 3)
    assert scene.get("Pod", "d").status.container_statuses[0].restart_count >= 2


def test_annotations_that_cannot_be_read_say_nothing():
    """The pod is as if it had none."""
    scene = Scene()
    metadata = told(**{START_DELAY: "soon", RUN_FOR: "-5s", EXIT_CODE: "many"})
    scene.store.apply(a_bare_pod("p", metadata=metadata, restartPolicy="Never"))
    scene.settle()
    assert scene.get("Pod", "p").status.phase == "Succeeded"


def test_a_stopped_kubelet_does_nothing_and_goes_on_when_it_is_back():
    """What was bound to its node meanwhile starts then."""
    scene = Scene(nodes=1)
    scene.kubelets.stop_node("n1")
    bound(scene, a_bare_pod("p"))
    scene.run(30)
    assert scene.get("Pod", "p").status.phase == "Pending"
    scene.kubelets.start_node("n1")
    scene.settle()
    assert scene.get("Pod", "p").status.phase == "Running"


def restarts(scene, name):
    """How often the containers of a pod have been started again, and what they wait for."""
    (status,) = scene.get("Pod", name).status.container_statuses
    waiting = status.state.waiting.reason if status.state and status.state.waiting else None
    return status.restart_count, waiting


def test_containers_that_end_again_and_again_wait_longer_each_time():
    """At once the first time, then 10 s, 20 s and so on; whoever has run for ten minutes begins anew."""
    scene = Scene()
    scene.store.apply(a_bare_pod("crashes", metadata=told(**{RUN_FOR: "1s", EXIT_CODE: "1"})))
    scene.run(6)
    assert restarts(scene, "crashes") == (1, "CrashLoopBackOff")
    scene.run(8)
    assert restarts(scene, "crashes") == (1, "CrashLoopBackOff")
    scene.run(3)
    assert restarts(scene, "crashes") == (2, "CrashLoopBackOff")
    scene.run(18)
    assert restarts(scene, "crashes") == (2, "CrashLoopBackOff")
    scene.run(3)
    assert restarts(scene, "crashes") == (3, "CrashLoopBackOff")


def test_containers_that_end_well_start_again_too_where_the_pod_is_to_run_for_ever():
    """Those of a pod that runs for longer than ten minutes never wait."""
    scene = Scene()
    scene.store.apply(a_bare_pod("p", metadata=told(**{RUN_FOR: "11m"})))
    scene.run(11 * 60 + 2.5)
    assert readiness(scene.get("Pod", "p")) == ("Running", "False", "ContainersNotReady")
    scene.run(11 * 60 * 3)
    assert restarts(scene, "p") == (3, None)


def test_a_cluster_with_a_pod_that_crashes_for_ever_is_quiet_at_last():
    """Once it waits for five minutes each time."""
    scene = Scene()
    scene.store.apply(a_bare_pod("crashes", metadata=told(**{RUN_FOR: "1s", EXIT_CODE: "1"})))
    scene.settle()
    assert restarts(scene, "crashes") == (6, "CrashLoopBackOff")


def test_a_node_pulls_the_images_that_it_lacks_one_after_the_other():
    """Each once; what its status tells of is there already."""
    simulation = VirtualCluster.at(START, 1)
    start_actors(simulation, kubelet_settings=KubeletSettings(pull=10 * SECOND))
    store, clock = simulation.store, simulation.clock
    store.load(manifest_of(a_node("n1", images={"here:1": 1})))
    for name, images in (("a", ["here:1"]), ("b", ["big:1", "bigger:1"]), ("c", ["big:1"]), ("d", ["other:1"])):
        containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
        bound_to(store, a_bare_pod(name, containers=containers))
    started = {}
    for _ in range(50):
        clock.run(clock.now + SECOND)
        for pod in store.list("Pod"):
            if pod.status.phase == "Running":
                started.setdefault(pod.metadata.name, (clock.now - START) // SECOND)
    assert started == {"a": 3, "b": 23, "c": 13, "d": 33}
