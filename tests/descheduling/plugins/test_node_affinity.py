"""RemovePodsViolatingNodeAffinity: which pods are not where their node affinity wants them.

Ids are the rows of upstream's own unit tests (NA) and of scenarios that were run against upstream (X), restated.
Excluded: validation of the arguments (tests/policies).
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import LS, NOW, OWN, RS, Object, a_pod, node_affinity, node_term, pods_on, std_node
from descheduling.harness import cycle, evictions, refusals

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
DESIRED = "kubernetes.io/desiredNode"
WANTED = node_term((DESIRED, "In", "yes"))
PLAIN = std_node("plain")
GOOD = std_node("good", labels={DESIRED: "yes"})
BAD = std_node("bad", labels={DESIRED: "yes"}, unschedulable=True)
#: A second usable node that takes nobody and that nobody wants.
CLOSED = std_node("closed", unschedulable=True)


def found(kinds: str | list[str], nodes: list[Object], pods: list[Object], **more: Any) -> list[str]:
    args = {"nodeAffinityType": [kinds] if isinstance(kinds, str) else kinds} | more.pop("args", {})
    return evictions("RemovePodsViolatingNodeAffinity", args, nodes=nodes, pods=pods, **more)


def affinity_of(kind: str) -> Object:
    return node_affinity([WANTED]) if kind == REQUIRED else node_affinity(preferred=[(10, WANTED)])


def fixture(kind: str, node: str, **more: Any) -> list[Object]:
    """Three pods on a node, one of them with node affinity of this type."""
    first = a_pod("podWithNodeAffinity", node=node, owner=OWN, affinity=affinity_of(kind), **more)
    return [first, *pods_on(node, "pod1", "pod2", owner=OWN, **more)]


VIOLATOR = ["podWithNodeAffinity"]
DELETED: Object = {"deleted": NOW}
LISTED = ["closed", "good", "bad"]
FIT: Object = {"nodeFit": True}

ROWS: dict[str, tuple[str, str, Object, Object, list[str]]] = {
    "NA-02": (REQUIRED, "good", {}, {}, []),
    "NA-03": (PREFERRED, "good", {}, {}, []),
    "NA-04": (REQUIRED, "plain", {}, {}, VIOLATOR),
    "NA-05": (PREFERRED, "plain", {}, {}, VIOLATOR),
    "NA-06": (REQUIRED, "plain", {}, {"per_node": 1}, VIOLATOR),
    "NA-07": (PREFERRED, "plain", {}, {"per_node": 1}, VIOLATOR),
    "NA-08": (REQUIRED, "plain", {}, {"per_node": 0}, []),
    "NA-09": (PREFERRED, "plain", {}, {"per_node": 0}, []),
    "NA-10": (REQUIRED, "plain", DELETED, {"per_node": 1}, []),
    "NA-11": (PREFERRED, "plain", DELETED, {"per_node": 1}, []),
    "NA-12": (REQUIRED, "plain", {}, {"per_namespace": 1}, VIOLATOR),
    "NA-13": (REQUIRED, "plain", {}, {"per_namespace": 1, "total": 0}, []),
    "NA-14": (PREFERRED, "plain", {}, {"per_namespace": 1}, VIOLATOR),
    "NA-15": (REQUIRED, "plain", {}, {"per_namespace": 0}, []),
    "NA-16": (PREFERRED, "plain", {}, {"per_namespace": 0}, []),
    "NA-17": (REQUIRED, "plain", DELETED, {"per_namespace": 1}, []),
    "NA-18": (PREFERRED, "plain", DELETED, {"per_namespace": 1}, []),
    "NA-21": (REQUIRED, "plain", {}, {"evictor": FIT, "per_node": 1, "listed": LISTED}, []),
    "NA-22": (PREFERRED, "plain", {}, {"evictor": FIT, "per_node": 1, "listed": LISTED}, []),
}


@pytest.mark.parametrize(("kind", "source", "pod", "more", "expected"), ROWS.values(), ids=ROWS.keys())
def test_pods_that_are_better_placed_elsewhere_go(
    kind: str, source: str, pod: Object, more: Object, expected: list[str]
) -> None:
    nodes = [PLAIN, GOOD, BAD, CLOSED] if "listed" in more else [PLAIN, GOOD]
    assert found(kind, nodes, fixture(kind, source, **pod), **more) == expected


def wanting(name: str = "p", *, node: str = "plain", kind: str = REQUIRED, **more: Any) -> Object:
    return a_pod(name, node=node, **({"owner": RS, "affinity": affinity_of(kind)} | more))


FULL = a_pod("full", node="good", cpu="2", owner=RS)
BOTH = node_affinity([WANTED], [(10, WANTED)])
UNFIT = std_node("unfit", labels={DESIRED: "yes"}, taints=["k=v:NoExecute"])

REQUIRED_ROWS: dict[str, tuple[list[Object], list[Object], list[str]]] = {
    "X-50": ([PLAIN, GOOD], [a_pod("p", node="plain", owner=RS, node_selector={DESIRED: "yes"})], []),
    "X-51": ([PLAIN, GOOD], [wanting()], ["p"]),
    "X-52": ([PLAIN, GOOD], [wanting(), FULL], []),
    "no node with the label fits": ([PLAIN, UNFIT, BAD], [wanting()], []),
    "node selector beside matching affinity": (
        [PLAIN, GOOD, std_node("better", labels={DESIRED: "yes", "disk": "fast"})],
        [wanting(node="good", node_selector={"disk": "fast"})],
        ["p"],
    ),
    "affinity without terms": ([PLAIN, GOOD], [wanting(affinity=node_affinity([]))], []),
    "a term that does not parse": (
        [PLAIN, GOOD],
        [wanting(affinity=node_affinity([node_term((DESIRED, "Near", "yes")), WANTED]))],
        ["p"],
    ),
    "finished pods": ([PLAIN, GOOD], [wanting(phase="Succeeded"), wanting("q", phase="Failed")], []),
    "only preferred": ([PLAIN, GOOD], [wanting(kind=PREFERRED)], []),
}


@pytest.mark.parametrize(("nodes", "pods", "expected"), REQUIRED_ROWS.values(), ids=REQUIRED_ROWS.keys())
def test_required_affinity_that_the_node_does_not_match_needs_a_node_that_fits(
    nodes: list[Object], pods: list[Object], expected: list[str]
) -> None:
    assert found(REQUIRED, nodes, pods) == expected


TWO_WEIGHTS = node_affinity(preferred=[(10, WANTED), (5, node_term(("disk", "In", "fast")))])
NEGATIVE = node_affinity(preferred=[(-10, WANTED)])
PREFERRED_ROWS: dict[str, tuple[list[Object], list[Object], Object, list[str]]] = {
    "X-53": ([PLAIN, GOOD], [wanting(kind=PREFERRED), FULL], {}, ["p"]),
    "X-54": ([PLAIN, GOOD], [wanting(kind=PREFERRED), FULL], FIT, []),
    "X-55": ([PLAIN, BAD, std_node("third")], [wanting(kind=PREFERRED)], FIT, ["p"]),
    "weights add up": (
        [GOOD, std_node("best", labels={DESIRED: "yes", "disk": "fast"})],
        [wanting("at-10", node="good", affinity=TWO_WEIGHTS), wanting("at-15", node="best", affinity=TWO_WEIGHTS)],
        {},
        ["at-10"],
    ),
    "no weight is better than a negative one": ([PLAIN, GOOD], [wanting(node="good", affinity=NEGATIVE)], {}, ["p"]),
    "a term without requirements weighs nothing": (
        [PLAIN, GOOD],
        [wanting(affinity=node_affinity(preferred=[(10, node_term())]))],
        {},
        [],
    ),
    "fits nowhere, not even on its own node": (
        [std_node("plain", unschedulable=True), BAD],
        [wanting(kind=PREFERRED)],
        {},
        [],
    ),
    "only required": ([PLAIN, GOOD], [wanting()], {}, []),
}


@pytest.mark.parametrize(("nodes", "pods", "evictor", "expected"), PREFERRED_ROWS.values(), ids=PREFERRED_ROWS.keys())
def test_a_node_of_higher_weight_draws_pods_even_if_they_do_not_fit_it(
    nodes: list[Object], pods: list[Object], evictor: Object, expected: list[str]
) -> None:
    assert found(PREFERRED, nodes, pods, evictor=evictor) == expected


def test_a_pod_that_violates_both_types_goes_once() -> None:
    """X-56."""
    assert found([REQUIRED, PREFERRED], [PLAIN, GOOD], [wanting(affinity=BOTH)]) == ["p"]


def test_types_are_taken_in_the_order_of_the_policy_and_unknown_ones_are_skipped() -> None:
    pods = [wanting("a"), wanting("b", kind=PREFERRED)]
    assert found([PREFERRED, "anything", REQUIRED], [PLAIN, GOOD], pods) == ["b", "a"]


def test_the_total_limit_ends_the_type_and_the_next_type_is_refused_too() -> None:
    pods = [wanting("a"), wanting("b"), wanting("c", kind=PREFERRED)]
    args = {"nodeAffinityType": [REQUIRED, PREFERRED]}
    assert found([REQUIRED, PREFERRED], [PLAIN, GOOD], pods, total=1) == ["a"]
    refused = refusals("RemovePodsViolatingNodeAffinity", args, nodes=[PLAIN, GOOD], pods=pods, total=1)
    assert refused == {"b": "MaxPodsToEvictTotal", "c": "MaxPodsToEvictTotal"}


def test_the_limit_of_a_node_does_not_stop_other_nodes() -> None:
    nodes = [PLAIN, std_node("plainer"), GOOD]
    pods = [wanting("a"), wanting("b"), wanting("c", node="plainer")]
    assert found(REQUIRED, nodes, pods, per_node=1) == ["a", "c"]


def test_only_listed_nodes_are_better_or_fit() -> None:
    nodes = [PLAIN, CLOSED, GOOD]
    for kind in (REQUIRED, PREFERRED):
        assert found(kind, nodes, [wanting(kind=kind)], listed=["plain", "closed"]) == []


def test_room_left_by_earlier_nodes_is_seen() -> None:
    """``a`` leaves a node that ``b`` wants, and only ``a`` was in the way."""
    first = std_node("1", labels={"for": "b"})
    second = std_node("2")
    third = std_node("3", labels={"for": "a"})
    nodes = [first, second, third]
    a = wanting("a", node="1", cpu="2", affinity=node_affinity([node_term(("for", "In", "a"))]))
    b = wanting("b", node="2", cpu="2", affinity=node_affinity([node_term(("for", "In", "b"))]))
    assert found(REQUIRED, nodes, [a, b]) == ["a", "b"]


def test_only_violating_pods_that_fit_are_noted_as_refused() -> None:
    pods = [wanting("violating", volumes=LS), wanting("placed", node="good", volumes=LS), wanting("big", cpu="9")]
    args = {"nodeAffinityType": [REQUIRED]}
    refused = refusals("RemovePodsViolatingNodeAffinity", args, nodes=[PLAIN, GOOD], pods=pods)
    assert refused == {"violating": "PodsWithLocalStorage"}


def test_the_reason_names_the_node() -> None:
    args = {"nodeAffinityType": [REQUIRED, PREFERRED]}
    pods = [wanting("a"), wanting("b", kind=PREFERRED)]
    done = cycle("RemovePodsViolatingNodeAffinity", args, nodes=[PLAIN, GOOD], pods=pods)
    assert [each.reason for each in done.record.evictions] == [
        "plain does not match its required node affinity",
        "its preferred node affinity weighs plain 0, another node 10",
    ]
