"""RemoveDuplicates: which replicas go, and which stay for whom.

Ids are the rows of upstream's own unit tests (RD) and of scenarios that were run against upstream (X), restated.
Where upstream's choice depends on a random order, the row's count is upstream's and the names are those of canonical
order. Excluded: arguments (tests/policies).
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import (
    CRIT,
    DS,
    LS,
    MIRROR,
    OWN,
    RS,
    RS2,
    Object,
    a_container,
    a_node,
    a_pod,
    node_affinity,
    node_term,
    pods_on,
    std_node,
)
from descheduling.harness import cycle, evictions, refusals

TWO = [std_node("n1"), std_node("n2")]
THREE = [*TWO, std_node("n3")]

DEV = pods_on("n1", "p1", "p2", "p3", namespace="dev", owner=RS)
TEST = pods_on("n1", "p10", "p8", "p9", namespace="test", owner=RS)
PROTECTED = [
    a_pod("p4", node="n1", owner=DS),
    a_pod("p5", node="n1", owner=OWN, volumes=LS),
    a_pod("p6", node="n1", annotations=MIRROR),
    a_pod("p7", node="n1", **CRIT),
]
CPU_EATER = a_pod("CPU-eater", namespace="test", node="n6", cpu="150m", memory="150")
CPU_SAVER = a_pod("CPU-saver", namespace="test", node="n6", cpu="100m", memory="150")


def _images(name: str, *images: str) -> Object:
    return a_pod(name, namespace="different-images", node="n1", owner=RS, images=list(images))


def _spread(*counts: int, prefix: str = "p", start: int = 1, **same: Any) -> list[Object]:
    """p1, p2, ... filling n1, n2, ... with so many pods each."""
    nodes = [f"n{index}" for index, count in enumerate(counts, 1) for _ in range(count)]
    return [a_pod(f"{prefix}{number}", node=node, **same) for number, node in enumerate(nodes, start)]


ROWS = {
    "RD-01": (TWO, DEV, {}, ["dev/p3"]),
    "RD-02": (TWO, DEV, {"excludeOwnerKinds": ["ReplicaSet"]}, []),
    "RD-03": (TWO, TEST, {}, ["test/p9"]),
    "RD-04": (TWO, DEV + TEST, {}, ["dev/p3", "test/p9"]),
    "RD-05": (TWO, PROTECTED, {}, []),
    "RD-06": (TWO, DEV + TEST + PROTECTED, {}, ["dev/p3", "test/p9"]),
    "RD-07": (TWO, [_images("p11", "foo"), _images("p12", "bar")], {}, []),
    "RD-09": (TWO, [_images("p11", "foo"), _images("p13", "", "foo")], {}, []),
    "RD-16": (THREE, _spread(5, 3, 1, owner=RS), {}, ["p4", "p5"]),
    "RD-18": (THREE, _spread(5, 3, 1, start=11, owner=[RS, RS2]), {}, ["p14", "p15"]),
    "RD-19": (
        THREE,
        _spread(5, 3, 1, start=11, owner=RS) + _spread(1, 3, 5, start=21, owner=RS2),
        {},
        ["p14", "p15", "p28", "p29"],
    ),
    "RD-22": (THREE, [a_pod("p1", node="n1", owner=RS)], {}, []),
}


@pytest.mark.parametrize(("nodes", "pods", "args", "expected"), ROWS.values(), ids=ROWS.keys())
def test_replicas_beyond_the_fair_share_of_their_node_go(
    nodes: list[Object], pods: list[Object], args: Object, expected: list[str]
) -> None:
    assert evictions("RemoveDuplicates", args, nodes=nodes, pods=pods) == expected


NODE_FIT_ROWS = {
    "RD-12": ([std_node("n1"), std_node("n5", unschedulable=True)], DEV, []),
    "RD-13": ([std_node("n1"), std_node("n6", 200, 200)], [*DEV, CPU_EATER], []),
    "RD-14": ([std_node("n1"), std_node("n6", 200, 200)], [*DEV, CPU_SAVER], ["dev/p3"]),
}


@pytest.mark.parametrize(("nodes", "pods", "expected"), NODE_FIT_ROWS.values(), ids=NODE_FIT_ROWS.keys())
def test_with_node_fit_only_pods_that_fit_elsewhere_are_replicas(
    nodes: list[Object], pods: list[Object], expected: list[str]
) -> None:
    assert evictions("RemoveDuplicates", {}, nodes=nodes, pods=pods, evictor={"nodeFit": True}) == expected


LISTED = {
    "RD-16": (["n1", "n2", "n3"], ["p4", "p5"]),
    "RD-17": (["n1", "n2"], ["p5"]),
}


@pytest.mark.parametrize(("listed", "expected"), LISTED.values(), ids=LISTED.keys())
def test_pods_on_nodes_that_are_not_listed_do_not_exist(listed: list[str], expected: list[str]) -> None:
    """Eight of nine pods are on the first two nodes, so their fair share is four."""
    pods = _spread(5, 3, 1, owner=RS)
    assert evictions("RemoveDuplicates", {}, nodes=THREE, pods=pods, listed=listed) == expected


CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
WORKER = "node-role.kubernetes.io/worker"
WORKERS = [a_node(f"n{index}") for index in (1, 2, 3)]
MASTERS = [a_node(f"master{index}", labels={CONTROL_PLANE: ""}) for index in (1, 2, 3)]
FIVE_THREE_ONE = ["n1"] * 5 + ["n2"] * 3 + ["n3"]


def _alternating(*variants: Object) -> list[Object]:
    return [
        a_pod(f"p{number}", node=node, owner=RS, **variants[number % len(variants)])
        for number, node in enumerate(FIVE_THREE_ONE, 1)
    ]


AWAY_FROM_MASTERS = _alternating(
    *(
        {"affinity": node_affinity([node_term((CONTROL_PLANE, "DoesNotExist"), (key, "DoesNotExist"))])}
        for key in ("k1", "k2")
    )
)
ON_WORKERS = _alternating({"node_selector": {WORKER: "k1"}}, {"node_selector": {WORKER: "k2"}})

TARGET_ROWS = {
    "RD-24": (WORKERS + MASTERS, AWAY_FROM_MASTERS, ["p4", "p5"]),
    "RD-25": ([a_node(f"n{index}", labels={WORKER: "k2"}) for index in (1, 2, 3)] + MASTERS, ON_WORKERS, ["p4", "p5"]),
    "RD-26": (WORKERS + [a_node(f"master{index}") for index in (1, 2, 3)], ON_WORKERS, []),
}


@pytest.mark.parametrize(("nodes", "pods", "expected"), TARGET_ROWS.values(), ids=TARGET_ROWS.keys())
def test_only_nodes_that_duplicates_may_run_on_share(
    nodes: list[Object], pods: list[Object], expected: list[str]
) -> None:
    assert evictions("RemoveDuplicates", {}, nodes=nodes, pods=pods) == expected


def _four(**same: Any) -> list[Object]:
    return pods_on("n1", "a1", "a2", "a3", "a4", owner=RS, **same)


BIG = std_node("n1", 4000, 3000, 100)

SCENARIOS = {
    "X-61": ([BIG, std_node("n2", unschedulable=True)], _four(), ["a3", "a4"]),
    "X-62": ([BIG, std_node("n2", 0, 0, 0)], _four(), ["a3", "a4"]),
    "X-63": ([BIG, std_node("n2", taints=["k=v:NoSchedule"])], _four(), []),
    "X-64": (
        [std_node("n1", taints=["k=v:NoSchedule"]), std_node("n2"), std_node("n3")],
        _four(),
        ["a3", "a4"],
    ),
    "X-65": (
        TWO,
        [
            a_pod(f"a{index}", node="n1", owner=RS, init_containers=[a_container(image=f"init-{index}")])
            for index in (1, 2, 3, 4)
        ],
        ["a3", "a4"],
    ),
    "X-66": (THREE, _spread(3, 2, prefix="a", owner=RS), ["a3"]),
    "X-67": (TWO, [a_pod("a1", node="n1", owner=RS), a_pod("a2", node="n1", owner=RS, phase="Succeeded")], []),
    "X-68": (
        TWO,
        [*pods_on("n1", "a1", "a2", owner=RS), *pods_on("n1", "a3", "a4", owner=RS, volumes=LS)],
        ["a2"],
    ),
    "X-70": (
        [std_node("n1", labels={"pin": "here"}), std_node("n2"), std_node("n3")],
        _four(node_selector={"pin": "here"}),
        [],
    ),
}


@pytest.mark.parametrize(("nodes", "pods", "expected"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_scenarios_that_were_run_against_upstream(nodes: list[Object], pods: list[Object], expected: list[str]) -> None:
    assert evictions("RemoveDuplicates", {}, nodes=nodes, pods=pods) == expected


def test_a_term_that_does_not_parse_counts_as_a_match() -> None:
    broken = node_affinity([node_term(("zone", "Near", "a"))])
    assert evictions("RemoveDuplicates", {}, nodes=TWO, pods=_four(affinity=broken)) == ["a3", "a4"]


def test_the_limit_of_a_node_ends_the_owner_on_that_node_only() -> None:
    pods = _spread(4, 4, owner=RS) + _spread(4, 0, prefix="q", owner=RS2)
    nodes = [*THREE, std_node("n4")]
    assert evictions("RemoveDuplicates", {}, nodes=nodes, pods=pods, per_node=1) == ["p3", "p7"]
    assert evictions("RemoveDuplicates", {}, nodes=nodes, pods=pods, total=3) == ["p3", "p4", "p7"]


def test_only_pods_with_a_replica_beside_them_are_noted_as_refused() -> None:
    pods = [
        *pods_on("n1", "a1", "a2", owner=RS, volumes=LS),
        a_pod("a3", node="n2", owner=RS, volumes=LS),
        a_pod("b1", node="n2", owner=RS2, volumes=LS),
    ]
    found = refusals("RemoveDuplicates", {}, nodes=TWO, pods=pods)
    assert found == {"a1": "PodsWithLocalStorage", "a2": "PodsWithLocalStorage"}


def test_the_reason_tells_the_shares() -> None:
    done = cycle("RemoveDuplicates", {}, nodes=THREE, pods=_spread(5, 3, 1, owner=RS))
    assert done.record.evictions[0].reason == "5 of 9 replicas on n1, fair share 3"
