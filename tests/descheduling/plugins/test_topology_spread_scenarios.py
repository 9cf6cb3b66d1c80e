"""RemovePodsViolatingTopologySpreadConstraint, by scenarios that were run against upstream (X) and rows of its tests (SD).

Upstream evicts in random order, so the rows are sets.
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import CRIT, DS, OWN, RS, Object, a_pod, node_affinity, pods_on, selector, spread, std_node
from descheduling.harness import cycle, evictions

NAME = "RemovePodsViolatingTopologySpreadConstraint"
BOTH = {"constraints": ["DoNotSchedule", "ScheduleAnyway"]}
SOFT = "ScheduleAnyway"


def balance(args: Object, nodes: list[Object], made: list[Object], **limits: Any) -> list[str]:
    """The evicted pods, sorted."""
    return sorted(evictions(NAME, args, nodes=nodes, pods=made, **limits))


def in_zone(zone: str, names: str, **more: Any) -> list[Object]:
    """Pods of the default namespace on the node of a zone, all labelled app=web, the first with the constraint."""
    return [a_pod(name, node=f"n{zone}", **{"owner": RS, "labels": {"app": "web"}, **more}) for name in names.split()]


WEB = selector(labels={"app": "web"})


def constraint(max_skew: int = 1, label_selector: Object | None = WEB, **more: Any) -> Object:
    return spread(max_skew, "zone", label_selector, **more)


AB = [std_node(f"n{zone}", 4000, 3000, 100, labels={"zone": zone}) for zone in "ab"]
ABC = [*AB, std_node("nc", 4000, 3000, 100, labels={"zone": "c"})]
CARRY = {"spread": [constraint()]}
TIER_A = {"labelSelector": selector(labels={"tier": "a"})}


def tier(zone: str, names: str, name: str, **more: Any) -> list[Object]:
    return in_zone(zone, names, labels={"app": "web", "tier": name}, **more)


SCENARIOS: dict[str, tuple[Object, list[Object], list[Object], list[str]]] = {
    "X-21": ({}, AB, [*in_zone("a", "hi", priority=9, **CARRY), *in_zone("a", "lo", priority=1)], ["hi"]),
    "X-22": ({}, AB, [*in_zone("a", "a1", **CARRY), *in_zone("a", "a2 a3", owner=DS)], []),
    "X-23": ({}, AB, in_zone("a", "a1 a2 a3", owner=None, **CARRY), []),
    "X-24": (TIER_A, AB, [*tier("a", "a1", "a", **CARRY), *tier("a", "b1 b2 b3", "b")], []),
    "X-25": (TIER_A, AB, [*tier("a", "a1 a2 a3", "a", **CARRY), *tier("b", "b1 b2 b3", "b")], ["a3"]),
    "X-26": ({}, AB, in_zone("a", "a1", spread=[constraint(min_domains=5)]), []),
    "X-27": ({}, AB, in_zone("a", "a1 a2 a3", spread=[constraint(label_selector=None)]), []),
    "X-28": (
        {},
        AB,
        [
            *in_zone("a", "a1", spread=[constraint(label_selector={})]),
            *in_zone("a", "a2", labels={"other": "x"}),
            *in_zone("a", "a3", labels=None),
        ],
        ["a3"],
    ),
    "X-31": ({}, ABC, [*in_zone("a", "a1 a2 a3", **CARRY), *in_zone("b", "b1 b2 b3")], ["a3", "b3"]),
    "X-32": (
        {},
        ABC,
        [*in_zone("a", "a1 a2 a3", **CARRY), *in_zone("b", "b1 b2 b3"), *in_zone("c", "c1")],
        ["b3"],
    ),
    "X-34": ({}, AB, [pod for each in "xyz" for pod in in_zone("a", "p", namespace=each, **CARRY)], []),
    "X-35": (
        BOTH,
        AB,
        [*in_zone("a", "a00 a01 a02", spread=[constraint(), constraint(when=SOFT)]), *in_zone("b", "b00")],
        ["a02"],
    ),
    "X-40": (
        {},
        AB,
        [*in_zone("a", "a00 a01 a02 a03 a04", spread=[constraint(2)]), *in_zone("b", "b00")],
        ["a04"],
    ),
    "a constraint that does not compile is left out": (
        {},
        AB,
        in_zone("a", "a1 a2 a3", spread=[constraint(label_selector=selector(("a", "Near", "b")))]),
        [],
    ),
}


@pytest.mark.parametrize(("args", "nodes", "made", "expected"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_scenarios_that_were_run_against_upstream(
    args: Object, nodes: list[Object], made: list[Object], expected: list[str]
) -> None:
    assert balance(args, nodes, made) == expected


TWO_POOLS = [std_node(f"n{zone}", labels={"zone": zone, "pool": "x" if zone == "a" else "y"}) for zone in "ab"]
IN_POOL = {"node_selector": {"pool": "x"}, "spread": [constraint()]}
X_29 = {
    "X-29 nothing there": (in_zone("a", "a1 a2 a3 a4", **IN_POOL), []),
    "X-29 one there": ([*in_zone("a", "a1 a2 a3 a4", **IN_POOL), *in_zone("b", "b1")], ["a4"]),
    "X-29 most there": ([*in_zone("a", "a1", **IN_POOL), *in_zone("b", "b1 b2 b3")], ["b3"]),
}


@pytest.mark.parametrize(("made", "expected"), X_29.values(), ids=X_29.keys())
def test_pods_on_ineligible_nodes_bring_their_domain_back(made: list[Object], expected: list[str]) -> None:
    """Zone b is closed to the constraint's pods, and is a domain as soon as a pod is there all the same."""
    assert balance({"topologyBalanceNodeFit": False}, TWO_POOLS, made) == expected


X_30: dict[str, tuple[Object, list[str]]] = {
    "X-30 no limit": ({}, ["e3", "e4"]),
    "X-30": ({"total": 1}, ["e3"]),
    "X-30 node": ({"per_node": 1}, ["e3"]),
    "X-30 namespace": ({"per_namespace": 1}, ["e3"]),
}


@pytest.mark.parametrize(("limits", "expected"), X_30.values(), ids=X_30.keys())
def test_limits_cut_the_set_short(limits: Object, expected: list[str]) -> None:
    assert balance({}, AB, in_zone("a", "e1 e2 e3 e4", **CARRY), **limits) == expected


HOSTS = [
    std_node(f"n{index}", labels={"zone": "a" if index < 3 else "b", "host": f"n{index}"}) for index in range(1, 5)
]
PER_HOST = spread(1, "host", WEB)
X_36 = {
    "X-36 zone": ([constraint()], ["b00", "b01", "b02", "b03"]),
    "X-36 host": ([PER_HOST], ["a02", "a03", "b02", "b03"]),
    "X-36 both": ([constraint(), PER_HOST], ["a02", "a03", "b00", "b01", "b02", "b03"]),
}


@pytest.mark.parametrize(("constraints", "expected"), X_36.values(), ids=X_36.keys())
def test_constraints_do_not_see_what_others_take(constraints: list[Object], expected: list[str]) -> None:
    same: dict[str, Any] = {"owner": RS, "labels": {"app": "web"}, "spread": constraints}
    made = [
        *pods_on("n1", *(f"a{index:02}" for index in range(4)), **same),
        *pods_on("n2", *(f"b{index:02}" for index in range(4)), **same),
    ]
    assert balance({}, HOSTS, made) == expected


IGNORE = {"spread": [constraint(node_affinity_policy="Ignore")]}
PINNED = {**IGNORE, "node_selector": {"zone": "a"}}
X_37 = {
    "X-37 two pinned": ({}, 2, ["free00", "free01"]),
    "X-37 three pinned": ({}, 3, ["free00"]),
    "X-37 fit or not": ({"topologyBalanceNodeFit": False}, 3, ["free00", "pin02"]),
}


@pytest.mark.parametrize(("args", "pinned", "expected"), X_37.values(), ids=X_37.keys())
def test_pods_that_fit_nowhere_below_use_up_their_move(args: Object, pinned: int, expected: list[str]) -> None:
    names = " ".join(f"pin{index:02}" for index in range(pinned))
    free = " ".join(f"free{index:02}" for index in range(4 - pinned))
    made = [*in_zone("a", names, **PINNED), *in_zone("a", free, **IGNORE)]
    assert balance(args, AB, made) == expected


X_38 = {
    "X-38 taints honoured": ("Honor", []),
    "X-39 taints ignored": (None, ["a02"]),
}


@pytest.mark.parametrize(("policy", "expected"), X_38.values(), ids=X_38.keys())
def test_tainted_zones_are_no_domains_where_taints_are_honoured(policy: str | None, expected: list[str]) -> None:
    nodes = [AB[0], std_node("nb", labels={"zone": "b"}, taints=["k=v:NoSchedule"])]
    made = in_zone("a", "a00 a01 a02", spread=[constraint(node_taints_policy=policy)])
    assert balance({"topologyBalanceNodeFit": False}, nodes, made) == expected


CRITICAL = {key: value for key, value in CRIT.items() if key == "priority"}
ORDERS: dict[str, tuple[list[Object], list[str]]] = {
    "SD-1": ([], []),
    "SD-2": ([{"priority": 10}, {"priority": 15}, CRITICAL], ["p1"]),
    "SD-3": ([{"priority": 20}, {"priority": 5}], ["p0"]),
    "SD-4": ([{"priority": 15}, {"priority": 10, "affinity": node_affinity(preferred=[])}], ["p0"]),
    "no priority stays before any": ([{"priority": -5}, {}], ["p0"]),
}


@pytest.mark.parametrize(("variants", "expected"), ORDERS.values(), ids=ORDERS.keys())
def test_the_highest_priority_leaves_first_and_pods_with_affinity_last(
    variants: list[Object], expected: list[str]
) -> None:
    """The third of SD-2 is critical, so it is not evictable and does not count at all."""
    made = [pod for index, each in enumerate(variants) for pod in in_zone("a", f"p{index}", **CARRY, **each)]
    assert balance({}, AB, made) == expected


def test_minimum_replicas_are_asked_again_before_each_eviction() -> None:
    made = in_zone("a", "e1 e2 e3 e4", **CARRY)
    found = evictions(NAME, {}, nodes=AB, pods=made, evictor={"minReplicas": 4})
    assert found == ["e3"]


def test_the_reason_tells_the_skew() -> None:
    done = cycle(NAME, {}, nodes=AB, pods=[*in_zone("a", "a1 a2 a3", **CARRY), *in_zone("b", "b1", owner=OWN)])
    assert [each.reason for each in done.record.evictions] == [
        "zone=a has 3 matching pods, the emptiest domain 1, maxSkew 1"
    ]
