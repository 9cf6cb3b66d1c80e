"""Deployments roll out, roll back, scale and report as the real controller has them do."""

from __future__ import annotations

import pytest
from msgspec import structs

from restow.kube.timestamps import SECOND
from restow.simulating.controllers import rollouts
from restow.simulating.controllers.rollouts import REVISION
from restow.simulating.kubelets import READY_DELAY
from simulating.manifests import a_controller, a_template
from simulating.scenes import Scene


def web(replicas=4, image="example/app:1", **spec):
    """A Deployment whose pods run an image."""
    template = a_template("web", containers=[{"name": "c", "image": image}])
    template["metadata"]["annotations"] = spec.pop("annotations", {})
    return a_controller("Deployment", "web", replicas, template=template, **spec)


def images(scene):
    """The images of the pods, in order."""
    return sorted(pod.spec["containers"][0]["image"] for pod in scene.pods("web") if pod.is_active)


def revisions(scene):
    """Revision and size of the ReplicaSets, by revision."""
    sets = scene.store.list("ReplicaSet", "default")
    return sorted((int(each.metadata.annotation(REVISION)), each.spec.replicas) for each in sets)


def progress(scene):
    """Status and reason of the condition Progressing."""
    status = scene.get("Deployment", "web").status
    return next((each.status, each.reason) for each in status.conditions if each.type == "Progressing")


def watched(scene):
    """How many pods of the Deployment there are and how many are available, after each change of one of its ReplicaSets."""
    seen = []

    def look(_):
        sets = scene.store.list("ReplicaSet", "default")
        seen.append((sum(each.spec.replicas for each in sets), sum(each.status.available_replicas for each in sets)))

    scene.store.subscribe("ReplicaSet", look)
    return seen


def test_a_deployment_has_its_pods_by_a_replica_set():
    """Named after the template, of revision 1."""
    scene = Scene()
    scene.store.apply(web())
    scene.settle()
    (made,) = scene.store.list("ReplicaSet", "default")
    found = made.metadata.labels["pod-template-hash"]
    assert made.metadata.name == f"web-{found}"
    assert made.spec.selector.match_labels == {"app": "web", "pod-template-hash": found}
    assert all(pod.metadata.name.startswith(f"web-{found}-") for pod in scene.pods("web"))
    status = scene.get("Deployment", "web").status
    assert (status.replicas, status.updated_replicas, status.available_replicas) == (4, 4, 4)
    assert {(each.type, each.status, each.reason) for each in status.conditions} == {
        ("Available", "True", "MinimumReplicasAvailable"),
        ("Progressing", "True", "NewReplicaSetAvailable"),
    }


@pytest.mark.parametrize(
    ("surge", "unavailable", "most", "least"),
    [(None, None, 10, 6), (0, 1, 8, 7), (2, 0, 10, 8), ("100%", "0%", 16, 8), (0, 0, 8, 7)],
)
def test_a_rolling_update_stays_within_its_limits(surge, unavailable, most, least):
    """Never more pods than the surge allows, never fewer available ones; defaults are 25 % of both."""
    rule = {} if surge is None else {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    strategy = {"type": "RollingUpdate"} | rule
    scene = Scene()
    scene.store.apply(web(8, strategy=strategy))
    scene.settle()
    seen = watched(scene)
    scene.store.apply(web(8, image="example/app:2", strategy=strategy))
    scene.settle()
    assert images(scene) == ["example/app:2"] * 8
    assert max(pods for pods, _ in seen) == most
    assert min(available for _, available in seen) == least
    assert revisions(scene) == [(1, 0), (2, 8)]


def test_recreate_waits_until_the_last_old_pod_is_gone():
    """No old pod is beside a new one."""
    scene = Scene()
    recreate = {"type": "Recreate"}
    scene.store.apply(web(3, strategy=recreate))
    scene.settle()
    together = []
    scene.store.subscribe(
        "Pod", lambda _: together.append({pod.spec["containers"][0]["image"] for pod in scene.pods()})
    )
    scene.store.apply(web(3, image="example/app:2", strategy=recreate))
    scene.settle()
    assert max(map(len, together)) == 1
    assert images(scene) == ["example/app:2"] * 3


def test_an_old_template_is_rolled_back_to_with_its_replica_set():
    """Which gets the last revision."""
    scene = Scene()
    for image in ("example/app:1", "example/app:2", "example/app:1"):
        scene.store.apply(web(2, image=image))
        scene.settle()
    assert revisions(scene) == [(2, 0), (3, 2)]
    assert images(scene) == ["example/app:1"] * 2
    assert scene.get("Deployment", "web").metadata.annotation(REVISION) == "3"


def test_only_the_last_revisions_are_kept():
    """As many old ones as ``revisionHistoryLimit``."""
    scene = Scene()
    for number in range(5):
        scene.store.apply(web(1, image=f"example/app:{number}", revisionHistoryLimit=2))
        scene.settle()
    assert revisions(scene) == [(3, 0), (4, 0), (5, 1)]


def test_a_paused_deployment_is_scaled_but_not_updated():
    """Until it goes on."""
    scene = Scene()
    scene.store.apply(web(2))
    scene.settle()
    scene.store.apply(web(4, image="example/app:2", paused=True))
    scene.settle()
    assert images(scene) == ["example/app:1"] * 4
    assert progress(scene) == ("Unknown", "DeploymentPaused")
    scene.store.apply(web(4, image="example/app:2"))
    scene.run(0.05)
    assert progress(scene)[1] != "DeploymentPaused"
    scene.settle()
    assert images(scene) == ["example/app:2"] * 4
    assert progress(scene) == ("True", "NewReplicaSetAvailable")


def test_scaling_in_the_middle_of_an_update_is_shared_in_proportion():
    """Both ReplicaSets grow."""
    scene = Scene(nodes=6)
    slow = {READY_DELAY: "10m"}
    scene.store.apply(web(10))
    scene.settle()
    scene.store.apply(web(10, image="example/app:2", annotations=slow))
    scene.run(60)
    before = dict(revisions(scene))
    scene.store.apply(web(20, image="example/app:2", annotations=slow))
    scene.run(60)
    after = dict(revisions(scene))
    assert before == {1: 8, 2: 5}
    assert after == {1: 15, 2: 10}


def test_an_update_without_progress_is_reported():
    """After ``progressDeadlineSeconds``, and it goes on all the same when there is progress."""
    scene = Scene()
    scene.store.apply(web(2))
    scene.settle()
    stuck = web(2, image="example/app:2", annotations={READY_DELAY: "20m"}, progressDeadlineSeconds=60)
    scene.store.apply(stuck)
    scene.run(300)
    assert progress(scene) == ("False", "ProgressDeadlineExceeded")
    scene.settle(minutes=120)
    assert progress(scene) == ("True", "NewReplicaSetAvailable")


def test_pods_of_a_deleted_deployment_go():
    """And its ReplicaSets."""
    scene = Scene()
    scene.store.apply(web(2))
    scene.settle()
    scene.delete("Deployment", "web")
    scene.settle()
    assert (scene.store.list("ReplicaSet"), scene.names()) == ([], [])


def test_a_name_that_another_replica_set_has_is_not_used():
    """The hash is another one then."""
    scene = Scene()
    scene.store.apply(web(1))
    scene.settle()
    (taken,) = scene.store.list("ReplicaSet", "default")
    scene.delete("Deployment", "web")
    scene.settle()
    foreign = a_controller("ReplicaSet", "foreign", 0)
    metadata = structs.replace(foreign.metadata, name=taken.metadata.name)
    scene.store.apply(structs.replace(foreign, metadata=metadata))
    scene.store.apply(web(1))
    scene.settle()
    assert len(scene.store.list("ReplicaSet", "default")) == 2
    assert len(scene.names("web")) == 1


def test_a_pod_that_is_evicted_does_not_restart_the_clock_of_a_complete_update():
    """The condition says since when the update is complete."""
    scene = Scene()
    scene.store.apply(web(2))
    scene.settle()
    before = scene.get("Deployment", "web").status.conditions
    scene.clock.run(scene.clock.now + 3600 * SECOND)
    scene.delete("Pod", scene.names()[0])
    scene.settle()
    after = {each.type: each for each in scene.get("Deployment", "web").status.conditions}
    assert after["Progressing"] == next(each for each in before if each.type == "Progressing")
    assert structs.asdict(after["Available"])["status"] == "True"


def test_an_update_that_has_not_begun_does_not_progress():
    """Recreate: until the last old pod is gone, the last update is the one that is complete."""
    scene = Scene()
    reasons = []

    def look(event):
        for each in event.new.status.conditions or ():
            if each.type == "Progressing" and each.reason not in reasons[-1:]:
                reasons.append(each.reason)

    scene.store.apply(a_controller("Deployment", "web", 2, strategy={"type": "Recreate"}))
    scene.settle()
    scene.store.subscribe("Deployment", look)
    template = a_template("web", containers=[{"name": "c", "image": "example/app:2"}])
    scene.store.apply(a_controller("Deployment", "web", 2, template=template, strategy={"type": "Recreate"}))
    scene.run(0.5)
    assert reasons == ["NewReplicaSetAvailable"]
    scene.settle()
    assert reasons == ["NewReplicaSetAvailable", "NewReplicaSetCreated", "ReplicaSetUpdated", "NewReplicaSetAvailable"]


@pytest.mark.parametrize(
    "text", ["²", "1_0", "9" * 5000, "", "-1"], ids=["superscript", "underscore", "long", "empty", "less"]
)
def test_sizes_that_somebody_has_noted_in_vain(text):
    """What is no number to Go is none here: the Deployment is scaled in the middle of a rollout all the same."""
    scene = Scene()
    scene.store.apply(web(4))
    scene.settle()
    scene.store.apply(web(4, image="example/app:2"))
    scene.run(1)
    for each in scene.store.list("ReplicaSet", "default"):
        noted = dict.fromkeys((rollouts.DESIRED, rollouts.MOST, REVISION), text)
        metadata = structs.replace(each.metadata, annotations=(each.metadata.annotations or {}) | noted)
        scene.store.update(structs.replace(each, metadata=metadata))
    scene.store.apply(web(6, image="example/app:2"))
    scene.settle()
    assert images(scene) == ["example/app:2"] * 6
