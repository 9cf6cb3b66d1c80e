"""RemovePodsViolatingTopologySpreadConstraint: which pods leave which domain.

Ids are the rows of upstream's own unit tests (TS, SD, ID) and of scenarios that were run against upstream (X),
restated. Upstream evicts in random order, so the rows are sets. Excluded: arguments (tests/policies), the
arithmetic of domains (tests/descheduling/topology_spread).
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import (
    RS,
    Object,
    a_pod,
    node_affinity,
    node_term,
    numbered,
    pods_on,
    selector,
    spread,
    std_node,
    tc,
)
from descheduling.harness import evictions

NAME = "RemovePodsViolatingTopologySpreadConstraint"
SOFT = "ScheduleAnyway"
HARD = "DoNotSchedule"
NODE_FIT = {"nodeFit": True}


def zoned(*names: str, cpu: int = 2000, pods: int = 10, **more: Any) -> list[Object]:
    """Nodes whose last letter is their zone."""
    return [std_node(name, cpu, 3000, pods, labels={"zone": f"zone{name[-1]}"}, **more) for name in names]


Z = zoned("n1", "n2", "n3", "n4")


def on(*counts: tuple[str, int, list[Object]], **same: Any) -> list[Object]:
    """pod-0, pod-1, ... in order: so many on a node, each with these constraints."""
    made: list[Object] = []
    for node, count, constraints in counts:
        made += numbered(
            count,
            start=len(made),
            **{
                "namespace": "ns1",
                "node": node,
                "memory": "0",
                "owner": RS,
                "labels": {"foo": "bar"},
                "spread": constraints or None,
                **same,
            },
        )
    return made


def pods(*numbers: int) -> list[str]:
    return sorted(f"ns1/pod-{number}" for number in numbers)


def balance(args: Object, nodes: list[Object], made: list[Object], *, node_fit: bool = False, **more: Any) -> list[str]:
    """The evicted pods, sorted."""
    return sorted(evictions(NAME, args, nodes=nodes, pods=made, evictor={"nodeFit": node_fit}, **more))


TC = [tc(1)]
SOFT_TC = [tc(1, when=SOFT)]
BOTH = {"constraints": [HARD, SOFT]}
TWO_PODS = on(("n1", 1, TC), ("n1", 1, []))


def matching(operator: str, value: str) -> Object:
    return {"labelSelector": selector(("foo", operator, value))}


def by_os() -> list[Object]:
    systems = ["linux"] * 3 + ["windows"] * 3
    return [
        std_node(f"n{index}", labels={"kubernetes.io/os": system, "node": f"n{index}"})
        for index, system in enumerate(systems, 1)
    ]


def on_windows(*counts: int) -> list[Object]:
    by_node = [(f"n{index}", count, [tc(1, "node")]) for index, count in enumerate(counts, 4)]
    return on(*by_node, node_selector={"kubernetes.io/os": "windows"})


BOSTON = [std_node(name, labels={"zone": f"zone{name[-1]}", "region": "boston"}) for name in ("n1", "n2")]
GPU_N1 = [*zoned("n1", taints=["hardware=gpu:NoSchedule"]), Z[1]]
SKEWED = on(("n1", 1, [tc(2)]), ("n1", 1, []), ("n2", 6, []))

#: TS-20: one pod on each of four nodes, balanced over the zones and over the nodes.
WHOAMI = selector(labels={"app": "whoami"})
PER_ZONE_AND_HOST = [spread(1, "zone", WHOAMI, when=SOFT), spread(1, "host", WHOAMI)]
SIX_HOSTS = [
    std_node(f"n{index}", labels={"zone": "zoneA" if index < 4 else "zoneB", "host": f"n{index}"})
    for index in range(1, 7)
]
ONE_EACH = on(*((f"n{index}", 1, PER_ZONE_AND_HOST) for index in range(1, 5)), labels={"app": "whoami"})

#: TS-32: as many in both zones, but for two that are terminating.
LEAVING = pods_on(
    "n1", "t1", "t2", namespace="ns1", owner=RS, labels={"foo": "bar"}, spread=TC, deleted="2026-11-20T23:59:00Z"
)

#: TS-35: zone A has one pod and hardly any CPU.
SIZES = {"A1": 150, "A2": 50, "B1": 1000, "B2": 1000, "C1": 1000, "C2": 1000}
SIZED = [std_node(name, cpu, 2000, 9, labels={"zone": f"zone{name[0]}"}) for name, cpu in SIZES.items()]
IN_SIZED = on(("A1", 1, TC), ("B1", 1, TC), ("B2", 1, TC), ("C1", 2, TC), ("C2", 1, TC))


def a_host(name: str, zone: str, *taints: str) -> Object:
    labels = {"kubernetes.io/hostname": name, "zone": zone}
    service = {"app_service": ""} if name.startswith("app") else {}
    return std_node(name, labels=labels | service, taints=list(taints))


#: TS-37: two of four hosts are tainted, and the affinity keeps pods out of them as well.
HOSTS = [
    a_host("controlplane1", "zoneA", "a=:NoSchedule", "b=:NoSchedule"),
    a_host("infraservices1", "zoneA", "c=:NoSchedule"),
    a_host("app1", "zoneA"),
    a_host("app2", "zoneB"),
]
PER_HOST = [tc(1, "kubernetes.io/hostname")]
ON_APPS = on(
    ("app1", 2, PER_HOST), ("app2", 2, PER_HOST), affinity=node_affinity([node_term(("app_service", "Exists"))])
)

ROWS = {
    "TS-01": ({}, Z[:2], on(("n1", 1, TC), ("n1", 1, []), ("n2", 1, [])), False, []),
    "TS-02": ({}, Z[:2], on(("n1", 1, TC), ("n1", 2, []), ("n2", 1, [])), False, [2]),
    "TS-03": (BOTH, Z[:2], on(("n1", 1, SOFT_TC), ("n1", 2, []), ("n2", 1, [])), False, [2]),
    "TS-04": ({"constraints": [SOFT]}, Z[:2], on(("n1", 1, SOFT_TC), ("n1", 2, []), ("n2", 1, [])), False, [2]),
    "soft is off by default": ({}, Z[:2], on(("n1", 1, SOFT_TC), ("n1", 2, []), ("n2", 1, [])), False, []),
    "TS-06": (
        {"namespaces": {"exclude": ["kube-system"]}},
        Z[:2],
        on(("n1", 1, TC), ("n1", 2, []), ("n2", 1, [])),
        True,
        [2],
    ),
    "TS-08": ({}, Z[:2], on(("n1", 1, TC), ("n1", 3, [])), False, [2, 3]),
    "TS-10": ({}, by_os(), on_windows(3, 3, 2), False, []),
    "TS-12": ({}, by_os(), on_windows(4, 3, 1), False, [3]),
    "TS-14": ({}, BOSTON, on(("n1", 1, TC), ("n1", 3, []), node_selector={"region": "boston"}), False, [2, 3]),
    "TS-15": ({}, Z[:3], on(("n2", 1, TC), ("n3", 100, [])), False, [*range(4, 10), *range(40, 100)]),
    "TS-16": ({}, Z, on(("n2", 1, TC), ("n3", 3, []), ("n4", 5, [])), False, [6, 7, 8]),
    "TS-17": ({}, Z[:2], SKEWED, False, [7]),
    "TS-18": ({}, GPU_N1, SKEWED, True, []),
    "TS-20": (BOTH, SIX_HOSTS, ONE_EACH, False, [2]),
    "TS-27": (matching("In", "baz"), Z[:2], TWO_PODS, False, []),
    "label selector": (matching("In", "bar"), Z[:2], TWO_PODS, False, [1]),
    "TS-29": (matching("NotIn", "baz"), Z[:2], TWO_PODS, False, [1]),
    "TS-30": (
        matching("NotIn", "baz"),
        Z[:2],
        on(
            ("n1", 2, [tc(1, match_label_keys=["pod-template-hash"])]),
            labels={"foo": "bar", "pod-template-hash": "foo"},
        ),
        False,
        [1],
    ),
    "TS-32": (matching("In", "bar"), Z[:2], [*on(("n1", 2, TC), ("n2", 2, TC)), *LEAVING], False, []),
    "TS-35": ({}, SIZED, IN_SIZED, True, []),
    "TS-37": ({}, HOSTS, ON_APPS, True, []),
}


@pytest.mark.parametrize(("args", "nodes", "made", "node_fit", "expected"), ROWS.values(), ids=ROWS.keys())
def test_domains_above_the_average_give_pods(
    args: Object, nodes: list[Object], made: list[Object], node_fit: bool, expected: list[int]
) -> None:
    assert balance(args, nodes, made, node_fit=node_fit) == pods(*expected)


def tainted_n2(effect: str) -> list[Object]:
    return [Z[0], *zoned("n2", taints=[f"taint-test=test:{effect}"])]


def carrier_and_bound(**carrier: Any) -> list[Object]:
    same: dict[str, Any] = {"namespace": "ns1", "node": "n1", "owner": RS, "labels": {"foo": "bar"}}
    return [
        a_pod("pod-0", spread=TC, **same, **carrier),
        a_pod("pod-1", node_selector={"zone": "zone1"}, **same),
    ]


TOLERATES = {"tolerations": ["taint-test=test:NoSchedule"]}
TAINTS = {
    "TS-23": ("NoSchedule", TOLERATES, False, [0]),
    "TS-24": ("NoSchedule", {}, False, []),
    "TS-25": ("NoSchedule", {}, True, []),
    "TS-26": ("PreferNoSchedule", {}, False, [0]),
}


@pytest.mark.parametrize(("effect", "carrier", "node_fit", "expected"), TAINTS.values(), ids=TAINTS.keys())
def test_a_pod_leaves_only_if_it_fits_below_the_average(
    effect: str, carrier: Object, node_fit: bool, expected: list[int]
) -> None:
    assert balance({}, tainted_n2(effect), carrier_and_bound(**carrier), node_fit=node_fit) == pods(*expected)


ROOM = [*zoned("n1", cpu=250, pods=9), *zoned("n2", "n3", cpu=1000, pods=9)]
FITS = {
    "TS-33": ({}, []),
    "TS-34": ({"topologyBalanceNodeFit": False}, [8]),
}


@pytest.mark.parametrize(("args", "expected"), FITS.values(), ids=FITS.keys())
def test_fitting_below_the_average_and_fitting_anywhere_are_two_questions(args: Object, expected: list[int]) -> None:
    made = on(("n1", 2, TC), ("n2", 3, TC), ("n3", 4, TC))
    assert balance(args, ROOM, made, node_fit=True) == pods(*expected)
