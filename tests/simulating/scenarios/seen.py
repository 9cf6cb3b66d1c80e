"""Pods and nodes as a run shows them, for tests of what follows a run."""

from __future__ import annotations

from restow.simulating.scenarios.observations import (
    Observation,
    ObservedCluster,
    ObservedEviction,
    ObservedNode,
    ObservedPod,
)
from restow.simulating.scenarios.references import Reference

WEB = Reference("Deployment", "shop", "web")
REPLICA_SET = Reference("ReplicaSet", "shop", "web-1")
READY = frozenset({"any", "scheduled", "running", "ready"})
PENDING = frozenset({"any", "pending", "unready"})


def a_pod_of_web(name, node="n1", states=READY):
    return ObservedPod("shop", name, {}, node, frozenset(states), (REPLICA_SET, WEB), {"cpu": 100})


def a_seen_node(name):
    return ObservedNode(name, {}, frozenset({"any", "ready"}), {"cpu": 1000})


def at(time, *come, gone="", evicted=(), nodes=(), desired=None):
    """What changes at a time: pods that come or change, the names of those that go, and pods that drain evicts."""
    pods = {("shop", name): None for name in gone} | {each.key: each for each in come}
    evictions = tuple(ObservedEviction(each, ("drain",)) for each in evicted)
    return Observation(time, pods, {each.name: each for each in nodes}, evictions, desired or {})


def followed(follower, observations):
    """The follower, after it has taken in observations with the pods as they were before each."""
    view = ObservedCluster()
    for each in observations:
        follower.take(each, view.pods)
        view.take(each)
    return follower
