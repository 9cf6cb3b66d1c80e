"""Repulsion against upstream's own search: compare every pod with every other one, one term after the other."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Object, a_node, a_pod, pod_anti_affinity, pod_term, selector
from descheduling.harness import evictions

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
