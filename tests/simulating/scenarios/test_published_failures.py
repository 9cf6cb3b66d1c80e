"""Failures of controllers that were published (Kivi, USENIX ATC 2024) and are no loops: what happens instead.

Those that are loops are scenarios in ``examples/scenarios/loops``, played in ``tests/docs/test_loops.py``.
"""

from __future__ import annotations

from builders import HOSTNAME, ZONE, a_node
from simulating.manifests import a_template
from simulating.scenarios.staging import Staged

NODES = [a_node(f"n{number}", labels={HOSTNAME: f"n{number}", ZONE: zone}) for number, zone in enumerate("aab", 1)]


def a_workload(replicas, **spec):
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    selected = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": a_template("web", **spec),
    }
    return document | {"spec": selected}


def an_autoscaler(least, most):
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}}
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": least, "maxReplicas": most}
    document = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    return document | {"spec": spec | {"metrics": [metric]}}


class Played(Staged):
    """A scenario of three nodes with a watcher of the replicas that web shall have."""

    def __init__(self, *start, **scenario):
        super().__init__(nodes=0, start=[*NODES, *start], horizontalPodAutoscalers={}, **scenario)
        self.replicas = []
        self.store.subscribe("Deployment", lambda event: self._on_event(event.new.spec.replicas))

    def _on_event(self, replicas):
        if self.replicas[-1:] != [replicas]:
            self.replicas.append(replicas)


def using(cpu, at):
    return {"at": at, "setUsage": "deployment/web", "to": {"cpu": cpu}}


def test_s3_a_replica_too_many_for_conflicting_constraints_stays_pending():
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        for key in (ZONE, HOSTNAME)
    ]
    expect = [{"never": {"loops": "any"}}, {"never": {"pods": "pending"}, "for": "5m"}]
    start = [a_workload(5, topologySpreadConstraints=spread), an_autoscaler(5, 6)]
    scene = Played(*start, events=[using("60m", "1m")], expect=expect).run(3600)
    on = [pod.node for pod in scene.pods("web")]
    assert (on.count(""), on.count("n1") + on.count("n2"), on.count("n3")) == (1, 3, 2)
    assert [outcome for outcome, _ in scene.outcomes()] == ["met", "failed"]


def test_h1_usage_that_is_high_at_the_start_overshoots_once():
    events = [using("80m", "1m"), using("30m", "2m")]
    expect = [{"never": {"loops": "any"}}]
    scene = Played(a_workload(2), an_autoscaler(2, 10), events=events, expect=expect).run(3600)
    assert scene.replicas[-1] < max(scene.replicas)
    peak = scene.replicas.index(max(scene.replicas))
    assert scene.replicas == sorted(scene.replicas[:peak]) + sorted(scene.replicas[peak:], reverse=True)
    assert [outcome for outcome, _ in scene.outcomes()] == ["met"]


def test_h2_a_manifest_that_is_applied_again_and_again_is_no_loop():
    events = [using("60m", "1m"), *({"at": f"{minute}m", "apply": a_workload(2)} for minute in (10, 20, 30, 40, 50))]
    expect = [{"never": {"loops": "any"}}]
    scene = Played(a_workload(2), an_autoscaler(2, 5), events=events, expect=expect).run(3600)
    assert scene.replicas.count(2) >= 5
    assert [outcome for outcome, _ in scene.outcomes()] == ["met"]
