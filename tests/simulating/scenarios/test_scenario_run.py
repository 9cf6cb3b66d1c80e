"""Whole scenarios: who acts in them, and with what they begin."""

from __future__ import annotations

import json

import pytest

from builders import a_node
from builders.policies import as_yaml, strategy_policy
from restow.errors import InputError
from restow.kube.manifests import document_of
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenarios.staging import Staged


def written(manifest, **metadata):
    document = document_of(manifest)
    return document | {"metadata": document["metadata"] | metadata}


@pytest.fixture
def policies(tmp_path):
    (tmp_path / "duplicates.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates")))
    return tmp_path


#: One node at first, so that all pods of web are there; then there are three.
CROWDED = {
    "start": [written(a_controller("Deployment", "web", 3))],
    "events": [{"at": "30s", "apply": [a_node("n2"), a_node("n3")]}],
    "nodes": 1,
}
EVICTIONS = [
    {"eventually": {"evictions": "any", "of": "deployment/web", "by": "RemoveDuplicates", "atLeast": 2}},
    {"never": {"evictions": "any", "by": "drain"}},
]


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_a_descheduler_moves_pods_and_expectations_know_which_strategy_did(policies, placement):
    descheduler = {"policy": "duplicates.yaml", "every": "1m", "placement": placement}
    scene = Staged(folder=policies, descheduler=descheduler, expect=EVICTIONS, **CROWDED).run(600)
    assert [outcome for outcome, _ in scene.outcomes()] == ["met", "met"]
    assert {pod.node for pod in scene.pods("web")} == {"n1", "n2", "n3"}


def test_without_a_descheduler_nothing_moves():
    scene = Staged(expect=EVICTIONS, **CROWDED).run(600)
    assert [outcome for outcome, _ in scene.outcomes()] == ["failed", "met"]
    assert {pod.node for pod in scene.pods("web")} == {"n1"}


def test_schedulers_side_by_side_take_their_own_pods(tmp_path):
    for name in ("default-scheduler", "batch"):
        configuration = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        profiles = {"profiles": [{"schedulerName": name}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(configuration | profiles))
    pods = [written(a_bare_pod(name, schedulerName=name)) for name in ("default-scheduler", "batch", "nobody")]
    schedulers = [{"configuration": f"{name}.json"} for name in ("default-scheduler", "batch")]
    scene = Staged(folder=tmp_path, start=pods, schedulers=schedulers).run(10)
    assert {pod.metadata.name: bool(pod.node) for pod in scene.pods()} == {
        "default-scheduler": True, "batch": True, "nobody": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("scenario", "policy", "minor"),
    [
        (1.33, {}, 33),
        (None, {"restow": {"schedulerVersion": "1.33"}}, 33),
        ("1.35", {"restow": {"schedulerVersion": "1.33"}}, 35),
        (None, {}, None),
    ],
)
def test_the_schedulers_version_is_the_scenarios_or_else_the_policys(tmp_path, scenario, policy, minor):
    (tmp_path / "policy.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates", **policy)))
    version = {} if scenario is None else {"schedulerVersion": scenario}
    scene = Staged(folder=tmp_path, descheduler={"policy": "policy.yaml"}, **version).run(10)
    assert scene.simulation.view.state.cluster.server_minor == minor


@pytest.mark.parametrize("version", ["1.32", "latest", 7])
def test_a_version_that_is_not_known_is_refused(version):
    with pytest.raises(
        InputError, match=r"schedulerVersion: .* is none of them: restow knows kube-scheduler 1.33 to 1.37"
    ):
        Staged(schedulerVersion=version)


def test_kubelets_take_their_time():
    start = [written(a_controller("ReplicaSet", "web", 1))]
    scene = Staged(start=start, kubelets={"start": "10s", "ready": "20s"}, expect=[{"eventually": {"pods": "ready"}}])
    ((outcome, time),) = scene.run(60).outcomes()
    assert (outcome, int(time)) == ("met", 30)


def test_objects_with_a_uid_are_as_they_were_and_others_come_now():
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}],
    }
    there = written(a_bare_pod("there", nodeName="n1"), uid="u-1", creationTimestamp="2025-01-01T00:00:00Z") | {
        "status": status
    }
    come = written(a_bare_pod("come")) | {"status": status}
    scene = Staged(start=[come, there]).run(0)
    there, come = scene.get("Pod", "there"), scene.get("Pod", "come")
    assert (there.metadata.uid, there.metadata.creation_timestamp) == ("u-1", "2025-01-01T00:00:00Z")
    assert there.ready_since == "2025-01-01T00:00:00Z"
    assert (come.metadata.creation_timestamp, come.status.phase) == ("2026-01-01T00:00:00Z", "Pending")
    assert len(come.spec["tolerations"]) == 2


def test_pods_that_were_there_belong_to_owners_that_are_written_after_them():
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-rs", "controller": True}
    pods = [
        written(a_bare_pod(name, nodeName="n1"), uid=f"u-{name}", ownerReferences=[owner], labels={"app": "web"})
        for name in ("web-a", "web-b")
    ]
    replica_set = written(a_controller("ReplicaSet", "web", 2), uid="u-rs")
    assert Staged(start=[*pods, replica_set]).run(60).names() == ["web-a", "web-b"]


def test_a_scenario_plays_the_same_with_the_same_seed():
    def play(seed):
        scene = Staged(seed=seed, start=[written(a_controller("Deployment", "web", 9))]).run(60)
        return [(pod.metadata.name, pod.metadata.uid, pod.node) for pod in scene.pods()]

    assert play(1) == play(1) != play(2)
