"""Evictions respect disruption budgets, which are charged at once and given back when a replacement is ready."""

from __future__ import annotations

import pytest
from msgspec import structs

from builders import a_pdb
from restow.kube.manifests import manifest_of
from restow.simulating.api_server.eviction import CREATED, INTERNAL_ERROR, NOT_FOUND, TOO_MANY_REQUESTS, evict
from restow.simulating.kubelets import READY_DELAY
from simulating.manifests import a_controller, a_template
from simulating.scenes import Scene


def a_budget(name="web", **spec):
    """A budget over the pods of ``web``."""
    document = a_pdb(name, selector={"matchLabels": {"app": "web"}}, **spec)
    del document["status"]
    return manifest_of(document)


def a_scene(replicas=4, kind="ReplicaSet", template=None, **spec):
    """A settled cluster with that many pods of ``web`` and a budget."""
    scene = Scene()
    scene.store.apply(a_controller(kind, "web", replicas, template=template))
    scene.store.apply(a_budget(**spec))
    return scene.settle()


def counts(scene):
    """What the budget says: allowed, healthy, desired, expected."""
    status = scene.get("PodDisruptionBudget", "web").status
    return status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods


@pytest.mark.parametrize("kind", ["ReplicaSet", "Deployment", "ReplicationController"])
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"min_available": 3}, (1, 4, 3, 4)),
        ({"min_available": "30%"}, (2, 4, 2, 4)),
        ({"max_unavailable": 1}, (1, 4, 3, 4)),
        ({"max_unavailable": "30%"}, (2, 4, 2, 4)),
        ({"min_available": 9}, (0, 4, 9, 4)),
        ({}, (0, 4, 0, 0)),
    ],
)
def test_budgets_count_what_their_controllers_want(kind, spec, expected):
    """Percentages are rounded up."""
    assert counts(a_scene(kind=kind, **spec)) == expected


def test_a_budget_is_charged_at_once_and_given_back():
    """The second eviction of the same moment is refused, and allowed when the replacement is ready."""
    scene = a_scene(max_unavailable=1)
    first, second, *_ = scene.names()
    assert evict(scene.store, "default", first).code == CREATED
    answer = evict(scene.store, "default", second)
    assert answer.code == TOO_MANY_REQUESTS
    assert answer.message.startswith("Cannot evict pod as it would violate the pod's disruption budget.")
    going = scene.get("Pod", first)
    assert going.metadata.is_terminating
    assert ("DisruptionTarget", "EvictionByEvictionAPI") in {
        (each.type, each.reason) for each in going.status.conditions
    }
    scene.settle()
    assert counts(scene) == (1, 4, 3, 4)
    assert evict(scene.store, "default", second).is_evicted
    assert evict(scene.store, "default", first).code == NOT_FOUND


def test_two_budgets_over_a_pod_forbid_its_eviction():
    """Whatever they allow."""
    scene = a_scene(max_unavailable=4)
    scene.store.apply(a_budget("second", max_unavailable=4))
    scene.settle()
    assert evict(scene.store, "default", scene.names()[0]).code == INTERNAL_ERROR


def test_a_budget_that_the_controller_has_not_seen_refuses():
    """It says so."""
    scene = a_scene(max_unavailable=4)
    scene.store.apply(a_budget(max_unavailable=1))
    answer = evict(scene.store, "default", scene.names()[0])
    assert (answer.code, "still being processed" in answer.message) == (TOO_MANY_REQUESTS, True)


@pytest.mark.parametrize(
    ("policy", "minimum", "code"),
    [(None, 2, TOO_MANY_REQUESTS), (None, 1, CREATED), ("AlwaysAllow", 2, CREATED)],
)
def test_pods_that_are_not_ready_need_a_budget_only_where_that_lacks_healthy_ones(policy, minimum, code):
    """Unless it lets them go always."""
    template = a_template("web")
    template["metadata"]["annotations"] = {READY_DELAY: "90m"}
    scene = Scene()
    scene.store.apply(a_controller("ReplicaSet", "web", 2, template=template))
    scene.store.apply(a_budget(min_available=minimum, unhealthy_pod_eviction_policy=policy))
    scene.run(30)
    ready, waiting = scene.pods("web")
    conditions = tuple(
        structs.replace(each, type="Ready", status="True", last_transition_time="2026-01-01T00:00:10Z")
        for each in ready.status.conditions[:1]
    )
    scene.store.update(structs.replace(ready, status=structs.replace(ready.status, conditions=conditions)))
    scene.run(5)
    assert evict(scene.store, "default", waiting.metadata.name).code == code


def test_pods_of_a_controller_without_a_scale_are_protected():
    """The budget cannot be computed, so nothing is allowed."""
    scene = a_scene(max_unavailable=4)
    for pod in scene.pods("web"):
        owners = tuple(structs.replace(each, kind="Queue") for each in pod.metadata.owner_references)
        scene.store.update(structs.replace(pod, metadata=structs.replace(pod.metadata, owner_references=owners)))
    scene.run(1)
    status = scene.get("PodDisruptionBudget", "web").status
    assert (status.disruptions_allowed, status.conditions[0].reason) == (0, "SyncFailed")
