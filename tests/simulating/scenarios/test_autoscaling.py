"""Autoscalers of a scenario: what may be said of them, and what the run tells of what they do."""

from __future__ import annotations

import pytest

from restow.errors import InputError
from simulating.manifests import a_template
from simulating.scenarios.staging import Staged

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": a_template("web")},
}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}}


def an_autoscaler(**spec):
    told = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 8, "metrics": [CPU]}
    meta = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    return meta | {"spec": told | spec}


def refused(**scenario):
    with pytest.raises(InputError) as raised:
        Staged(**scenario)
    return list(raised.value.sentences)


def test_a_workload_has_as_many_pods_as_the_usage_asks_for_that_the_scenario_sets():
    events = [{"at": "1m", "setUsage": "deployment/web", "to": {"cpu": "90m"}}]
    scene = Staged(start=[WEB, an_autoscaler()], events=events, horizontalPodAutoscalers={})
    assert len(scene.run(60).pods("web")) == 2
    assert len(scene.run(120).pods("web")) == 8


def test_without_the_controller_nobody_scales():
    events = [{"at": "1m", "setUsage": "deployment/web", "to": {"cpu": "90m"}}]
    assert len(Staged(start=[WEB, an_autoscaler()], events=events).run(600).pods("web")) == 2


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"tolerance": -1}, "s.yaml:3: horizontalPodAutoscalers.tolerance: must not be negative"),
        ({"syncPeriod": "0s"}, "s.yaml:3: horizontalPodAutoscalers.syncPeriod: must be more than 0; write 15s"),
        ({"syncperiod": "1s"}, 'unknown field "syncperiod"; did you mean "syncPeriod"?'),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, sentence):
    (found,) = refused(horizontalPodAutoscalers=settings)
    assert sentence in found


def test_an_autoscaler_that_cannot_be_simulated_is_refused():
    (found,) = refused(start=[an_autoscaler(metrics=[{"type": "Object"}])], horizontalPodAutoscalers={})
    assert (
        "start[0]: HorizontalPodAutoscaler web: spec.metrics[0].type: Object is not simulated; write Resource" in found
    )
    assert Staged(start=[an_autoscaler(metrics=[{"type": "Object"}])])


POOL = {
    "metadata": {"labels": {"pool": "spot"}},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}
SPOT = {"name": "spot", "template": POOL}


def test_nodes_come_for_pods_that_fit_nowhere_and_their_evictions_are_told():
    scene = Staged(nodes=0, start=[WEB], clusterAutoscaler={"groups": [SPOT]})
    assert {pod.node for pod in scene.run(120).pods("web")} == {"spot-1"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"groups": []},
            "clusterAutoscaler.groups: is empty: there is nothing to scale; write name, min, max and template",
        ),
        ({"groups": [SPOT], "scanInterval": "0s"}, "clusterAutoscaler.scanInterval: must be more than 0; write 10s"),
        ({"groups": [SPOT], "provisioning": "-1s"}, "clusterAutoscaler.provisioning: must not be negative"),
        ({"groups": [SPOT | {"min": 3, "max": 2}]}, "clusterAutoscaler.groups[0]: min must be from 0 to max"),
        ({"groups": [SPOT, SPOT]}, 'clusterAutoscaler.groups[1].name: "spot" is the name of another group'),
        ({"groups": [SPOT | {"name": ""}]}, "clusterAutoscaler.groups[0]: name is empty"),
        ({"groups": [SPOT | {"template": {}}]}, "clusterAutoscaler.groups[0]: template.metadata.labels is empty"),
        (
            {"groups": [SPOT | {"template": {"metadata": POOL["metadata"]}}]},
            "clusterAutoscaler.groups[0]: template.status.allocatable is empty",
        ),
        (
            {"groups": [SPOT | {"template": POOL | {"status": {"allocatable": {"cpu": "lots"}}}}]},
            "clusterAutoscaler.groups[0]: Node spot",
        ),
    ],
    ids=lambda each: str(each)[:60],
)
def test_a_cluster_autoscaler_that_means_nothing_is_refused(settings, sentence):
    (found,) = refused(clusterAutoscaler=settings)
    assert sentence in found
