"""A scenario from its beginning to its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from builders import a_node
from descheduling.harness import a_policy
from restow.descheduling.registry import plugins
from restow.kube.duration import HOUR, MINUTE
from restow.kube.manifests import document_of
from restow.policies.load import load_policy
from restow.policies.policy import Policy
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario
from restow.simulating.scenarios.running import RunEnding, begin, config_of, run_out
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenes import START

WEB = document_of(a_controller("Deployment", "web", 3))
CYCLES = {"every": "30m"}
NO_POLICY = Policy()


def run(*, duration=HOUR, when_stable=False, tick=lambda _: None, policy=NO_POLICY, **fields):
    written = {"apiVersion": "restow.dev/v1alpha1", "kind": "Scenario", "start": [a_node("n1"), WEB]} | fields
    scenario = read_scenario(yaml.safe_dump(written).encode(), "s.yaml", Folder(Path()))
    run = begin(scenario, config_of(scenario, Folder(Path()), policy), START)
    return run_out(scenario, run, RunEnding(duration, when_stable), tick)


def test_a_run_is_as_long_as_it_is_asked_for():
    finished = run(duration=90 * MINUTE + 1)
    assert (finished.begins, finished.duration, finished.is_stable) == (START, 90 * MINUTE + 1, True)


def test_people_hear_how_far_it_is():
    told = []
    run(duration=3 * MINUTE, tick=told.append)
    assert told == [MINUTE, 2 * MINUTE, 3 * MINUTE]


@pytest.mark.parametrize(
    ("fields", "minutes"),
    [
        ({}, 11),
        ({"descheduler": CYCLES}, 61),
        ({"events": [{"at": "20m30s", "cordon": "n1"}]}, 31),
        ({"events": [{"at": "20m30s", "cordon": "nobody"}]}, 31),
    ],
    ids=["ten minutes of calm", "two cycles", "after what happens", "after what does not happen"],
)
def test_a_stable_cluster_ends_a_run(fields, minutes):
    finished = run(when_stable=True, duration=24 * HOUR, **fields)
    assert (finished.is_stable, finished.duration // MINUTE) == (True, minutes)


def test_a_cluster_that_never_is_stable_ends_it_when_it_is_over():
    scales = [{"at": f"{5 * each}m", "scale": "deployment/web", "to": 1 + each % 2} for each in range(12)]
    finished = run(when_stable=True, events=scales)
    assert (finished.is_stable, finished.duration) == (False, HOUR)


def test_what_did_not_happen_is_told():
    finished = run(events=[{"at": "1m", "cordon": "nobody"}])
    assert [(each.time - START, each.message) for each in finished.failed_events] == [
        (MINUTE, "there is no node nobody")
    ]


def test_a_pod_that_finds_no_node_waits_to_the_end():
    lost = document_of(a_bare_pod("lost", nodeSelector={"no": "node"}))
    assert run(start=[a_node("n1"), lost]).record.waiting.longest == HOUR


def test_workloads_that_are_drained_are_below_what_they_shall_have():
    finished = run(start=[a_node("n1"), a_node("n2"), WEB], events=[{"at": "10m", "drain": "n1"}])
    assert {str(each) for each in finished.record.disruptions} == {"deployment/default/web"}
    assert {each.landing for each in finished.record.evictions} == {"moved"}


@pytest.mark.parametrize(("replacement", "below"), [("evict", {"deployment/default/web"}), ("surge", set())])
def test_workloads_whose_pods_are_replaced_first_are_never_below(replacement, below):
    """The same pods move, and the pod more of a surge is not one that the workload wants."""
    text = json.dumps(a_policy("RemoveDuplicates", {}) | {"restow": {"replacement": replacement}})
    finished = run(
        policy=load_policy(text.encode(), "policy.yaml", plugins()).policy,
        descheduler={"every": "30m", "placement": "prove"},
        events=[{"at": f"{minute}m", "apply": a_node(node)} for minute, node in ((5, "n2"), (6, "n3"))],
    )
    assert {str(each) for each in finished.record.disruptions} == below
    assert [each.landing for each in finished.record.evictions] == ["moved"] * 2


@pytest.mark.parametrize(("replacement", "below"), [("evict", {"deployment/default/web"}), ("rollout", set())])
def test_a_workload_that_is_rolled_out_is_never_below(replacement, below):
    text = json.dumps(a_policy("RemovePodsViolatingNodeTaints", {}) | {"restow": {"replacement": replacement}})
    finished = run(
        start=[a_node("n1"), {**WEB, "spec": {**WEB["spec"], "replicas": 1}}],
        policy=load_policy(text.encode(), "policy.yaml", plugins()).policy,
        descheduler={"every": "30m", "placement": "prove"},
        events=[
            {"at": "5m", "apply": a_node("n2")},
            {"at": "6m", "apply": a_node("n1", taints=[{"key": "k", "effect": "NoSchedule"}])},
        ],
    )
    assert {str(each) for each in finished.record.disruptions} == below
    assert [(each.landing, each.node) for each in finished.record.evictions] == [("moved", "n2")]
