"""LowNodeUtilization: which nodes give up pods, how many, and which, by the rows of upstream's own unit tests.

Where upstream's choice depends on a random order, the row's count is upstream's and the names are those of canonical
order. Excluded: arguments (tests/policies), the arithmetic (tests/descheduling/node_utilization).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from builders import (
    CRIT,
    DS,
    LS,
    MIRROR,
    OWN,
    RS,
    Object,
    a_pod,
    node_affinity,
    node_metrics,
    node_term,
    pods_on,
    std_node,
)
from descheduling.harness import cycle, evictions
from descheduling.utilisation_rows import (
    BASE,
    DEVIATION,
    EAST,
    FIVE,
    FOO,
    METRICS,
    N1,
    N2,
    N3,
    NAME,
    P9,
    Q,
    T,
    limits,
    names_evicted,
    on_n1,
    protected,
    usage,
)
from restow.descheduling.plugins.low_node_utilization import LowNodeUtilizationArgs, suggest
from restow.policies.arguments import Namespaces


@dataclass
class Row:
    pods: list[Object]
    requested: list[str]
    measured: list[str] | None = None
    args: Object | None = None
    nodes: list[Object] | None = None
    metrics: list[Object] | None = None


def best_effort(name: str) -> Object:
    return a_pod(name, node="n1", cpu=None, memory=None, owner=RS)


def foo(name: str, node: str, amount: int) -> Object:
    return a_pod(name, node=node, cpu="0", owner=RS, requests={FOO: str(amount)})


def bound_to_west(**rules: Any) -> list[Object]:
    return [*on_n1("p1", "p2", "p3"), *on_n1("p4", "p5", owner=OWN, **rules), *Q]


WEST = node_affinity([node_term(("datacenter", "In", "west"))])
WITH_MEMORY = [
    *on_n1("p1", "p2", "p3", "p4", "p5", memory="375"),
    *protected(memory="375"),
    a_pod("p9", node="n2", cpu="400m", memory="3000", owner=RS),
]
FOO_LIMITS = limits({"pods": 30, FOO: 30}, {"pods": 50, FOO: 50})
FOO_DEVIATION = limits({"pods": 5, FOO: 10}, {"pods": 5, FOO: 10}, useDeviationThresholds=True)


def with_foo(name: str, pods: int, amount: int = 8) -> Object:
    return std_node(name, 4000, 3000, pods, extended={FOO: amount})


ROWS = {
    "LN-01": Row(
        [
            *on_n1("p1", "p2", "p3", "p4", owner=DS),
            *on_n1("p5", owner=OWN, volumes=LS, annotations=MIRROR),
            *on_n1("p6", owner=None, **CRIT),
            P9,
        ],
        [],
        metrics=[
            node_metrics("n1", cpu="2401m", memory="1714978816"),
            node_metrics("n2", cpu="401m", memory="1714978816"),
            node_metrics("n3", cpu="10m", memory="1714978816"),
        ],
    ),
    "LN-02": Row([*FIVE, *Q, P9], ["p1", "p2", "p3", "p4"]),
    "LN-05": Row([*FIVE, *Q, P9], ["p1", "p2", "p3", "p4"], metrics=usage(n3=0)),
    "LN-07": Row(
        [*(best_effort(f"p{index}") for index in (1, 2, 4, 5)), *on_n1("p3"), *Q, P9],
        ["p1", "p2", "p4", "p5"],
    ),
    "LN-08": Row(
        [
            *(foo(f"p{index}", "n1", 1) for index in range(1, 7)),
            a_pod("p7", node="n1", owner=OWN, requests={FOO: "1"}, volumes=LS, annotations=MIRROR),
            a_pod("p8", node="n1", owner=OWN, requests={FOO: "1"}, **CRIT),
            foo("p9", "n2", 1),
        ],
        ["p1", "p2", "p3"],
        measured=[],
        args=FOO_LIMITS,
        nodes=[with_foo("n1", 9), with_foo("n2", 10), N3],
    ),
    "LN-09": Row(
        [foo("p1", "n1", 1), P9],
        [],
        args=FOO_LIMITS,
        nodes=[with_foo("n1", 9), N2, N3],
    ),
    "LN-10": Row(
        [
            foo("p1", "n1", 1),
            foo("p2", "n2", 7),
            a_pod("p3", node="n2", cpu="0", owner=RS),
            *pods_on("n3", "p8", "p9", cpu="0", owner=RS),
        ],
        ["p2"],
        measured=[],
        args=FOO_DEVIATION,
        nodes=[with_foo("n1", 10), with_foo("n2", 10), N3],
    ),
    "LN-11": Row(
        [*FIVE, *Q],
        [],
        nodes=[N1, std_node("n2", 4000, 3000, 10, unschedulable=True)],
    ),
    "LN-12": Row(
        bound_to_west(node_selector={"datacenter": "west"}),
        ["p1", "p2", "p3"],
        nodes=EAST,
        metrics=usage(pods="p1 p2 p3"),
    ),
    "LN-13": Row(
        [*bound_to_west(affinity=WEST), a_pod("p9", node="n2", cpu="0", owner=RS)],
        ["p1", "p2", "p3"],
        nodes=EAST,
        metrics=usage(pods="p1 p2 p3"),
    ),
    "LN-14": Row([*FIVE, *Q, P9], ["p1", "p2"], args=DEVIATION),
    "LN-15": Row(
        WITH_MEMORY,
        [],
        args=DEVIATION,
        nodes=[std_node("n1", 4000, 3000, 10), N2, N3],
        metrics=[node_metrics(name, cpu="4", memory="3000") for name in ("n1", "n2", "n3")],
    ),
    "LN-16": Row(
        [*bound_to_west(affinity=WEST), a_pod("p9", node="n2", cpu="0", owner=RS)],
        ["p1", "p2", "p3"],
        measured=["p1", "p2"],
        nodes=EAST,
        metrics=usage(pod=801, pods="p1 p2 p3"),
    ),
    "LN-17": Row([*FIVE, *Q, P9], ["p1", "p2"], args={**T, "evictionLimits": {"node": 2}}),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_by_requests(row: Row) -> None:
    nodes = row.nodes or BASE
    assert evictions(NAME, row.args or T, nodes=nodes, pods=row.pods, evictor={"nodeFit": True}) == row.requested


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_by_metrics(row: Row) -> None:
    done = cycle(
        NAME,
        {**(row.args or T), **METRICS},
        nodes=row.nodes or BASE,
        pods=row.pods,
        others=row.metrics or usage(),
        evictor={"nodeFit": True},
    )
    expected = row.requested if row.measured is None else row.measured
    assert [done.state.cluster.pods.names[each.pod] for each in done.record.evictions] == expected


@pytest.mark.parametrize("more", [{}, METRICS], ids=["LN-04 requested", "LN-04 measured"])
def test_included_namespaces_mean_nothing(more: Object) -> None:
    """Validation refuses them; what is told past it is ignored, and the three others stay because they are bare."""
    bare = [a_pod(f"p{index}", namespace=f"namespace{index}", node="n1", cpu="400m") for index in (3, 4, 5)]
    include = Namespaces(include=("default",))
    objects = [*BASE, *on_n1("p1", "p2"), *bare, *Q, P9, *usage()]
    found = names_evicted({**T, **more}, objects, lambda view, args: suggest(view, told(args, include)))
    assert found == ["p1", "p2"]


def told(args: LowNodeUtilizationArgs, namespaces: Namespaces) -> LowNodeUtilizationArgs:
    return msgspec.structs.replace(args, evictable_namespaces=namespaces)


@pytest.mark.parametrize("more", [{}, METRICS], ids=["requested", "measured"])
def test_pods_of_excluded_namespaces_stay_but_count(more: Object) -> None:
    elsewhere = [a_pod(f"p{index}", namespace="other", node="n1", cpu="400m", owner=RS) for index in (3, 4, 5)]
    args = {**T, **more, "evictableNamespaces": {"exclude": ["other"]}}
    pods = [*on_n1("p1", "p2"), *elsewhere, *Q, P9]
    assert evictions(NAME, args, nodes=BASE, pods=pods, others=usage()) == ["p1", "p2"]


LT_NODES = {
    "n1": std_node("n1", 2000, 3000, 10),
    "n2": std_node("n2", 1000, 3000, 10),
    "n3": std_node("n3", 1000, 3000, 10),
    "tainted": std_node("n3", 1000, 3000, 10, taints=["key=value:NoSchedule"]),
}
LT_ARGS = limits({"pods": 20}, {"pods": 70})
TOLERANT = a_pod("tolerate_pod", node="n1", cpu="200m", owner=RS, tolerations=["key=value"])


def crowd(count: int, other: str) -> list[Object]:
    names = [f"pod_{index}" for index in range(1, count + 1)]
    return [*on_n1(*names, cpu="200m"), a_pod("pod_9", node=other, cpu="200m", owner=RS)]


TAINTS = {
    "LT-01": (["n1", "n2", "n3"], crowd(8, "n2"), 1, None, ["pod_1"]),
    "LT-02": (["n1", "tainted"], crowd(8, "n3"), 0, None, []),
    "LT-03": (["n1", "tainted"], [*crowd(7, "n3"), TOLERANT], 1, None, ["tolerate_pod"]),
    "LT-04": (["n1", "tainted"], [*crowd(7, "n3"), TOLERANT], 1, 0, []),
}


@pytest.mark.parametrize(("nodes", "pods", "per_node", "total", "expected"), TAINTS.values(), ids=TAINTS.keys())
def test_a_destination_must_be_tolerated(
    nodes: list[str], pods: list[Object], per_node: int, total: int | None, expected: list[str]
) -> None:
    found = evictions(
        NAME,
        LT_ARGS,
        nodes=[LT_NODES[name] for name in nodes],
        pods=pods,
        evictor={"nodeFit": True},
        per_node=per_node,
        total=total,
    )
    assert found == expected
