"""HighNodeUtilization: which nodes are emptied, how far, and into which.

Ids are the rows of upstream's own unit tests (HN, HT) and of scenarios that were run against upstream (X), restated.
Where upstream's choice depends on a random order, the row's count is upstream's and the names are those of canonical
order. Excluded: arguments (tests/policies), the arithmetic (tests/descheduling/node_utilization).
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import CRIT, DS, LS, MIRROR, OWN, RS, Object, a_pod, pods_on, std_node
from descheduling.harness import cycle, evictions

NAME = "HighNodeUtilization"
FOO = "example.com/foo"
ONLY = "OnlyThresholdingResources"


def thresholds(modes: tuple[str, ...] = (), **percentages: int) -> Object:
    named = {FOO if name == "foo" else name: percentage for name, percentage in percentages.items()}
    return {"thresholds": named, "evictionModes": list(modes)}


def nodes(*cpus: int, memory: int = 3000, foo: int | None = None, cordoned: str = "") -> list[Object]:
    """n1, n2, ... with so many milli-CPUs each."""
    extended = None if foo is None else {FOO: foo}
    names = [(f"n{index}", cpu) for index, cpu in enumerate(cpus, 1)]
    return [std_node(name, cpu, memory, unschedulable=name == cordoned, extended=extended) for name, cpu in names]


def on(node: str, names: str, cpu: str = "400m", *, foo: int | None = None, **same: Any) -> list[Object]:
    requests = {} if foo is None else {FOO: str(foo)}
    return pods_on(node, *names.split(), **{"cpu": cpu, "owner": RS, "requests": requests, **same})


TO_WEST = on("n2", "p5", node_selector={"datacenter": "west"})
ON_N1 = [*on("n1", "p1 p2 p3"), *on("n1", "p4", owner=DS)]
N1_IS_WEST = [std_node("n1", 4000, 3000, 9, labels={"datacenter": "west"}), std_node("n2", 4000, 3000, 10)]

ROWS = {
    "HN-01": (
        thresholds(cpu=20, pods=20),
        nodes(4000, 4000, 4000),
        [*on("n1", "p1 p2 p3"), *on("n2", "p4 p5 p6"), *on("n3", "p7 p8 p9")],
        [],
    ),
    "HN-02": (
        thresholds(cpu=40, pods=40),
        [std_node("n1", 4000, 3000, 9), *nodes(4000, 4000, 4000)[1:]],
        [
            *on("n1", "p1", owner=OWN, volumes=LS, annotations=MIRROR),
            *on("n1", "p2", owner=OWN, **CRIT),
            *on("n2", "p3 p4", owner=DS),
            *on("n3", "p5 p6 p7 p8"),
        ],
        [],
    ),
    "HN-03": (
        thresholds(cpu=20, pods=20),
        nodes(4000, 4000, 4000, cordoned="n3"),
        [*on("n1", "p1"), *on("n2", "p2"), *on("n3", "p3 p4 p5")],
        [],
    ),
    "HN-05": (
        thresholds(cpu=30, pods=30),
        nodes(2000, 2000, 2000, cordoned="n3"),
        [*on("n1", "p1"), *on("n2", "p2 p3 p4 p5"), *on("n3", "p6")],
        ["p1"],
    ),
    "HN-06": (
        thresholds(cpu=30),
        nodes(4000, 2000, 2000, cordoned="n3"),
        [
            *on("n1", "p1", priority=0),
            *on("n1", "p2", priority=10000),
            *on("n2", "p5 p6 p7 p8"),
            *on("n3", "p9", owner=DS),
        ],
        ["p1"],
    ),
    "HN-07": (
        thresholds(cpu=30),
        [std_node("n1", 3000), std_node("n2", 3000, 3000, 5), std_node("n3", 3000, unschedulable=True)],
        [a_pod("p1", node="n1", cpu=None, memory=None, owner=RS), *on("n1", "p2"), *on("n2", "p3 p4 p5 p6")],
        ["p1"],
    ),
    "HN-08": (
        thresholds(cpu=20, foo=40),
        [*nodes(4000, 4000, foo=8), std_node("n3", 4000, unschedulable=True)],
        [*on("n1", "p1 p2", "100m", foo=1), *on("n2", "p3 p4 p5 p6", "500m", foo=1)],
        ["p1", "p2"],
    ),
    "HN-09": (
        thresholds(cpu=40, foo=40),
        [*nodes(4000, foo=8), *nodes(4000, 4000, 4000, cordoned="n3")[1:]],
        [*on("n1", "p1 p2", "100m", foo=1), *on("n2", "p3 p4 p5 p6", "500m")],
        [],
    ),
    "HN-10": (thresholds(cpu=30, pods=30), N1_IS_WEST, [*ON_N1, *TO_WEST], ["p5"]),
    "HN-11": (thresholds(cpu=30, pods=30), nodes(4000, 4000), [*ON_N1, *TO_WEST], []),
    "HN-12": (
        thresholds(cpu=30, pods=30),
        [std_node("n1", 4000, 200, 9), std_node("n2", 4000)],
        [*on("n1", "p1 p2 p3", memory="50"), *on("n1", "p4", owner=DS, memory="50"), *on("n2", "p5", memory="100")],
        [],
    ),
    "HN-13": (
        thresholds((ONLY,), foo=40),
        nodes(4000, 4000, 4000, foo=10),
        [*on("n1", "p1 p2", "100m", foo=3), *on("n2", "p3 p4 p5 p6", "500m")],
        [],
    ),
}


@pytest.mark.parametrize(("args", "cluster", "pods", "expected"), ROWS.values(), ids=ROWS.keys())
def test_underused_nodes_are_emptied_into_the_others(
    args: Object, cluster: list[Object], pods: list[Object], expected: list[str]
) -> None:
    assert evictions(NAME, args, nodes=cluster, pods=pods, evictor={"nodeFit": True}) == expected


TAINTED = [std_node("n1", 1000), std_node("n3", 1000, taints=["key=value:NoSchedule"])]
TAINTS = {
    "HT-01": (nodes(1000, 1000, 1000), [*on("n1", "p1 p2 p3", "200m"), *on("n2", "p4", "200m")], 1, ["p4"]),
    "HT-02": (TAINTED, [*on("n1", "p1", "200m"), *on("n3", "p2", "200m")], 0, []),
    "HT-03": (
        TAINTED,
        [
            *on("n1", "p1", "100m"),
            *on("n1", "tolerant", "200m", tolerations=["key=value"]),
            *on("n3", "p9", "500m"),
        ],
        1,
        ["tolerant"],
    ),
}


@pytest.mark.parametrize(("cluster", "pods", "per_node", "expected"), TAINTS.values(), ids=TAINTS.keys())
def test_a_destination_must_be_tolerated(
    cluster: list[Object], pods: list[Object], per_node: int, expected: list[str]
) -> None:
    assert evictions(NAME, thresholds(cpu=40), nodes=cluster, pods=pods, per_node=per_node) == expected


BUSY = on("n2", "w", "2000m")


SCENARIOS = {
    "X-18": (
        thresholds(foo=20, cpu=20),
        [std_node("n1", 4000, extended={FOO: 8}), std_node("n2", 4000)],
        [*on("n1", "p1", "100m", foo=1), *BUSY],
        [],
    ),
    "X-19": (thresholds(cpu=20), nodes(4000, 4000, cordoned="n1"), [*on("n1", "p1", "100m"), *BUSY], ["p1"]),
}


@pytest.mark.parametrize(("args", "cluster", "pods", "expected"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_scenarios_that_were_run_against_upstream(
    args: Object, cluster: list[Object], pods: list[Object], expected: list[str]
) -> None:
    """A resource that no destination has stops everything; a cordoned node is emptied like any other."""
    assert evictions(NAME, args, nodes=cluster, pods=pods) == expected


def test_the_emptiest_node_goes_first_and_bytes_decide_which_that_is() -> None:
    cluster = nodes(4000, 4000, 4000)
    pods = [*on("n1", "p1", "100m", memory="300"), *on("n2", "w", "2000m"), *on("n3", "p3", "200m", memory="100")]
    assert evictions(NAME, thresholds(cpu=20), nodes=cluster, pods=pods) == ["p3", "p1"]


def test_an_explicit_zero_request_counts_as_requesting() -> None:
    cluster = nodes(4000, 4000, foo=10)
    pods = [*on("n1", "p1", "100m", foo=0), *on("n1", "p2", "100m"), *on("n2", "w", "2000m", foo=5)]
    assert evictions(NAME, thresholds((ONLY,), foo=20), nodes=cluster, pods=pods) == ["p1"]


def test_it_acts_only_on_more_nodes_than_the_number_of_nodes() -> None:
    pods = [*on("n1", "p1", "100m"), *BUSY]
    args = thresholds(cpu=20)
    assert evictions(NAME, {**args, "numberOfNodes": 1}, nodes=nodes(4000, 4000), pods=pods) == []
    assert evictions(NAME, {**args, "numberOfNodes": -1}, nodes=nodes(4000, 4000), pods=pods) == ["p1"]


def test_the_reason_tells_how_empty_the_node_is() -> None:
    done = cycle(NAME, thresholds(cpu=20, pods=30), nodes=nodes(4000, 4000), pods=[*on("n1", "p1"), *BUSY])
    expected = "n1 can be emptied: cpu 10 %, threshold 20 %; pods 10 %, threshold 30 %"
    assert done.record.evictions[0].reason == expected
