"""What is counted: each number against its definition, after any sequence of changes."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.kube.labels import parse_selector
from restow.simulating.scenarios.expectations import EvictionCount, NodeCount, PodCount, Spread
from restow.simulating.scenarios.observations import (
    Observation,
    ObservedCluster,
    ObservedEviction,
    ObservedNode,
    ObservedPod,
)
from restow.simulating.scenarios.references import NodeChoice, Reference
from restow.simulating.scenarios.tallies import tally_of

WEB = Reference("Deployment", "shop", "web")
REPLICA_SET = Reference("ReplicaSet", "shop", "web-1")
AGENT = Reference("DaemonSet", "shop", "agent")
READY = frozenset({"any", "scheduled", "running", "ready"})
ZONE_A = NodeChoice(labels=parse_selector("zone=a"))


def a_seen_pod(name="p", node="n1", *, states=READY, labels=None, controllers=(), cpu=100, namespace="shop"):
    return ObservedPod(namespace, name, labels or {}, node, frozenset(states), controllers, {"cpu": cpu})


def a_seen_node(name="n1", *, zone="a", states=("any", "ready"), cpu=1000):
    return ObservedNode(name, {"zone": zone} if zone else {}, frozenset(states), {"cpu": cpu})


def observed(measure, *observations):
    view, tally = ObservedCluster(), tally_of(measure)
    for each in observations:
        tally.refresh(view, view.take(each), each)
    return tally


def at_once(*things, evictions=()):
    pods = {each.key: each for each in things if isinstance(each, ObservedPod)}
    nodes = {each.name: each for each in things if isinstance(each, ObservedNode)}
    return Observation(0, pods, nodes, evictions)


N1, N2 = a_seen_node("n1"), a_seen_node("n2", zone="b")
A = a_seen_pod("a", labels={"app": "web"}, controllers=(REPLICA_SET, WEB))
B = a_seen_pod("b", "n2", states={"any", "scheduled", "unready"})
C = a_seen_pod("c", "", states={"any", "pending"}, namespace="dev")
EVICTIONS = (ObservedEviction(A, ("descheduler", "RemoveDuplicates")), ObservedEviction(C, ("drain",)))

COUNTS = [
    (PodCount(), 3, ["dev/c", "shop/a", "shop/b"]),
    (PodCount(state="ready"), 1, ["shop/a"]),
    (PodCount(state="failed"), 0, []),
    (PodCount(labels=parse_selector("app=web")), 1, ["shop/a"]),
    (PodCount(of=WEB), 1, ["shop/a"]),
    (PodCount(of=REPLICA_SET), 1, ["shop/a"]),
    (PodCount(of=Reference("Pod", "shop", "b")), 1, ["shop/b"]),
    (PodCount(namespace="dev"), 1, ["dev/c"]),
    (PodCount(on=NodeChoice("n2")), 1, ["shop/b"]),
    (PodCount(on=ZONE_A), 1, ["shop/a"]),
    (NodeCount(), 3, ["n1", "n2", "n3"]),
    (NodeCount(labels=parse_selector("zone in (a,c)")), 2, ["n1", "n3"]),
    (NodeCount(state="used"), 2, ["n1", "n2"]),
    (NodeCount(state="empty"), 1, ["n3"]),
    (EvictionCount(), 2, ["shop/a", "dev/c"]),
    (EvictionCount(by="RemoveDuplicates"), 1, ["shop/a"]),
    (EvictionCount(namespace="dev"), 1, ["dev/c"]),
    (EvictionCount(of=WEB), 1, ["shop/a"]),
]


@pytest.mark.parametrize(("measure", "number", "objects"), COUNTS, ids=lambda each: str(each)[:60])
def test_what_each_measure_counts(measure, number, objects):
    tally = observed(measure, at_once(N1, N2, a_seen_node("n3", zone="c"), A, B, C, evictions=EVICTIONS))
    assert (tally.number, tally.objects()) == (number, objects)


def test_a_node_with_only_pods_of_daemon_sets_and_pods_that_are_over_is_empty():
    pods = a_seen_pod("d", controllers=(AGENT,)), a_seen_pod("e", states={"succeeded"})
    assert observed(NodeCount(state="empty"), at_once(N1, *pods)).number == 1


def test_the_skew_counts_empty_domains_and_no_nodes_without_one():
    nodes = a_seen_node("n1"), a_seen_node("n2", zone="b"), a_seen_node("n3", zone="")
    pods = [a_seen_pod(name, node) for name, node in (("a", "n1"), ("b", "n1"), ("c", "n3"), ("d", "n3"))]
    assert observed(PodCount(skew_across="zone"), at_once(*nodes, *pods)).number == 2


def test_the_skew_across_chosen_nodes_is_theirs():
    nodes = a_seen_node("n1"), a_seen_node("n2", zone="b"), a_seen_node("n3", zone="c")
    pods = [a_seen_pod("a", "n1")]
    on = NodeChoice(labels=parse_selector("zone in (b,c)"))
    assert observed(PodCount(skew_across="zone", on=on), at_once(*nodes, *pods)).number == 0


def test_the_spread_is_the_standard_deviation_of_shares():
    pods = a_seen_pod("a", "n1", cpu=500), a_seen_pod("b", "n2", cpu=100), a_seen_pod("c", "n2", states={"failed"})
    assert observed(Spread("cpu"), at_once(N1, N2, *pods)).number == pytest.approx(0.2)


def test_nodes_without_the_resource_have_no_share():
    assert observed(Spread("gpu"), at_once(N1, N2)).number == 0


def test_a_pod_counts_again_when_its_node_comes_changes_and_goes():
    steps = [at_once(A), at_once(N1), at_once(a_seen_node("n1", zone="b")), Observation(0, {}, {"n1": None})]
    numbers = [observed(PodCount(on=ZONE_A), *steps[:count]).number for count in range(1, 5)]
    assert numbers == [0, 1, 0, 0]


NAMES = st.sampled_from(["a", "b", "c", "d"])
NODES = st.sampled_from(["n1", "n2", "n3"])
STATES = st.sampled_from([READY, {"any", "scheduled", "unready"}, {"failed"}, {"terminating"}])
SOME_POD = st.builds(
    a_seen_pod, NAMES, NODES | st.just(""), states=STATES, cpu=st.integers(0, 500),
    controllers=st.sampled_from([(), (REPLICA_SET, WEB), (AGENT,)]),
)  # fmt: skip
SOME_NODE = st.builds(a_seen_node, NODES, zone=st.sampled_from(["a", "b", ""]), cpu=st.sampled_from([0, 1000, 3000]))


@st.composite
def changes(draw):
    pods = {each.key: each for each in draw(st.lists(SOME_POD, max_size=3))}
    nodes = {each.name: each for each in draw(st.lists(SOME_NODE, max_size=2))}
    gone_pods = {("shop", name): None for name in draw(st.sets(NAMES, max_size=2))}
    gone_nodes = dict.fromkeys(draw(st.sets(NODES, max_size=1)))
    return Observation(0, gone_pods | pods, gone_nodes | nodes)


def over(pod):
    return bool({"succeeded", "failed"} & pod.states)


def skew(pods, nodes):
    numbers = Counter({node.labels["zone"]: 0 for node in nodes.values() if "zone" in node.labels})
    for pod in pods:
        if pod.node in nodes and "zone" in nodes[pod.node].labels and "any" in pod.states:
            numbers[nodes[pod.node].labels["zone"]] += 1
    return max(numbers.values(), default=0) - min(numbers.values(), default=0)


def spread(pods, nodes):
    requested = Counter()
    for pod in pods:
        requested[pod.node] += 0 if over(pod) else pod.requests["cpu"]
    shares = [requested[name] / node.allocatable["cpu"] for name, node in nodes.items() if node.allocatable["cpu"]]
    mean = sum(shares) / len(shares) if shares else 0
    return math.sqrt(sum((share - mean) ** 2 for share in shares) / len(shares)) if shares else 0


def used(pods, nodes):
    return len({pod.node for pod in pods if not over(pod) and AGENT not in pod.controllers} & nodes.keys())


DEFINITIONS = [
    (PodCount("ready"), lambda pods, _: sum("ready" in pod.states for pod in pods)),
    (
        PodCount(on=ZONE_A),
        lambda pods, nodes: sum(
            "any" in pod.states and pod.node in nodes and nodes[pod.node].labels.get("zone") == "a" for pod in pods
        ),
    ),
    (PodCount(skew_across="zone"), skew),
    (NodeCount("used"), used),
    (NodeCount("empty"), lambda pods, nodes: len(nodes) - used(pods, nodes)),
    (Spread("cpu"), spread),
]


@given(st.lists(changes(), min_size=1, max_size=6))
def test_after_any_changes_a_number_is_the_one_that_is_counted_from_nothing(observations):
    pods, nodes = {}, {}
    for each in observations:
        pods = {key: pod for key, pod in (pods | each.pods).items() if pod is not None}
        nodes = {name: node for name, node in (nodes | each.nodes).items() if node is not None}
    for measure, definition in DEFINITIONS:
        found = observed(measure, *observations).number
        assert found == pytest.approx(definition(pods.values(), nodes), abs=1e-6), measure
