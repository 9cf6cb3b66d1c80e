"""RemovePodsViolatingInterPodAntiAffinity: which pods are next to pods that they repel.

Ids are the rows of upstream's own unit tests (IA, IA-H) and of scenarios that were run against upstream (X), restated.
Excluded: validation of the arguments (tests/policies).
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import DS, NOW, OWN, RS, Object, a_node, a_pod, anti, pod_anti_affinity, pod_term, selector, std_node
from descheduling.harness import cycle, evictions, refusals

FOO = anti("foo", "bar")
FOO_1 = anti("foo1", "bar1")
LABEL: Object = {"foo": "bar"}
N1 = std_node("n1", labels={"region": "main-region"})
#: A second usable node on which nothing runs and that takes nobody.
CLOSED = std_node("closed", unschedulable=True)

NODES = [a_node(name, labels=labels) for name, labels in (("n1", {"z": "a"}), ("n2", {"z": "a"}), ("n3", {}))]
LABELS: dict[str, Object] = {node["metadata"]["name"]: node["metadata"].get("labels", {}) for node in NODES}
SELECTORS: dict[str, Object | None] = {
    "nothing": None,
    "everything": selector(),
    "x": selector(labels={"app": "x"}),
    "not x": selector(("app", "NotIn", "x")),
    "broken": selector(("app", "Near", "x")),
}

TERMS = st.tuples(
    st.sampled_from(sorted(SELECTORS)),
    st.sampled_from([None, ["a"], ["a", "b"], ["gone"]]),
    st.sampled_from(["z", "none"]),
)
PODS = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["p1", "p2", "p3"])),
    st.fixed_dictionaries(
        {
            "node": st.sampled_from(sorted(LABELS)),
            "app": st.sampled_from(["x", "y"]),
            "terms": st.lists(TERMS, max_size=2),
            "stays": st.booleans(),
        }
    ),
)


def found(pods: list[Object], nodes: tuple[Object, ...] = (N1,), args: Object | None = None, **more: Any) -> list[str]:
    return evictions("RemovePodsViolatingInterPodAntiAffinity", args or {}, nodes=[*nodes, CLOSED], pods=pods, **more)


def on(node: str, name: str, **more: Any) -> Object:
    return a_pod(name, node=node, **({"owner": OWN} | more))


P2 = on("n1", "p2", labels=LABEL)
S = [on("n1", "p1", affinity=FOO), P2, on("n1", "p3", affinity=FOO), on("n1", "p4", affinity=FOO)]
CRITICAL = on("n1", "non-evict", owner=None, priority=2_000_000_000, labels=LABEL)
P8 = on("n1", "p8", owner=None, node_selector={"datacenter": "west"})
SORTED = [
    on("n1", "p5", priority=100, labels=LABEL, affinity=FOO_1),
    on("n1", "p6", priority=50, labels=LABEL, affinity=FOO_1),
    on("n1", "p7", priority=0, labels={"foo1": "bar1"}, affinity=FOO),
]
FIT: Object = {"evictor": {"nodeFit": True}, "per_node": 1}

ROWS: dict[str, tuple[tuple[Object, ...], list[Object], Object, list[str]]] = {
    "IA-01": ((N1,), S, {}, ["p1", "p3", "p4"]),
    "IA-02": ((N1,), S, {"per_node": 3}, ["p1", "p3", "p4"]),
    "IA-03": ((N1,), S, {"per_namespace": 3}, ["p1", "p3", "p4"]),
    "IA-04": ((N1,), S, {"per_namespace": 3, "total": 1}, ["p1"]),
    "IA-05": ((N1,), SORTED, {}, ["p7"]),
    "IA-06": ((N1,), [S[0], CRITICAL], {"per_node": 1}, ["p1"]),
    "IA-08": ((N1, std_node("n2", labels={"datacenter": "east"})), [P8, CRITICAL], FIT, []),
    "IA-09": ((N1, std_node("n3", unschedulable=True)), [P8, CRITICAL], FIT, []),
    "nodeFit, room elsewhere": ((N1, std_node("n2")), S, FIT, ["p1"]),
    "nodeFit, no room": ((N1,), S, FIT, []),
    "IA-H1": (
        (N1,),
        [on("n1", "p1", labels=LABEL, affinity=FOO), on("n1", "p2", labels=LABEL, affinity=FOO)],
        {},
        ["p1"],
    ),
    "IA-H2": (
        (N1, std_node("n2", labels={"region": "main-region"})),
        [on("n2", "p1", affinity=FOO), on("n2", "p2", labels=LABEL)],
        {"listed": ["n1", "closed"]},
        [],
    ),
    "IA-H3": ((N1,), [on("n1", "p1", affinity=FOO), on("n1", "p2", namespace="other", labels=LABEL)], {}, []),
}


@pytest.mark.parametrize(("nodes", "pods", "more", "expected"), ROWS.values(), ids=ROWS.keys())
def test_pods_go_as_long_as_a_pod_that_they_repel_is_there(
    nodes: tuple[Object, ...], pods: list[Object], more: Object, expected: list[str]
) -> None:
    assert found(pods, nodes, **more) == expected


def term(**more: Any) -> Object:
    """Anti-affinity with the label foo=bar, per region."""
    return pod_anti_affinity([pod_term(selector(labels=LABEL), topology="region", **more)])


def repelling(name: str, *, node: str = "n1", **more: Any) -> Object:
    return a_pod(name, node=node, **({"owner": RS, "affinity": FOO} | more))


def labelled(name: str, *, node: str = "n1", **more: Any) -> Object:
    return a_pod(name, node=node, **({"owner": RS, "labels": LABEL} | more))


SAME = std_node("n2", labels={"region": "main-region"})
OTHER = std_node("n3", labels={"region": "other"})
NOWHERE = std_node("n4")
BOTH_NAMESPACES = term(namespaces=["default", "o"])
BAD_SELECTOR = pod_term(selector(("foo", "Near", "bar")), topology="region")
GOOD_SELECTOR = pod_term(selector(labels=LABEL), topology="region")

SCENARIOS: dict[str, tuple[list[Object], list[str]]] = {
    "X-42": ([repelling("w1", node="n4"), labelled("w2", node="n4")], ["w1"]),
    "X-43": ([repelling("w0", affinity=BOTH_NAMESPACES), labelled("w0", namespace="o")], []),
    "X-44": ([repelling("w0", affinity=BOTH_NAMESPACES), labelled("w9", namespace="o")], ["w0"]),
    "X-45": ([repelling("w0", affinity=term(namespace_selector={})), labelled("w9", namespace="o")], []),
    "X-47": ([repelling("hi", priority=1000), labelled("lo", priority=1)], ["hi"]),
    "X-49": ([repelling("hi"), labelled("lo", deleted=NOW)], ["hi"]),
    "same domain, another node": ([repelling("a"), labelled("b", node="n2")], ["a"]),
    "another domain": ([repelling("a"), labelled("b", node="n3")], []),
    "the other node has no domain": ([repelling("a"), labelled("b", node="n4")], []),
    "neither node has a domain": ([repelling("a", node="n4"), labelled("b", node="n5")], []),
    "an unknown namespace": ([repelling("a", affinity=term(namespaces=["gone"])), labelled("b")], []),
    "another namespace only": (
        [repelling("a", affinity=term(namespaces=["o"])), labelled("b"), labelled("c", namespace="o", node="n3")],
        [],
    ),
    "finished counterparts": ([repelling("a"), labelled("b", phase="Succeeded"), labelled("c", phase="Failed")], []),
    "counterparts that may not be evicted": ([repelling("a"), labelled("b", owner=DS)], ["a"]),
    "no selector": ([repelling("a", affinity=pod_anti_affinity([pod_term(None)])), labelled("b")], []),
    "every label": ([repelling("a", affinity=pod_anti_affinity([pod_term(selector())])), labelled("b")], ["a"]),
    "preferred terms": (
        [repelling("a", affinity=pod_anti_affinity(preferred=[(100, GOOD_SELECTOR)])), labelled("b")],
        [],
    ),
    "match label keys are not read": (
        [repelling("a", affinity=term(match_label_keys=["app"]), labels={"app": "x"}), labelled("b")],
        ["a"],
    ),
    "a bad selector ends the search": (
        [repelling("a", affinity=pod_anti_affinity([BAD_SELECTOR, GOOD_SELECTOR])), labelled("b")],
        [],
    ),
    "unless a term before it decides": (
        [repelling("a", affinity=pod_anti_affinity([GOOD_SELECTOR, BAD_SELECTOR])), labelled("b")],
        ["a"],
    ),
    "the second term decides": (
        [
            repelling("a", affinity=pod_anti_affinity([pod_term(selector(labels={"no": "one"})), GOOD_SELECTOR])),
            labelled("b"),
        ],
        ["a"],
    ),
}


@pytest.mark.parametrize(("pods", "expected"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_who_repels_whom(pods: list[Object], expected: list[str]) -> None:
    assert found(pods, (N1, SAME, OTHER, NOWHERE, std_node("n5"))) == expected


@pytest.mark.parametrize(
    "args",
    [
        pytest.param({"namespaces": {"exclude": ["o"]}}, id="namespaces"),
        pytest.param({"labelSelector": {"matchLabels": {"tier": "a"}}}, id="labelSelector"),
    ],
)
def test_the_chosen_pods_are_counterparts_as_well_as_candidates(args: Object) -> None:
    """X-46."""
    pods = [repelling("a", affinity=BOTH_NAMESPACES, labels={"tier": "a"}), labelled("b", namespace="o")]
    assert found(pods) == ["a"]
    assert found(pods, args=args) == []


def test_of_pods_that_repel_each_other_in_one_domain_one_stays() -> None:
    pods = [
        a_pod(f"p{index}", node=node, owner=RS, labels=LABEL, affinity=FOO, priority=priority)
        for index, (node, priority) in enumerate([("n1", 3), ("n1", 1), ("n2", 2), ("n3", 0), ("n2", 4)])
    ]
    assert found(pods, (N1, SAME, OTHER)) == ["p1", "p0", "p2"]


def test_low_priorities_of_a_node_go_first_and_pods_that_would_rather_stay_last() -> None:
    reluctant: Object = {"annotations": {"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}}
    pods = [
        repelling("a", priority=10),
        repelling("b", priority=-5),
        repelling("c"),
        repelling("d", qos="Guaranteed"),
        repelling("e", priority=10, qos="BestEffort", **reluctant),
        repelling("f", priority=10, **reluctant),
        labelled("z"),
    ]
    assert found(pods) == ["c", "d", "b", "e", "a", "f"]


def test_a_pod_that_the_evictor_protects_stays_a_counterpart() -> None:
    pods = [a_pod(name, node="n1", owner=owner, labels=LABEL, affinity=FOO) for name, owner in (("a", DS), ("b", RS))]
    assert found(pods) == ["b"]
    refused = refusals("RemovePodsViolatingInterPodAntiAffinity", {}, nodes=[N1, CLOSED], pods=pods)
    assert refused == {"a": "DaemonSetPods"}


LIMITS: dict[str, tuple[Object, list[str]]] = {
    "node": ({"per_node": 1}, ["a", "c"]),
    "total": ({"total": 2}, ["a", "b"]),
    "namespace": ({"per_namespace": 1}, ["a"]),
}


@pytest.mark.parametrize(("limits", "expected"), LIMITS.values(), ids=LIMITS.keys())
def test_limits(limits: Object, expected: list[str]) -> None:
    pods = [repelling("a"), repelling("b"), labelled("x"), repelling("c", node="n3"), labelled("y", node="n3")]
    assert found(pods, (N1, OTHER), **limits) == expected


def test_room_made_by_an_eviction_counts_for_minimal_replicas() -> None:
    """Three replicas, at least two: each is asked when its turn has come."""
    owner = ("ReplicaSet", "rs")
    pods = [repelling(name, owner=owner) for name in ("a", "b", "c")] + [labelled("z")]
    assert found(pods, evictor={"minReplicas": 2}) == ["a", "b"]


def test_the_reason_names_the_counterpart_and_the_domain() -> None:
    pods = [repelling("a"), labelled("b", node="n2"), repelling("c", node="n4"), labelled("d", node="n4")]
    done = cycle("RemovePodsViolatingInterPodAntiAffinity", {}, nodes=[N1, SAME, NOWHERE], pods=pods)
    assert [each.reason for each in done.record.evictions] == [
        "repels default/b, also in region=main-region",
        "repels default/d, also on its node",
    ]


def matches(kind: str, app: str) -> bool:
    return {"nothing": False, "everything": True, "x": app == "x", "not x": app != "x"}[kind]


def repels(pod: tuple[str, str], given_pods: dict[tuple[str, str], Any], left: set[tuple[str, str]]) -> bool:
    mine = given_pods[pod]
    for kind, namespaces, topology in mine["terms"]:
        if kind == "broken":
            return False
        for other, theirs in given_pods.items():
            if other in left or other[1] == pod[1] or other[0] not in (namespaces or [pod[0]]):
                continue
            domain = LABELS[mine["node"]].get(topology)
            together = mine["node"] == theirs["node"] or (
                domain is not None and domain == LABELS[theirs["node"]].get(topology)
            )
            if together and matches(kind, theirs["app"]):
                return True
    return False


def expected(given_pods: dict[tuple[str, str], Any]) -> list[str]:
    left: dict[tuple[str, str], None] = {}
    for node in sorted(LABELS):
        for pod in sorted(given_pods):
            properties = given_pods[pod]
            if properties["node"] == node and repels(pod, given_pods, set(left)) and not properties["stays"]:
                left[pod] = None
    return ["/".join(pod) for pod in left]


def built(pod: tuple[str, str], properties: dict[str, Any]) -> Object:
    terms = [
        pod_term(SELECTORS[kind], namespaces=namespaces, topology=topology)
        for kind, namespaces, topology in properties["terms"]
    ]
    return a_pod(
        pod[1],
        namespace=pod[0],
        node=properties["node"],
        owner=None if properties["stays"] else ("ReplicaSet", "rs"),
        labels={"app": properties["app"]},
        affinity=pod_anti_affinity(terms) if terms else None,
    )


@settings(max_examples=200, deadline=None)
@given(PODS)
def test_the_index_finds_what_a_search_of_all_pods_finds(given_pods: dict[tuple[str, str], Any]) -> None:
    pods = [built(pod, properties) for pod, properties in given_pods.items()]
    assert evictions("RemovePodsViolatingInterPodAntiAffinity", {}, nodes=NODES, pods=pods) == expected(given_pods)
