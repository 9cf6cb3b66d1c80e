"""Plans on a state that follows a store are those on a snapshot of it, whatever has happened between two of them."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from random import Random
from typing import Any

import msgspec
import pytest

from builders import NOW, Object, a_condition, a_namespace, a_node, a_pod, node_metrics, pod_metrics
from executing.told import told
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.descheduling.registry import plugins
from restow.executing.deciding import Before, CycleDecision, CycleRules, decide
from restow.kube.objects import KINDS
from restow.kube.timestamps import parse_time
from restow.live.trailing import TrailingState
from restow.policies.load import load_policy
from restow.proving.planning_cache import PlanningCache
from restow.sources.synthetic import NOW as GENERATED
from restow.sources.synthetic import generate, policy_for

_TIME = parse_time(GENERATED)
_PODS = 160


def a_quota(room: int) -> Object:
    """A quota with room for so many pods more, of a namespace in which generated clusters have many."""
    metadata = {"name": "team", "namespace": "images", "uid": "team"}
    return {
        "kind": "ResourceQuota",
        "metadata": metadata,
        "status": {"hard": {"pods": str(room)}, "used": {"pods": "0"}},
    }


class Followed:
    """A store, the objects in it, and a state that follows it."""

    def __init__(self, seed: int) -> None:
        self.chance, self.store = Random(seed), ClusterStore()
        self.there: dict[str, dict[tuple[str, str], Object]] = {}
        self.trailing: TrailingState | None = None
        #: How often the state was of use.
        self.used = 0
        for each in (*generate("mixed", 10, _PODS, seed), a_quota(9)):
            self.put(each)
        self.rules = CycleRules(load_policy(policy_for("mixed").encode(), "policy.yaml", plugins()).policy)
        self.follow()

    def follow(self) -> PlanningCache:
        """Begin with a snapshot."""
        self.trailing = TrailingState(self.store.snapshot(), self.store)
        self.cache = PlanningCache.of(self.trailing.state, self.rules.profiles)
        return self.cache

    def put(self, thing: Object) -> None:
        kind, metadata = thing["kind"], thing["metadata"]
        self.store.add(kind, [msgspec.json.decode(msgspec.json.encode(thing), type=KINDS[kind])])
        key = metadata.get("namespace", ""), metadata["name"]
        self.there.setdefault(kind, {})[key] = thing
        self._touch(kind, key)

    def remove(self, kind: str, key: tuple[str, str]) -> None:
        self.store.remove(kind, *key)
        del self.there[kind][key]
        self._touch(kind, key)

    def any(self, *kinds: str) -> Object:
        """Some object of these kinds."""
        found = [each for kind in kinds for each in self.there[kind].values()]
        return deepcopy(self.chance.choice(sorted(found, key=lambda each: str(each["metadata"]))))

    def decide(self, may_move: Iterable[str] | None = None) -> tuple[CycleDecision, CycleDecision]:
        """A decision on the state, if it is of use, and one on a snapshot."""
        assert self.trailing is not None
        before = Before(may_move=None if may_move is None else frozenset(may_move))
        fresh = self.store.snapshot()
        if self.trailing.catch_up(self.store, frozenset()):
            self.used += 1
        else:
            self.follow()
        cluster = self.cache.state.cluster
        return decide(cluster, self.rules, before, _TIME, cache=self.cache), decide(fresh, self.rules, before, _TIME)

    def _touch(self, kind: str, key: tuple[str, str]) -> None:
        if self.trailing is not None:
            self.trailing.touch(kind, [key])


def change(on: Followed) -> None:
    """One change of those that a state follows."""
    chance = on.chance
    match chance.randrange(9):
        case 0:
            pod = on.any("Pod")
            on.remove("Pod", (pod["metadata"]["namespace"], pod["metadata"]["name"]))
        case 1 | 2:
            come(on)
        case 3:
            pod = on.any("Pod")
            restarts = [{"name": "c", "restartCount": chance.randrange(300), "state": {}}]
            ready = a_condition("Ready", chance.choice(["True", "False"]))
            on.put(pod | {"status": pod["status"] | {"containerStatuses": restarts, "conditions": [ready]}})
        case 4:
            pod = on.any("Pod")
            on.put(pod | {"metadata": pod["metadata"] | {"deletionTimestamp": NOW}})
        case 5:
            pod = on.any("Pod")
            pod["status"]["phase"] = chance.choice(["Running", "Succeeded", "Failed"])
            on.put(pod)
        case 6:
            node = on.any("Node")
            node["spec"] = {"unschedulable": chance.random() < 0.5}
            node["metadata"]["labels"]["changed"] = str(chance.randrange(3))
            on.put(node)
        case 7:
            change_nodes(on)
        case _:
            change_another_object(on)


def come(on: Followed) -> None:
    """A pod comes that is like another, pending or on some node; now and then with the name of one that is there."""
    pod, number = on.any("Pod"), on.chance.randrange(10_000)
    if on.chance.random() < 0.7:
        pod["metadata"]["name"] += f"-{number}"
    pod["metadata"]["uid"] += f"-{number}"
    pod["spec"].pop("nodeName", None)
    if on.chance.random() < 0.8:
        pod["spec"]["nodeName"] = on.any("Node")["metadata"]["name"]
    on.put(pod)


def change_nodes(on: Followed) -> None:
    """A node comes that is like another, or one goes with its pods still there."""
    node = on.any("Node")
    if on.chance.random() < 0.3 and len(on.there["Node"]) > 6:
        on.remove("Node", ("", node["metadata"]["name"]))
        return
    name = f"node-new-{on.chance.randrange(4)}"
    node["metadata"] |= {"name": name, "uid": name}
    on.put(node)


def change_another_object(on: Followed) -> None:
    """A budget, a controller of pods, or a quota."""
    thing = on.any("PodDisruptionBudget", "ReplicaSet", "Deployment", "ResourceQuota")
    key = thing["metadata"]["namespace"], thing["metadata"]["name"]
    if on.chance.random() < 0.1:
        on.remove(thing["kind"], key)
    elif thing["kind"] == "PodDisruptionBudget":
        thing.setdefault("status", {})["disruptionsAllowed"] = on.chance.randrange(3)
        on.put(thing)
    elif thing["kind"] == "ResourceQuota":
        on.put(a_quota(on.chance.randrange(3)))
    else:
        thing["spec"]["replicas"] = on.chance.randrange(1, 5)
        on.put(thing)


@pytest.mark.parametrize("seed", range(4))
def test_each_plan_is_the_one_on_a_snapshot(seed: int) -> None:
    on = Followed(seed)
    may_move: list[str] | None = None
    for plan in range(14):
        found, fresh = on.decide(may_move)
        assert told(found) == told(fresh)
        on.cache.state.validate()
        may_move = [each.move.pod.uid for each in found.tasks][:8] if plan % 3 else None
        for _ in range(on.chance.randrange(9)):
            change(on)
    assert on.used >= 12


OTHER = [
    pytest.param(a_namespace("default", labels={"a": "b"}), id="Namespace"),
    pytest.param(pod_metrics("web-0", cpu="250m"), id="PodMetrics"),
    pytest.param(node_metrics("n1", cpu="1"), id="NodeMetrics"),
]


@pytest.mark.parametrize("thing", OTHER)
def test_what_rules_may_have_been_worked_out_from_is_left_to_a_snapshot(thing: Object) -> None:
    on = Followed(1)
    on.decide()
    on.put(thing)
    found, fresh = on.decide()
    assert on.used == 1
    assert told(found) == told(fresh)


def small(*objects: Object) -> tuple[ClusterStore, TrailingState]:
    store = ClusterStore()
    for each in (a_node("n1", cpu="4"), a_pod("web-0", node="n1"), *objects):
        store.add(each["kind"], [msgspec.json.decode(msgspec.json.encode(each), type=KINDS[each["kind"]])])
    return store, TrailingState(store.snapshot(), store)


def test_kinds_that_become_unknown_are_left_to_a_snapshot() -> None:
    store, trailing = small()
    assert trailing.catch_up(store, frozenset())
    assert not trailing.catch_up(store, frozenset({"PodDisruptionBudget"}))


@pytest.mark.parametrize("kind", ["PodDisruptionBudget", "NodeMetrics"])
def test_news_of_a_kind_that_is_not_known_or_is_measured_are_left_to_a_snapshot(kind: str) -> None:
    """Even if they say nothing new: what protects pods is either known as a whole or not at all."""
    store, _ = small()
    missing = frozenset({"PodDisruptionBudget"})
    trailing = TrailingState(store.snapshot().without(missing), store)
    assert trailing.catch_up(store, missing)
    trailing.touch(kind, [("default", "web")])
    assert not trailing.catch_up(store, missing)


def test_objects_that_cannot_be_read_are_left_to_a_snapshot() -> None:
    store, trailing = small()
    store.leave_out("Pod", "default", "web-0", "it cannot be read")
    trailing.touch("Pod", [("default", "web-0")])
    assert not trailing.catch_up(store, frozenset())


def test_a_pod_beyond_the_sums_of_its_node_is_left_to_a_snapshot() -> None:
    """The snapshot leaves it out."""
    store, trailing = small()
    for number in range(2):
        pod: Any = a_pod(f"huge-{number}", node="n1", memory=str(2**63 - 1))
        store.add("Pod", [msgspec.json.decode(msgspec.json.encode(pod), type=KINDS["Pod"])])
        trailing.touch("Pod", [("default", f"huge-{number}")])
    assert not trailing.catch_up(store, frozenset())
    trailing = TrailingState(store.snapshot(), store)
    store.remove("Pod", "default", "huge-1")
    trailing.touch("Pod", [("default", "huge-1")])
    assert not trailing.catch_up(store, frozenset()), "the other one is not left out any more"


def test_so_many_changes_that_a_snapshot_takes_less_time_are_left_to_one() -> None:
    store, trailing = small()
    trailing.touch("Pod", [("default", f"web-{number}") for number in range(10_001)])
    assert not trailing.catch_up(store, frozenset())


def test_usage_is_as_it_was_told_last() -> None:
    _, trailing = small()
    cluster: ClusterSnapshot = trailing.state.cluster
    trailing.use({}, ("moved",))  # type: ignore[arg-type]  nothing looks into it
    assert trailing.state.cluster.usage_changes == ("moved",)
    assert trailing.state.cluster.others is cluster.others
