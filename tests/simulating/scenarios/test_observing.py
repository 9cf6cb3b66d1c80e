"""What a simulated cluster shows of itself: its changes, moment by moment, come to what it is."""

from __future__ import annotations

import pytest

from restow.simulating.api_server.store import ORPHAN, ObjectEvent
from restow.simulating.scenarios.judging import Judge
from restow.simulating.scenarios.observing import RunObserver
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenarios.staging import Staged
from simulating.scenarios.test_event_applier import at, budget, web, written

EVENTS = [
    at(10, scale="deployment/web", to=6),
    at(30, drain="n2"),
    at(60, failNode="n1"),
    at(400, setImage="deployment/web", to={"c": "example/app:2"}),
    at(500, restartNode="n1"),
    at(510, uncordon="n2"),
    at(520, delete="pod/once"),
]


def seen_from_nothing(scene):
    """What somebody sees who comes now."""
    observer = RunObserver(scene.simulation, Judge([]))
    for kind, hear in (("Pod", observer._on_pod_event), ("Node", observer._on_node_event)):
        for each in scene.store.list(kind):
            hear(ObjectEvent(kind, None, each))
    observer.finish()
    return observer.judge._view


@pytest.mark.parametrize("seconds", [1, 31, 111, 430, 600])
def test_all_changes_together_are_what_there_is(seconds):
    start = [web(3), budget(max_unavailable=1), written(a_bare_pod("once", restartPolicy="Never"))]
    scene = Staged(start=start, events=EVENTS).run(seconds)
    scene.observer.finish()
    found, fresh = scene.observer.judge._view, seen_from_nothing(scene)
    assert (found.pods, found.nodes) == (fresh.pods, fresh.nodes)
    assert {name: +count for name, count in found.requested.items() if +count} == fresh.requested
    assert +found.users == +fresh.users


@pytest.mark.parametrize(
    ("seconds", "states"),
    [
        (0, {"any", "pending", "unready"}),
        (1, {"any", "scheduled", "unready"}),
        (4, {"any", "scheduled", "running", "unready"}),
        (15, {"any", "scheduled", "running", "ready"}),
        (22, {"terminating"}),
    ],
)
def test_the_states_of_a_pod(seconds, states):
    pod = written(a_bare_pod("p"))
    delays = {"ready-delay": "10s", "delete-delay": "5s"}
    pod["metadata"]["annotations"] = {f"simulate.restow.dev/{key}": delay for key, delay in delays.items()}
    scene = Staged(start=[pod], events=[at(20, delete="pod/p")], nodes=1).run(seconds)
    scene.observer.finish()
    assert scene.observer.judge._view.pods["default", "p"].states == states


def test_pods_belong_to_what_controls_their_controller():
    expect = [{"eventually": {"pods": "running", "of": f"{kind}/web", "exactly": 3}} for kind in ("deployment", "rs")]
    scene = Staged(start=[web(3)], expect=expect).run(60)
    name = scene.store.list("ReplicaSet")[0].metadata.name
    assert name.startswith("web-")
    assert [each for each, _ in scene.outcomes()] == ["met", "failed"]


def test_pods_of_an_orphan_do_not_belong_to_what_controlled_it():
    expect = [{"eventually": {"pods": "any", "of": "deployment/web", "exactly": 0}, "after": "30s"}]
    scene = Staged(start=[web(2)], expect=expect).run(60)
    scene.delete("Deployment", "web", propagation=ORPHAN)
    scene.run(60)
    assert len(scene.pods("web")) == 2
    ((outcome, time),) = scene.outcomes()
    assert (outcome, int(time)) == ("met", 60)


def test_what_happens_at_one_moment_is_seen_together():
    """A pod that is deleted and one that comes at the same moment are never both missing."""
    come, go = written(a_bare_pod("new")), written(a_bare_pod("old"))
    expect = [{"always": {"pods": "any", "exactly": 1}}, {"never": {"pods": "any", "exactly": 0}}]
    scene = Staged(start=[go], events=[at(5, delete="pod/old"), at(5, apply=come)], nodes=0, expect=expect).run(10)
    assert [each for each, _ in scene.outcomes()] == ["met", "met"]


def test_the_load_of_nodes_is_what_pods_request_of_them():
    expect = [
        {"eventually": {"spread": "cpu", "atLeast": 0.01}},
        {"eventually": {"spread": "cpu", "atMost": 0.0001}, "after": "30s"},
    ]
    full = written(a_controller("Deployment", "web", 1))
    scene = Staged(start=[full], events=[at(20, scale="deployment/web", to=3)], expect=expect).run(60)
    assert [each for each, _ in scene.outcomes()] == ["met", "met"]


def test_an_empty_cluster_is_something_to_see():
    expect = [{"eventually": {"pods": "any", "exactly": 0}, "within": "1s"}, {"always": {"nodes": "any", "exactly": 0}}]
    assert Staged(nodes=0, expect=expect).run(10).outcomes() == [("met", 0), ("met", 10)]
