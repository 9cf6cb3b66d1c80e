"""A store whose objects are replaced and removed gives the same snapshot as a new store of the same objects."""

from __future__ import annotations

import random
from itertools import product

import msgspec
import pytest

from builders import Owner, a_node, a_pod, a_service
from live.contents import columns_of, contents_of
from restow.cluster.pod_store import PodStore
from restow.cluster.snapshot import ClusterStore
from restow.descheduling.registry import plugins, strategies
from restow.errors import InputError
from restow.kube.objects import KINDS
from restow.kube.timestamps import parse_time
from restow.policies.codes import Placement
from restow.policies.load import load_policy
from restow.proving.planning import make_plan
from restow.proving.search import prove_cycle
from restow.sources.synthetic import NOW, generate, policy_for


def wire(kind, thing):
    return msgspec.json.decode(msgspec.json.encode(thing), type=KINDS[kind])


#: Uids of the owners of random pods.
OWNERS = [
    a_pod("any", owner=owner)["metadata"]["ownerReferences"][0]["uid"]
    for owner in (Owner("ReplicaSet", "web"), Owner("Job", "etl"))
]


def plan_of(cluster):
    """The proven plan of the policy for synthetic clusters, as bytes."""
    policy = load_policy(policy_for("mixed").encode(), "policy.yaml", plugins()).policy
    cycle = prove_cycle(cluster, policy, strategies(), parse_time(NOW))
    return msgspec.json.encode(make_plan(cycle, parse_time(NOW), Placement.PROVE))


def a_random_pod(chance, name):
    return a_pod(
        name,
        namespace=chance.choice(["default", "other"]),
        node=chance.choice([None, "n1", "n2"]),
        owner=chance.choice([None, Owner("ReplicaSet", "web"), Owner("Job", "etl")]),
        labels={"v": str(chance.randrange(50))},
        cpu=chance.choice(["100m", "1", None]),
    )


def the_same_from(there):
    """A new store of some objects."""
    fresh = ClusterStore()
    fresh.add("Service", ())
    for (kind, _, _), thing in sorted(there.items(), key=lambda each: each[0], reverse=True):
        fresh.add(kind, [wire(kind, thing)])
    return fresh


@pytest.mark.parametrize("seed", range(5))
def test_what_is_left_after_many_changes_is_what_was_given_last(seed):
    """At any moment, and whatever has been told of it before stays as it was told."""
    chance, store = random.Random(seed), ClusterStore()
    there, told = {}, []
    store.add("Service", ())
    for _ in range(4000):
        if chance.random() < 0.01:
            snapshot = store.snapshot()
            told.append((snapshot, contents_of(snapshot)))
            assert told[-1][1] == contents_of(the_same_from(there).snapshot())
        kind = chance.choice(["Pod", "Pod", "Pod", "Node", "Service"])
        name = f"{kind[0].lower()}{chance.randrange(30)}"
        if kind == "Pod":
            thing = a_random_pod(chance, name)
        elif kind == "Node":
            thing = a_node(f"n{chance.randrange(4)}", labels={"v": str(chance.randrange(9))})
        else:
            thing = a_service(name, selector={"v": str(chance.randrange(9))})
        meta = thing["metadata"]
        key = (kind, meta.get("namespace", ""), meta["name"])
        # From some moment on there is an index by owner, which every change then has to keep true.
        if chance.random() < 0.01:
            store.pods_of("default", chance.choice(OWNERS))
        if chance.random() < 0.4:
            there.pop(key, None)
            store.remove(*key)
        else:
            there[key] = thing
            store.add(kind, [wire(kind, thing)])

    fresh = the_same_from(there)
    assert contents_of(store.snapshot()) == contents_of(fresh.snapshot())
    for namespace, owner in product(("default", "other"), OWNERS):
        assert store.pods_of(namespace, owner) == fresh.pods_of(namespace, owner)
    assert all(contents_of(snapshot) == before for snapshot, before in told)


@pytest.mark.parametrize("seed", range(20))
def test_pods_that_another_store_has_read_are_as_if_they_had_been_given_here(seed):
    """Those that it was given twice, or that are here already, and whatever comes after them."""
    chance = random.Random(seed)
    before, there, after = (
        [wire("Pod", a_random_pod(chance, f"p{chance.randrange(40)}")) for _ in range(chance.randrange(60))]
        for _ in range(3)
    )
    given, absorbing, other = PodStore(), PodStore(), PodStore()
    replaced = given.add(before), given.add(there), given.add(after)
    absorbing.add(before)
    # From now on there is an index by owner.
    assert not absorbing.pods_of("default", "nobody")
    for each in there:
        other.add([each])
    assert (absorbing.absorb(other.rows()), absorbing.add(after)) == replaced[1:]
    assert contents_of_pods(absorbing) == contents_of_pods(given)
    for namespace, owner in product(("default", "other"), OWNERS):
        assert absorbing.pods_of(namespace, owner) == given.pods_of(namespace, owner)


def contents_of_pods(store):
    return columns_of(store.columns({"n1": 0}))


@pytest.mark.parametrize("seed", range(3))
def test_a_plan_does_not_know_in_which_order_a_cluster_came(seed):
    """Watch events in any order, and a dump of the same objects, give plans that are the same bytes."""
    chance, store, dumped = random.Random(seed), ClusterStore(), ClusterStore()
    objects = list(generate("mixed", 8, 200, seed))
    for each in objects:
        dumped.add(each["kind"], [wire(each["kind"], each)])
    later = chance.sample([each for each in objects if each["kind"] == "Pod"], 60)
    for each in chance.sample(objects, len(objects)):
        store.add(each["kind"], [wire(each["kind"], each)])
    store.snapshot()
    for each in later:
        store.remove("Pod", each["metadata"]["namespace"], each["metadata"]["name"])
    store.snapshot()
    for each in chance.sample(later, len(later)):
        store.add("Pod", [wire("Pod", a_pod(each["metadata"]["name"], namespace=each["metadata"]["namespace"]))])
        store.add("Pod", [wire("Pod", each)])
    first, second = (plan_of(each.snapshot()) for each in (store, dumped))
    assert first == second
    assert b'"uid"' in first


def test_memory_does_not_grow_with_the_number_of_changes():
    store = ClusterStore()
    for version in range(20_000):
        store.add("Pod", [wire("Pod", a_pod(f"p{version % 10}", labels={"v": str(version)}))])

    pods = store._pods
    assert len(pods) == 10
    assert len(pods._columns["name"]) < 2_000
    assert len(pods._shared["labels"].values) < 2_000


def test_memory_does_not_grow_with_the_pods_that_come_and_go():
    """Nor with their owners, namespaces, nodes and labels: what only they had goes with them."""
    store = ClusterStore()
    store.pods_of("", "")
    for at in range(3_000):
        owner, place = Owner("ReplicaSet", f"rs-{at}"), {"namespace": f"ns-{at}", "node": f"n-{at}"}
        store.add("Pod", [wire("Pod", a_pod(f"p{at}", owner=owner, labels={"hash": str(at)}, **place))])
        store.remove("Pod", f"ns-{at - 10}", f"p{at - 10}")

    pods = store._pods
    assert len(pods) == 10
    assert len(pods._by_owner) <= 10
    kept = [pods._columns["name"], pods._names, *(shared.values for shared in pods._shared.values())]
    assert max(map(len, kept)) < 2_500


def test_a_page_with_a_pod_that_cannot_be_read_leaves_no_trace():
    store, fresh = ClusterStore(), ClusterStore()
    good = [wire("Pod", a_pod("a", labels={"x": "1"})), wire("Pod", a_pod("b", cpu="1"))]
    with pytest.raises(InputError, match="Pod default/bad"):
        store.add("Pod", [*good, wire("Pod", a_pod("bad", cpu="much"))])
    assert len(store.snapshot().pods) == 0

    store.add("Pod", good)
    fresh.add("Pod", good)

    assert contents_of(store.snapshot()) == contents_of(fresh.snapshot())


def test_a_pod_as_it_is_now():
    store = ClusterStore()
    store.add("Pod", [wire("Pod", a_pod("a", node="n1", owner=Owner("ReplicaSet", "web")))])
    store.add("Pod", [wire("Pod", a_pod("a", node="n2", owner=Owner("ReplicaSet", "web")))])
    pod = store.pod("default", "a")
    assert (pod.node, pod.is_terminating) == ("n2", False)
    assert store.pods_of("default", pod.owners[0].uid) == [pod]
    store.remove("Pod", "default", "a")
    assert store.pod("default", "a") is None
    assert store.pods_of("default", pod.owners[0].uid) == []


def test_the_pods_behind_the_gate_of_steering_are_known_as_they_come_and_go():
    gated = {"schedulingGates": [{"name": "other"}, {"name": "restow.dev/steer"}]}
    store = ClusterStore()
    store.add("Pod", [wire("Pod", a_pod("b", spec=gated)), wire("Pod", a_pod("a", spec=gated))])
    store.add("Pod", [wire("Pod", a_pod("c", spec={"schedulingGates": [{"name": "restow.dev/steer-not"}]}))])
    assert [pod.name for pod in store.gated()] == ["a", "b"]
    assert [pod.is_gated for pod in (store.pod("default", name) for name in "abc")] == [True, True, False]
    assert store.pod("default", "a").waits_for_others
    store.add("Pod", [wire("Pod", a_pod("b", spec={"schedulingGates": [{"name": "restow.dev/steer"}]}))])
    assert not store.pod("default", "b").waits_for_others
    store.add("Pod", [wire("Pod", a_pod("a", spec={"schedulingGates": [{"name": "other"}]}))])
    assert not store.pod("default", "a").waits_for_others
    assert [pod.name for pod in store.gated()] == ["b"]
    store.remove("Pod", "default", "b")
    assert store.gated() == []


def test_a_new_list_of_pods_brings_its_own_gates():
    gated = {"schedulingGates": [{"name": "restow.dev/steer"}]}
    store, fresh = ClusterStore(), ClusterStore()
    store.add("Pod", [wire("Pod", a_pod("old", spec=gated))])
    fresh.add("Pod", [wire("Pod", a_pod("new", spec=gated))])
    store.take_over("Pod", fresh)
    assert [pod.name for pod in store.gated()] == ["new"]


def test_a_kind_is_taken_over_whole_and_forgotten_whole():
    store, fresh = ClusterStore(), ClusterStore()
    store.add("Service", [wire("Service", a_service("old"))])
    fresh.add("Service", [wire("Service", a_service("new"))])
    store.take_over("Service", fresh)
    assert list(store.snapshot().kind("Service")) == [("default", "new")]
    store.restart("Service")
    assert not store.snapshot().has_list("Service")
