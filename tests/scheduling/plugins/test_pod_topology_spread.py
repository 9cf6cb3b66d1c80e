"""PodTopologySpread against the rows of upstream's own tests (H: filter, I: score) and its rules for defaults."""

from __future__ import annotations

import numpy as np
import pytest

from builders import (
    a_node,
    a_pod,
    a_replica_set,
    a_service,
    a_workload,
    ago,
    node_affinity,
    node_term,
    selector,
    spread,
)
from restow.kube.objects import TopologySpreadConstraint
from restow.scheduling.framework.extension_points import PASSES, CycleError
from restow.scheduling.plugins.pod_topology_spread import PodTopologySpread
from scheduling.plugins.asking import INCOMING, a_context, codes, pod_index, scores, statuses

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
FOO, BAR = selector(("foo", "Exists")), selector(("bar", "Exists"))
FOO_LABELS, BAR_LABELS, BOTH = {"foo": ""}, {"bar": ""}, {"foo": "", "bar": ""}
MISSING = "node(s) didn't match pod topology spread constraints (missing required label)"
SKEWED = "node(s) didn't match pod topology spread constraints"


def on(name, zone=None, **more):
    """A node in a zone; it carries its own name under two keys."""
    labels = {"node": name, HOST: name} | ({"zone": zone, ZONE: zone} if zone else {}) | more.pop("labels", {})
    return a_node(name, labels=labels, **more)


A, B, X, Y = on("a", "zone1"), on("b", "zone1"), on("x", "zone2"), on("y", "zone2")
FOUR = [A, B, X, Y]


def pods(**on_nodes):
    """``pods(a=[FOO_LABELS], b=2)``: pods with these labels, or so many labelled foo, on each node."""
    wanted = {node: [FOO_LABELS] * what if isinstance(what, int) else what for node, what in on_nodes.items()}
    return [
        a_pod(f"{node}{number}", node=node, labels=labels)
        for node, each in wanted.items()
        for number, labels in enumerate(each)
    ]


def incoming(*constraints, labels=FOO_LABELS, **more):
    return a_pod(INCOMING, spread=list(constraints) or None, labels=labels, **more)


def hard(topology, skew=1, which=FOO, **more):
    return spread(skew, topology, which, **more)


def soft(topology, skew=1, which=FOO, **more):
    return spread(skew, topology, which, when="ScheduleAnyway", **more)


def elsewhere(node, number):
    return [a_pod(f"other{each}", namespace="other", node=node, labels=FOO_LABELS) for each in range(number)]


THIRD = [on("a", "zone1"), on("x", "zone2"), on("z", "zone3", labels={"closed": "yes"}, taints=["closed:NoSchedule"])]
OPEN = node_affinity([node_term(("closed", "DoesNotExist"))])
THREE = [on(name) for name in "abc"]
V1, V2 = {"foo": "", "version": "v1"}, {"foo": "", "version": "v2"}
TWO_KINDS = (hard("zone"), hard("node", which=BAR))

FILTER = {
    "H01": (FOUR, incoming(hard("zone")), [], "a:OK b:OK x:OK y:OK"),
    "H02": (FOUR, incoming(hard("zone", which=BAR)), [], "a:OK b:OK x:OK y:OK"),
    "H03": (FOUR, incoming(hard("zone")), [*elsewhere("a", 2), *pods(x=1, y=1)], "a:OK b:OK x:U y:U"),
    "H07": (FOUR, incoming(hard("node")), pods(a=2, b=1, y=3), "a:U b:U x:OK y:U"),
    "H08": (FOUR, incoming(hard("node", 2)), pods(a=2, b=1, y=3), "a:U b:OK x:OK y:U"),
    "H10": (
        FOUR,
        incoming(hard("node"), affinity=node_affinity([node_term(("node", "In", "a", "y"))])),
        pods(a=2, b=1, y=3),
        "a:OK b:OK x:OK y:U",
    ),
    "H11": (
        [A, B],
        incoming(hard("node")),
        [a_pod("p", node="a", labels=FOO_LABELS, deleted=ago(5)), *pods(b=1)],
        "a:OK b:U",
    ),
    "H12": (THREE, incoming(hard("node", 2, min_domains=4)), pods(a=2, b=2, c=1), "a:U b:U c:OK"),
    "H13": (THREE, incoming(hard("node", 2, min_domains=2)), pods(a=2, b=2, c=1), "a:OK b:OK c:OK"),
    "H15": ([A, X], incoming(hard("zone", 2, min_domains=1)), pods(a=2, x=1), "a:OK x:OK"),
    "H16": (THIRD, incoming(hard("zone"), affinity=OPEN), pods(a=1, x=1), "a:OK x:OK z:OK"),
    "H17": (
        THIRD,
        incoming(hard("zone", node_affinity_policy="Ignore"), affinity=OPEN),
        pods(a=1, x=1),
        "a:U x:U z:OK",
    ),
    "H19": (THIRD, incoming(hard("zone", node_taints_policy="Honor")), pods(a=1, x=1), "a:OK x:OK z:OK"),
    "H22": (
        [A, X],
        incoming(hard("zone", match_label_keys=["version"]), labels=V2),
        pods(a=[V1] * 3, x=[V2]),
        "a:OK x:U",
    ),
    "H23": ([A, X, on("z", "zone3")], incoming(hard("zone")), pods(a=1, x=1, z=1), "a:OK x:OK z:OK"),
    "H26": (FOUR, incoming(hard("zone"), hard("node")), pods(a=2, b=1, y=4), "a:U b:U x:U y:U"),
    "H28": (FOUR, incoming(*TWO_KINDS, labels=BOTH), pods(a=1, x=[BAR_LABELS], y=[BAR_LABELS]), "a:U b:U x:U y:U"),
    "H29": (
        FOUR,
        incoming(*TWO_KINDS, labels=BOTH),
        pods(a=[FOO_LABELS, BOTH], y=[FOO_LABELS, BOTH, FOO_LABELS]),
        "a:U b:OK x:U y:U",
    ),
    "H30": (
        FOUR,
        incoming(*TWO_KINDS, labels=BAR_LABELS),
        pods(a=1, x=[BAR_LABELS], y=[BAR_LABELS]),
        "a:OK b:OK x:U y:U",
    ),
    "H31": (
        [A, B, a_node("x", labels={"zone": "zone2"}), Y],
        incoming(hard("zone"), hard("node")),
        pods(a=1, y=1),
        "a:U b:OK x:UAU y:U",
    ),
    "H32": (
        [on("a", "zone1", labels={"rack": "r1"}), on("b", "zone1", labels={"rack": "r2"}), X, Y],
        incoming(hard("zone"), hard("rack")),
        pods(a=1, b=1),
        "a:OK b:OK x:UAU y:UAU",
    ),
}


@pytest.mark.parametrize(("nodes", "pod", "others", "expected"), FILTER.values(), ids=FILTER)
def test_filter_rows(nodes, pod, others, expected):
    context = a_context(*nodes, pod, *others)
    assert codes(context, PodTopologySpread(context), pod_index(context)) == expected


SERVICE = a_service("s", selector=FOO_LABELS)
NO_ZONE = [on(name) for name in "abcd"]
SHARED = pods(a=1, b=[BOTH], y=[FOO_LABELS, BAR_LABELS])
MIXED = (soft("zone"), soft(HOST, which=BAR))
TAINTED = [on("a"), on("b"), on("c", taints=["closed:NoSchedule"])]
TERMINATING = a_pod("gone", node="a", labels=FOO_LABELS, deleted=ago(5))

SCORE = {
    "I02": ([A, B], incoming(soft(HOST)), pods(a=2, b=1), "a", [100]),
    "I03": ([A, B], incoming(soft(HOST)), pods(a=1, b=1), "ab", [100, 100]),
    "I04": (FOUR, incoming(soft(HOST)), pods(a=2, b=1, y=3), "abxy", [20, 60, 100, 0]),
    "I06": (FOUR, incoming(soft(HOST, 2)), pods(a=2, b=1, y=3), "abxy", [33, 66, 100, 16]),
    "I07": (FOUR, incoming(soft(HOST, 3)), pods(a=4, b=3, x=2, y=1), "abxy", [44, 66, 77, 100]),
    "I08": (NO_ZONE, incoming(), [SERVICE, *pods(a=4, b=3, c=2, d=1)], "abcd", [44, 66, 77, 100]),
    "I09": (FOUR, incoming(soft(HOST)), pods(a=4, b=2, x=1, y=3), "abx", [33, 83, 100]),
    "I11": (FOUR, incoming(soft("zone")), pods(a=4, b=2, x=1, y=3), "abx", [75, 75, 100]),
    "I14": (FOUR, incoming(*MIXED, labels=BOTH), SHARED, "abxy", [60, 20, 100, 60]),
    "I16": (FOUR, incoming(*MIXED, labels=BOTH), SHARED, "abx", [50, 25, 100]),
    "I17": ([A, B], incoming(soft(HOST)), [*elsewhere("a", 1), *pods(a=1, b=2)], "ab", [100, 33]),
    "I18": ([A, B], incoming(soft(HOST)), [TERMINATING, *pods(b=1)], "ab", [100, 0]),
    "I22": (TAINTED, incoming(soft("node", node_taints_policy="Honor")), pods(a=2, b=1, c=1), "abc", [0, 33, 100]),
    "I23": (TAINTED, incoming(soft("node")), pods(a=2, b=1, c=1), "abc", [66, 100, 100]),
    "I25-hard": (FOUR, incoming(hard(HOST)), [SERVICE, *pods(a=2)], "abxy", "SKIP"),
    "I25-soft": (FOUR, incoming(hard("zone"), soft(HOST)), [SERVICE, *pods(a=2, y=1)], "abxy", [0, 100, 100, 50]),
    "I26": ([A, B, on("x")], incoming(soft("zone"), soft(HOST)), pods(a=3, b=1, x=5), "abx", [66, 100, 0]),
}


@pytest.mark.parametrize(("nodes", "pod", "others", "feasible", "expected"), SCORE.values(), ids=SCORE)
def test_score_rows(nodes, pod, others, feasible, expected):
    context = a_context(*nodes, pod, *others)
    assert scores(context, PodTopologySpread(context), pod_index(context), list(feasible)) == expected


def test_a_missing_label_is_unresolvable_and_a_skew_is_not():
    context = a_context(on("a"), X, Y, incoming(hard("zone")), *pods(x=1), on("z", "zone3"))
    found = statuses(context, PodTopologySpread(context), pod_index(context))
    assert found == {"a": ("UAU", MISSING), "x": ("U", SKEWED), "y": ("U", SKEWED), "z": ("OK",)}


def test_the_first_constraint_that_fails_gives_the_code():
    """A node that is too full for the first constraint and lacks the label of the second one could be helped."""
    nodes = [on("a", "zone1", labels={"rack": "r"}), on("b", "zone2", labels={"rack": "r"}), on("c", "zone1")]
    context = a_context(*nodes, incoming(hard("zone"), hard("rack", 9)), *pods(a=1))
    assert codes(context, PodTopologySpread(context), pod_index(context)) == "a:U b:OK c:U"


def test_a_pod_that_its_own_constraint_does_not_count_may_go_to_the_fullest_domain():
    context = a_context(A, X, incoming(hard("zone"), labels={}), *pods(a=1))
    assert codes(context, PodTopologySpread(context), pod_index(context)) == "a:OK x:OK"


@pytest.mark.parametrize(
    ("which", "expected"), [({}, "a:OK x:OK"), (None, "a:OK x:OK")], ids=["empty selector", "no selector"]
)
def test_selectors_that_ask_for_nothing_count_nothing(which, expected):
    context = a_context(A, X, incoming(hard("zone", which=which)), *pods(a=7))
    assert codes(context, PodTopologySpread(context), pod_index(context)) == expected


def test_an_empty_selector_still_matches_the_pod_itself():
    none = a_context(A, X, incoming(hard("zone", 0, which=None)))
    empty = a_context(A, X, incoming(hard("zone", 0, which={})))
    assert codes(empty, PodTopologySpread(empty), pod_index(empty)) == "a:U x:U"
    assert codes(none, PodTopologySpread(none), pod_index(none)) == "a:OK x:OK"


def test_an_empty_selector_counts_the_pods_that_are_tried_out():
    """Source: updateWithPod matches every pod, though no pod was counted before."""
    context = a_context(A, X, incoming(hard("zone", which={})), *pods(a=3, x=1), a_pod("q"))
    plugin, pod = PodTopologySpread(context), pod_index(context)
    assert codes(context, plugin, pod) == "a:OK x:OK"
    context.state.place(pod_index(context, "q"), 0)
    assert plugin_codes(context, plugin, pod) == "U OK"


def plugin_codes(context, plugin, pod):
    """The codes of all nodes later in the same cycle: PreFilter is not asked again."""
    result = plugin.filter(pod, np.arange(2))
    return " ".join("OK" if each == PASSES else "U" for each in result.category.tolist())


def test_a_constraint_that_cannot_be_read_ends_the_cycle():
    context = a_context(A, incoming(hard("zone", which=selector(("foo", "Near")))))
    with pytest.raises(CycleError, match='"Near" is not a valid label selector operator'):
        PodTopologySpread(context).prefilter(pod_index(context))


def test_the_system_defaults_keep_nodes_without_a_zone():
    """Such nodes are one more domain with an empty name, but the zone says nothing about them."""
    context = a_context(A, X, on("c"), incoming(), SERVICE, *pods(a=2, x=1, c=3))
    # Weights ln(5) and ln(5): a 5.2 + 7.2, c 6.8 alone, x 3.6 + 5.6.
    assert scores(context, PodTopologySpread(context), pod_index(context)) == [58, 100, 83]


def test_an_empty_zone_label_shares_its_domain_with_nodes_without_one():
    nodes = [on("a", labels={ZONE: ""}), on("b"), X]
    context = a_context(*nodes, incoming(), SERVICE, *pods(a=1, b=4))
    # Weights ln(5) and ln(4): a 3.6 + 10.9, b 8.4 alone, x 2 + 4.
    assert scores(context, PodTopologySpread(context), pod_index(context)) == [40, 86, 100]


RS_POD = {"owner": ("ReplicaSet", "rs")}
OWNERS = {
    "ReplicaSet": (RS_POD, a_replica_set("rs", selector=selector(labels=FOO_LABELS)), [0, 100]),
    "StatefulSet": (
        {"owner": ("StatefulSet", "ss")},
        a_workload("StatefulSet", "ss", selector=selector(labels=FOO_LABELS)),
        [0, 100],
    ),
    "ReplicationController": (
        {"owner": ("ReplicationController", "rc")},
        a_workload("ReplicationController", "rc", selector=FOO_LABELS),
        [0, 100],
    ),
    "Job": ({"owner": ("Job", "j")}, a_workload("Job", "j", selector=selector(labels=FOO_LABELS)), "SKIP"),
    "unknown ReplicaSet": (RS_POD, a_replica_set("another", selector=selector(labels=FOO_LABELS)), "SKIP"),
    "ReplicaSet elsewhere": (RS_POD, a_replica_set("rs", namespace="x", selector=selector(labels=FOO_LABELS)), "SKIP"),
    "ReplicaSet without selector": (RS_POD, a_replica_set("rs"), "SKIP"),
    "unreadable ReplicaSet": (RS_POD, a_replica_set("rs", selector=selector(("foo", "Near"))), "SKIP"),
    "bare pod": ({}, a_replica_set("rs", selector=selector(labels=FOO_LABELS)), "SKIP"),
    "Service": ({}, SERVICE, [0, 100]),
    "Service elsewhere": ({}, a_service("s", namespace="x", selector=FOO_LABELS), "SKIP"),
    "Service of others": ({}, a_service("s", selector=BAR_LABELS), "SKIP"),
    "Service without selector": ({}, a_service("s"), "SKIP"),
    "Service with empty selector": ({}, a_service("s", selector={}), "SKIP"),
}


@pytest.mark.parametrize(("owned", "behind", "expected"), OWNERS.values(), ids=OWNERS)
def test_what_stands_behind_a_pod_spreads_it_by_default(owned, behind, expected):
    constraint = TopologySpreadConstraint(max_skew=1, topology_key="zone", when_unsatisfiable="ScheduleAnyway")
    context = a_context(A, X, behind, incoming(**owned), *pods(a=1))
    plugin = PodTopologySpread(context, "List", [constraint])
    assert scores(context, plugin, pod_index(context)) == expected


def test_services_and_the_owner_together_say_what_counts():
    """Only pods that match every one of them count."""
    context = a_context(
        A,
        X,
        SERVICE,
        a_replica_set("rs", selector=selector(labels=BAR_LABELS)),
        incoming(labels=BOTH, **RS_POD),
        *pods(a=3, x=[BOTH]),
    )
    # Weights ln(4): a 2 + 4, x 3.4 + 5.4.
    assert scores(context, PodTopologySpread(context), pod_index(context)) == [100, 66]


def test_listed_defaults_may_be_hard_and_require_every_key():
    constraint = TopologySpreadConstraint(max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule")
    context = a_context(A, X, on("c"), SERVICE, incoming(), *pods(a=1))
    assert codes(context, PodTopologySpread(context, "List", [constraint]), pod_index(context)) == "a:U c:UAU x:OK"
    assert codes(context, PodTopologySpread(context, "List", []), pod_index(context)) == "a:OK c:OK x:OK"
