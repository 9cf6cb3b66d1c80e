"""Forecasts in a simulated cluster, whose controllers, schedulers and kubelets are restow's own, in many random futures.

Each outcome is the one that the simulation itself has recorded, and forecasts are as good as they say.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
import yaml

from builders import HOSTNAME, ZONE, Object, a_node, pod_anti_affinity, pod_term, selector, spread
from builders.policies import a_config, a_policy, a_profile, as_yaml
from restow.cluster.pod_values import PodNow
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.kube.duration import MINUTE, SECOND
from restow.kube.manifests import document_of
from restow.kube.objects import KINDS
from restow.policies.codes import Certainty
from restow.policies.policy import Policy
from restow.reporting.simulation_document import SimulationInputs
from restow.reporting.simulation_result import RunNames, SimulationResult, simulation_result
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.shadowing.evictions import EvictionWatch
from restow.shadowing.scoring import score
from restow.simulating.api_server.indexes import key_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario
from restow.simulating.scenarios.running import RunEnding, ScenarioRun, begin, config_of, run_out
from simulating.scenes import START

_DURATION = 40 * MINUTE


class SeenStore:
    """The objects of a simulated API server as a watch shows them."""

    def __init__(self, run: ScenarioRun) -> None:
        self.store = ClusterStore()
        self._clock = run.simulation.clock
        self.simulated = run.simulation.store
        for kind in KINDS:
            self.store.add(kind, [_read(each) for each in run.simulation.store.list(kind)])
        self.watch = EvictionWatch(self, (DEFAULT_PROFILE,), self.now)
        run.simulation.store.subscribe_all(self._see)

    def now(self) -> float:
        return self._clock.now / SECOND

    def snapshot(self) -> ClusterSnapshot:
        return self.store.snapshot()

    def pod(self, namespace: str, name: str) -> PodNow | None:
        return self.store.pod(namespace, name)

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        return self.store.pods_of(namespace, owner)

    def _see(self, event: ObjectEvent) -> None:
        if event.kind not in KINDS:
            return
        key = key_of(event.new or event.old)
        if event.new is None:
            self.store.remove(event.kind, *key)
        else:
            self.store.add(event.kind, [_read(event.new)])
        self.watch.touch(event.kind, [key])
        self.watch.settle()


def _read(each) -> object:
    document = document_of(each)
    return msgspec.json.decode(msgspec.json.encode(document), type=KINDS[document["kind"]])


def a_template(app: str, chance: random.Random) -> Object:
    ours = selector(labels={"app": app})
    rules = chance.choice(
        [
            {},
            {"affinity": pod_anti_affinity([pod_term(ours, topology=HOSTNAME)])},
            {"topologySpreadConstraints": [spread(1, ZONE, ours)]},
            {"nodeSelector": {ZONE: "a"}},
            {"nodeSelector": {HOSTNAME: "n1"}},
        ]
    )
    requests = {"cpu": chance.choice(("100m", "400m", "900m")), "memory": "100Mi"}
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}], **rules}
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


def a_workload(number: int, chance: random.Random) -> Object:
    app, kind = f"app-{number}", chance.choice(("Deployment", "Deployment", "StatefulSet"))
    labels = {"matchLabels": {"app": app}}
    spec = {"replicas": chance.randint(1, 4), "selector": labels, "template": a_template(app, chance)}
    if kind == "StatefulSet":
        spec["serviceName"] = app
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": app, "namespace": "default"}, "spec": spec}


def simulated(seed: int, tmp_path: Path) -> tuple[SeenStore, SimulationResult]:
    """A cluster in which a node is drained and the Descheduler's strategies evict without looking."""
    chance = random.Random(seed)
    nodes = [a_node(f"n{at}", cpu="2", labels={HOSTNAME: f"n{at}", ZONE: "ab"[at % 2]}) for at in range(1, 6)]
    strategies = [
        a_config("PodLifeTime", {"maxPodLifeTimeSeconds": 300}),
        a_config("RemoveDuplicates"),
        a_config("DefaultEvictor", {"podProtections": {"extraEnabled": []}}),
    ]
    profile = a_profile(*strategies, deschedule=["PodLifeTime"], balance=["RemoveDuplicates"])
    (tmp_path / "policy.yaml").write_bytes(as_yaml(a_policy(profile, maxNoOfPodsToEvictTotal=3)))
    written = {
        "apiVersion": "restow.dev/v1alpha1",
        "kind": "Scenario",
        "seed": seed,
        "start": [*nodes, *(a_workload(number, chance) for number in range(5))],
        "events": [{"at": "12m", "drain": "n2"}, {"at": "20m", "uncordon": "n2"}],
        "descheduler": {"policy": "policy.yaml", "every": "2m", "placement": "upstream"},
    }
    folder = Folder(tmp_path)
    scenario = read_scenario(yaml.safe_dump(written).encode(), "s.yaml", folder)
    run = begin(scenario, config_of(scenario, folder, Policy()), START)
    seen = SeenStore(run)
    seen.watch.begin()
    finished = run_out(scenario, run, RunEnding(_DURATION, when_stable=False), lambda _: None)
    result = simulation_result(scenario, finished, RunNames("s.yaml", "", SimulationInputs()))
    return seen, result


@pytest.fixture(scope="module")
def futures(tmp_path_factory) -> list[tuple[SeenStore, SimulationResult]]:
    """Some random clusters, with what was seen in each and what the simulation says."""
    return [simulated(seed, tmp_path_factory.mktemp("futures")) for seed in range(4)]


def test_every_eviction_is_seen(futures):
    for seen, result in futures:
        wanted = Counter(each.pod for each in result.evictions)
        assert Counter(f"{each.namespace}/{each.pod}" for each in seen.watch.evictions) == wanted
        assert wanted.total() > 20


def test_each_landing_is_the_one_that_the_simulation_says(futures):
    for seen, result in futures:
        found = {f"{each.namespace}/{each.pod}": (each.replacement, each.node) for each in seen.watch.evictions}
        evicted = Counter(each.pod for each in result.evictions)
        # A pod of a StatefulSet is evicted several times under one name.
        once = [each for each in result.evictions if each.replacement_node and evicted[each.pod] == 1]
        assert {each.pod: found[each.pod] for each in once} == {
            each.pod: (each.replacement, each.replacement_node) for each in once
        }


def test_forecasts_are_as_good_as_they_say(futures):
    """In bursts of evictions on full nodes, who comes first is open; what is certain nearly always comes true."""
    now = futures[0][0].now()
    evictions = [each for seen, _ in futures for each in seen.watch.evictions]
    certain, all_of_them = score(evictions, now, (Certainty.CERTAIN,)), score(evictions, now)
    assert certain.forecasts > 20
    assert certain.right >= 0.9 * certain.forecasts
    assert all_of_them.brier < 0.25
    # Three standard deviations at most of what so many independent landings have.
    assert abs(all_of_them.landed_on_node - all_of_them.expected_on_node) < 1.5 * all_of_them.forecasts**0.5


def test_a_forecast_leaves_the_mirror_as_it_was(futures):
    for seen, _ in futures:
        state = seen.watch._mirror.state
        state.validate()
        there = {(each.metadata.namespace, each.metadata.name) for each in seen.simulated.list("Pod")}
        pods = state.cluster.pods
        assert {tuple(pods.full_name(pod).split("/")) for pod in np.flatnonzero(state.exists)} == there
