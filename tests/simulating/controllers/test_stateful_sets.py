"""StatefulSets keep names, order, templates below the partition, and claims."""

from __future__ import annotations

import pytest
from msgspec import structs

from restow.simulating.api_server.store import ORPHAN
from restow.simulating.controllers.stateful_sets import POD_INDEX, POD_NAME
from restow.simulating.kubelets import READY_DELAY
from simulating.manifests import a_bare_pod, a_controller, a_template
from simulating.scenes import Scene


def db(replicas=3, image="example/db:1", ready="5s", **spec):
    """A StatefulSet whose pods run an image and take a while to be ready."""
    template = a_template("db", containers=[{"name": "c", "image": image}])
    template["metadata"]["annotations"] = {READY_DELAY: ready}
    return a_controller("StatefulSet", "db", replicas, template=template, **spec)


def watched(scene):
    """The pods that came (+) and went (-), in order."""
    seen = []

    def look(event):
        if event.old is None:
            seen.append(f"+{event.new.metadata.name[3:]}")
        elif event.new is None:
            seen.append(f"-{event.old.metadata.name[3:]}")

    scene.store.subscribe("Pod", look)
    return seen


def images(scene):
    """The versions of the images, by ordinal."""
    return [pod.spec["containers"][0]["image"][-1] for pod in scene.pods("db")]


def test_pods_come_one_after_the_other_and_go_from_the_last():
    """Each when the one before is ready."""
    scene = Scene()
    waiting = []
    scene.store.subscribe(
        "Pod", lambda event: waiting.append([pod.ready_since is None for pod in scene.pods()].count(True))
    )
    seen = watched(scene)
    scene.store.apply(db())
    scene.settle()
    assert seen == ["+0", "+1", "+2"]
    assert max(waiting) == 1
    pod = scene.get("Pod", "db-1")
    assert (pod.metadata.labels[POD_NAME], pod.metadata.labels[POD_INDEX]) == ("db-1", "1")
    assert pod.spec["hostname"] == "db-1"
    scene.store.apply(db(1))
    scene.settle()
    assert seen[3:] == ["-2", "-1"]
    status = scene.get("StatefulSet", "db").status
    assert (status.replicas, status.ready_replicas, status.updated_replicas) == (1, 1, 1)


def test_parallel_pods_wait_for_nobody():
    """All of them are there at once."""
    scene = Scene()
    scene.store.apply(db(4, podManagementPolicy="Parallel", ordinals={"start": 2}))
    scene.run(0.1)
    assert scene.names() == ["db-2", "db-3", "db-4", "db-5"]
    scene.settle()


def test_a_deleted_pod_comes_again_when_its_name_is_free():
    """Never beside the old one."""
    scene = Scene()
    scene.store.apply(db())
    scene.settle()
    old = scene.get("Pod", "db-1").metadata.uid
    seen = watched(scene)
    scene.delete("Pod", "db-1")
    scene.settle()
    assert seen == ["-1", "+1"]
    assert scene.get("Pod", "db-1").metadata.uid != old


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_an_update_goes_from_the_last_ordinal_down(policy):
    """One pod at a time, each ready before the next goes."""
    scene = Scene()
    scene.store.apply(db(podManagementPolicy=policy))
    scene.settle()
    first = scene.get("StatefulSet", "db").status.current_revision
    seen = watched(scene)
    scene.store.apply(db(image="example/db:2", podManagementPolicy=policy))
    scene.settle()
    assert seen == ["-2", "+2", "-1", "+1", "-0", "+0"]
    assert images(scene) == ["2", "2", "2"]
    status = scene.get("StatefulSet", "db").status
    assert status.current_revision == status.update_revision != first


def test_an_update_stops_at_the_partition():
    """A pod below it comes again with the old template, and the new one with the partition gone."""
    scene = Scene()
    scene.store.apply(db())
    scene.settle()
    parted = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    scene.store.apply(db(image="example/db:2", updateStrategy=parted))
    scene.settle()
    assert images(scene) == ["1", "1", "2"]
    for name in ("db-0", "db-2"):
        scene.delete("Pod", name)
        scene.settle()
    assert images(scene) == ["1", "1", "2"]
    status = scene.get("StatefulSet", "db").status
    assert (status.current_replicas, status.updated_replicas) == (2, 1)
    scene.store.apply(db(image="example/db:2"))
    scene.settle()
    assert images(scene) == ["2", "2", "2"]


def test_on_delete_only_what_others_delete_is_updated():
    """One by one."""
    scene = Scene()
    manual = {"type": "OnDelete"}
    scene.store.apply(db(updateStrategy=manual))
    scene.settle()
    scene.store.apply(db(image="example/db:2", updateStrategy=manual))
    scene.settle()
    assert images(scene) == ["1", "1", "1"]
    scene.delete("Pod", "db-1")
    scene.settle()
    assert images(scene) == ["1", "2", "1"]


def test_an_ordered_update_does_not_go_on_while_a_pod_is_not_ready():
    """Not even to the template that would help: what is broken has to be deleted by hand."""
    scene = Scene()
    scene.store.apply(db(2))
    scene.settle()
    scene.store.apply(db(2, image="example/db:2", ready="90m"))
    scene.run(300)
    scene.store.apply(db(2, image="example/db:1"))
    scene.run(300)
    assert images(scene) == ["1", "2"]
    scene.delete("Pod", "db-1")
    scene.settle(minutes=120)
    assert images(scene) == ["1", "1"]


def test_revisions_are_counted_on_and_old_ones_deleted():
    """A template that comes back has the last number."""
    scene = Scene()
    for image in ("1", "2", "3", "1"):
        scene.store.apply(db(1, image=f"example/db:{image}", revisionHistoryLimit=1))
        scene.settle()
    known = {each.revision for each in scene.store.list("ControllerRevision", "default")}
    assert known == {3, 4}


def test_of_two_revisions_alike_the_newest_is_the_current_one():
    """As a dump may have them. Neither is made the last one again and again."""
    scene = Scene()
    scene.store.apply(db(1))
    scene.settle()
    (first,) = scene.store.list("ControllerRevision", "default")
    twin = structs.replace(first, metadata=structs.replace(first.metadata, name="db-twin"), revision=first.revision + 1)
    scene.store.create(twin)
    for seconds in (1, 2):
        scene.store.apply(db(1, minReadySeconds=seconds))
        scene.settle()
    assert [each.revision for each in scene.store.list("ControllerRevision", "default")] == [1, 2]


def test_claims_stay_and_their_pods_find_a_node():
    """Also when the pod comes again."""
    scene = Scene()
    claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]
    scene.store.apply(db(2, volumeClaimTemplates=claims))
    scene.settle()
    scene.delete("Pod", "db-0")
    scene.settle()
    assert [pod.status.phase for pod in scene.pods()] == ["Running", "Running"]
    names = [each.metadata.name for each in scene.store.list("PersistentVolumeClaim", "default")]
    assert names == ["data-db-0", "data-db-1"]
    assert scene.get("Pod", "db-0").spec["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
    ]


def test_a_new_one_takes_over_what_an_old_one_left():
    """Pods and revisions that were kept when the old one was deleted."""
    scene = Scene()
    scene.store.apply(db(2))
    scene.settle()
    before = [pod.metadata.uid for pod in scene.pods()]
    scene.delete("StatefulSet", "db", propagation=ORPHAN)
    scene.settle()
    scene.store.apply(db(2))
    scene.settle()
    assert [pod.metadata.uid for pod in scene.pods()] == before
    (revision,) = scene.store.list("ControllerRevision", "default")
    assert revision.metadata.controller.uid == scene.get("StatefulSet", "db").metadata.uid


def test_a_name_that_somebody_else_has_is_waited_for():
    """The pod comes within a minute of the end of the other one; until then the cluster is quiet."""
    scene = Scene()
    scene.store.apply(a_bare_pod("db-0"))
    scene.store.apply(db(1))
    scene.settle()
    assert scene.get("Pod", "db-0").metadata.controller is None
    scene.delete("Pod", "db-0")
    scene.run(90)
    assert scene.get("Pod", "db-0").metadata.controller.name == "db"


def test_an_update_side_by_side_waits_for_each_pod():
    """Parallel is how pods are created; they are updated one after the other."""
    scene = Scene()
    template = a_template("db")
    scene.store.apply(a_controller("StatefulSet", "db", 3, podManagementPolicy="Parallel", template=template))
    scene.settle()
    fewest = []
    scene.store.subscribe("Pod", lambda _: fewest.append(sum(pod.ready_since is not None for pod in scene.pods("db"))))
    template["spec"]["containers"][0]["image"] = "example/db:2"
    scene.store.apply(a_controller("StatefulSet", "db", 3, podManagementPolicy="Parallel", template=template))
    scene.settle()
    assert min(fewest) == 2
    assert scene.get("StatefulSet", "db").status.updated_replicas == 3
