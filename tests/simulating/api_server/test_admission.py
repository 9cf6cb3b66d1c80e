"""Simulated controllers make the pods that the real ones would: with what admission adds, and what is recommended."""

from __future__ import annotations

from typing import Any

import pytest

from builders import NOW, a_node
from proving.simulated_pods import Simulated
from restow.kube.manifests import manifest_of
from workloads.test_next_pod import a_controller, a_running_pod, a_template, an_autoscaler, small

Object = dict[str, Any]
STATUS = {
    "phase": "Running",
    "startTime": NOW,
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": NOW}],
}


def new_pod(pod: Object, *others: Object) -> Object:
    """The spec of the pod that comes once another one is evicted."""
    simulated = Simulated([a_node("n1", cpu="32"), pod | {"status": STATUS}, *others], seed=1)
    before = simulated.pods()
    simulated.landing_of(before[pod["metadata"]["uid"]])
    (new,) = [each for uid, each in simulated.pods().items() if uid not in before]
    return new.spec | {"labels": new.metadata.labels}


def a_set(template: Object | None = None) -> Object:
    """A ReplicaSet that wants one pod."""
    return a_controller(template=template, replicas=1, selector={"matchLabels": {"app": "web"}})


def requests(spec: Object) -> dict[str, Object]:
    """What each container requests."""
    return {each["name"]: each["resources"].get("requests", {}) for each in spec["containers"]}


def test_sidecars_tolerations_and_labels_are_added_again() -> None:
    sidecar = {"name": "proxy", "image": "", "resources": {"requests": {"cpu": "2"}}}
    pod = a_running_pod(
        "web-0",
        sidecar,
        small("4"),
        labels={"app": "web", "mesh": "on"},
        tolerations=[{"key": "gpu", "operator": "Exists"}],
    )
    made = new_pod(pod, a_set())
    assert list(requests(made)) == ["proxy", "app"]
    assert {"key": "gpu", "operator": "Exists"} in made["tolerations"]
    assert made["labels"]["mesh"] == "on"


def test_a_resized_pod_comes_back_as_its_template_says() -> None:
    assert requests(new_pod(a_running_pod("web-0", small(), generation=2), a_set())) == {"app": {"cpu": "4"}}


def test_what_admission_adds_is_seen_in_pods_that_were_not_resized() -> None:
    """The template requests nothing, admission gave each pod 100m, and one of the pods was resized since."""
    nothing = a_template({"name": "app", "image": "", "resources": {}})
    resized = a_running_pod("web-0", small("1"), generation=2)
    controller = a_controller(template=nothing, replicas=2, selector={"matchLabels": {"app": "web"}})
    made = new_pod(a_running_pod("web-1", small("100m")), resized | {"status": STATUS}, controller)
    assert requests(made) == {"app": {"cpu": "100m"}}


def test_limits_are_requests_where_nothing_is_requested() -> None:
    app = {"name": "app", "image": "", "resources": {"limits": {"cpu": "3"}}}
    assert requests(new_pod(a_running_pod("web-0", small("3")), a_set(a_template(app)))) == {"app": {"cpu": "3"}}


@pytest.mark.parametrize(("mode", "expected"), [("Off", "4"), ("Initial", "2")])
def test_an_autoscaler_sets_the_requests_of_new_pods(mode: str, expected: str) -> None:
    autoscaler = an_autoscaler(mode, {"cpu": "2"})
    assert requests(new_pod(a_running_pod(), a_set(), autoscaler)) == {"app": {"cpu": expected}}


def test_a_controller_that_makes_its_first_pod_has_nothing_to_learn_from() -> None:
    simulated = Simulated([a_node("n1", cpu="32")], seed=1)
    simulated.store.apply(manifest_of(a_set()))
    simulated.run(60)
    (pod,) = simulated.pods().values()
    assert requests(pod.spec) == {"app": {"cpu": "4"}}
