"""HorizontalPodAutoscalers in a simulated cluster: which pods count, and what becomes of the workload."""

from __future__ import annotations

import pytest

from restow.kube.manifests import Other, manifest_of
from restow.kube.manifests.cluster_objects import Metadata
from restow.simulating.controllers.horizontal_pod_autoscalers import (
    AutoscalerSettings,
    HorizontalPodAutoscalers,
    check_spec,
)
from simulating.manifests import a_controller
from simulating.scenes import Scene


def an_autoscaler(name="web", *, target=50, most=10, metrics=None, **spec):
    used = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": target}}}
    told = {"scaleTargetRef": {"kind": "Deployment", "name": name}, "maxReplicas": most, "metrics": metrics or [used]}
    document = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": told | spec}
    return manifest_of(document | {"metadata": {"name": name, "namespace": "default"}})


class Scaling(Scene):
    """Three pods of ``web`` that request 100m of CPU, and an autoscaler."""

    def __init__(self, autoscaler=None, *, replicas=3, settings=None) -> None:
        super().__init__(3)
        self.scaled = []
        autoscalers = HorizontalPodAutoscalers(self.simulation, settings or AutoscalerSettings())
        autoscalers.listeners.append(lambda each: self.scaled.append((each.old, each.new)))
        self.store.apply(a_controller("Deployment", "web", replicas))
        self.store.apply(autoscaler or an_autoscaler())
        self.run(5)
        autoscalers.start()

    @property
    def replicas(self) -> int:
        return self.get("Deployment", "web").spec.replicas

    def use(self, cpu: str, *names: str) -> None:
        """Pods use so much from now on; without names all that are there."""
        for pod in self.pods("web"):
            if not names or pod.metadata.name in names:
                metadata = Metadata(name=pod.metadata.name, namespace="default")
                content = {"apiVersion": "metrics.k8s.io/v1beta1", "containers": [{"name": "c", "usage": {"cpu": cpu}}]}
                self.store.apply(Other("PodMetrics", metadata, content))


def test_more_pods_come_where_those_that_are_there_use_too_much():
    scene = Scaling()
    scene.use("100m")
    scene.run(31)
    assert scene.scaled == [(3, 6)]
    assert len(scene.pods("web")) == 6


def test_nothing_happens_without_metrics():
    assert Scaling().run(600).scaled == []


def test_the_number_goes_down_when_less_was_wanted_for_five_minutes():
    scene = Scaling()
    scene.use("20m")
    assert scene.run(290).replicas == 3
    assert scene.run(60).replicas == 2


def test_how_long_that_is_can_be_set():
    scene = Scaling(settings=AutoscalerSettings(downscale_stabilization=0))
    scene.use("20m")
    assert scene.run(30).replicas == 2


def test_pods_that_have_been_ready_for_less_than_their_metrics_cover_do_not_count():
    scene = Scaling()
    first = scene.names("web")
    scene.use("100m")
    scene.run(31)
    scene.use("100m", *set(scene.names("web")) - set(first))
    # The new pods, too, would ask for twice as many: not before they have been ready for 15 s.
    assert scene.replicas == 6
    assert scene.run(30).replicas == 10


@pytest.mark.parametrize(("replicas", "becomes"), [(1, 2), (12, 10)])
def test_a_number_out_of_bounds_is_brought_within_without_metrics(replicas, becomes):
    scene = Scaling(an_autoscaler(minReplicas=2), replicas=replicas)
    assert scene.run(20).scaled == [(replicas, becomes)]


def test_two_autoscalers_of_one_workload_keep_their_bounds_and_ask_for_nothing_else():
    scene = Scaling()
    other = an_autoscaler(minReplicas=4)
    scene.store.apply(Other(other.kind, Metadata(name="other", namespace="default"), other.content))
    scene.use("100m")
    assert scene.run(120).scaled == [(3, 4)]


def test_a_workload_of_no_pods_is_left_alone():
    assert Scaling(replicas=0).run(60).scaled == []


def test_pods_that_request_nothing_have_no_utilization():
    scene = Scaling()
    scene.store.apply(a_controller("Deployment", "web", 3, template=_without_requests()))
    scene.run(60)
    scene.use("1")
    assert scene.run(60).scaled == []


def _without_requests():
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "example/app:2"}]}}


def test_of_several_metrics_the_largest_number_counts():
    memory = {"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "1Mi"}}}
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageValue": "25m"}}}
    scene = Scaling(an_autoscaler(metrics=[cpu, memory]))
    scene.use("50m")
    # Nothing is known of memory, so fewer pods must not be there, but more may.
    assert scene.run(31).scaled == [(3, 6)]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"metrics": [{"type": "Pods"}]}, "spec.metrics[0].type: Pods is not simulated; write Resource"),
        ({"scaleTargetRef": {"kind": "Rollout", "name": "web"}}, "spec.scaleTargetRef.kind: Rollout is not simulated"),
        ({"maxReplicas": "many"}, "spec.maxReplicas: Expected `int`, got `str`"),
        ({"scaleTargetRef": {"kind": "Deployment"}}, "spec.scaleTargetRef: Object missing required field `name`"),
        ({"minReplicas": 11}, "spec.minReplicas must be from 1 to maxReplicas"),
        (
            {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"averageValue": "lots"}}}]},
            "spec.metrics[0].resource.target.averageValue: ",
        ),
        (
            {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {}}}]},
            "spec.metrics[0].resource.target needs averageUtilization or averageValue",
        ),
    ],
)
def test_what_cannot_be_simulated_is_named(spec, problem):
    autoscaler = an_autoscaler()
    told = Other(autoscaler.kind, autoscaler.metadata, autoscaler.content | {"spec": autoscaler.content["spec"] | spec})
    assert check_spec(told).startswith(problem)
    assert Scaling(told).run(60).scaled == []
