"""RemovePodsViolatingNodeTaints: which pods their nodes do not want any more.

Ids are the rows of upstream's own unit tests (NT, TT) and of scenarios that were run against upstream (X), restated.
Excluded: validation of the arguments (tests/policies).
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import CRIT, DS, LS, MIRROR, OWN, Object, a_pod, std_node
from descheduling.harness import WALK_LIMITS, cycle, evictions, refusals

T1 = "testTaint1=test1:NoSchedule"
TOLERATED: Object = {"tolerations": [T1]}
TOLERATES_X: Object = {"tolerations": ["testTaintX1=testX1:NoSchedule"]}
N1 = std_node("n1", taints=[T1])
N2 = std_node("n2", taints=[T1])
#: A second usable node on which nothing runs and that takes nobody.
CLOSED = std_node("closed", unschedulable=True)


def found(args: Object, pods: list[Object], nodes: list[Object], **more: Any) -> list[str]:
    return evictions("RemovePodsViolatingNodeTaints", args, nodes=[*nodes, CLOSED], pods=pods, **more)


def on(node: str, name: str, **more: Any) -> Object:
    return a_pod(name, node=node, **({"owner": OWN} | more))


MIDDLE = [on("n1", "p1", **TOLERATED), on("n1", "p2"), on("n1", "p3", **TOLERATED)]
OUTER = [on("n1", "p1", **TOLERATED), on("n1", "p5"), on("n1", "p6")]
PROTECTED = [
    on("n2", "p7", **CRIT),
    on("n2", "p8", owner=DS),
    on("n2", "p9", volumes=LS),
    on("n2", "p10", annotations=MIRROR),
]

ROWS: dict[str, tuple[list[Object], list[Object], Object, list[str]]] = {
    "NT-01": ([N1], MIDDLE, {}, ["p2"]),
    "NT-02": ([N1], [on("n1", "p1", **TOLERATED), on("n1", "p4", **TOLERATES_X)], {}, ["p4"]),
    "NT-03": ([N1], OUTER, {"per_node": 2, "total": 1}, ["p5"]),
    "NT-04": ([N1], OUTER, {"per_node": 1}, ["p5"]),
    "NT-05": ([N1], OUTER, {"per_namespace": 1}, ["p5"]),
    "NT-07": ([N2], PROTECTED, {}, []),
    "NT-08": ([N2], PROTECTED, {"evictor": {"evictLocalStoragePods": True}}, ["p9"]),
    "NT-10": (
        [N1, N2],
        [on("n1", "p2"), *PROTECTED],
        {"evictor": {"evictSystemCriticalPods": True}},
        ["p2", "kube-system/p7"],
    ),
    "NT-11": ([N1, N2], MIDDLE, {"evictor": {"nodeFit": True}}, []),
    "NT-12": (
        [N1, std_node("n3", labels={"datacenter": "east"})],
        [MIDDLE[0], MIDDLE[2], on("n2", "p11", node_selector={"datacenter": "west"})],
        {"evictor": {"nodeFit": True}},
        [],
    ),
    "NT-13": ([N1, std_node("n4", unschedulable=True)], MIDDLE, {"evictor": {"nodeFit": True}}, []),
    "nodeFit, room elsewhere": ([N1, std_node("n4")], MIDDLE, {"evictor": {"nodeFit": True}}, ["p2"]),
}


@pytest.mark.parametrize(("nodes", "pods", "more", "expected"), ROWS.values(), ids=ROWS.keys())
def test_pods_that_do_not_tolerate_a_taint_go(
    nodes: list[Object], pods: list[Object], more: Object, expected: list[str]
) -> None:
    assert found({}, pods, nodes, **more) == expected


PREFER = std_node("n5", taints=["testTaint1=test1:PreferNoSchedule"])
BOTH = std_node("n7", taints=[T1, T1])
TWO_TAINTS = std_node("n1", taints=["a=1:NoSchedule", "b:NoSchedule"])
THREE = [on("n1", "p1", **TOLERATED), on("n1", "p2"), on("n1", "p4", **TOLERATES_X)]

TAINT_ROWS: dict[str, tuple[Object, list[Object], Object, list[str]]] = {
    "NT-14": (PREFER, [on("n5", "p13", tolerations=["testTaint0=test0:PreferNoSchedule"])], {}, []),
    "NT-15": (
        PREFER,
        [on("n5", "p13", tolerations=["testTaint0=test0:PreferNoSchedule"])],
        {"includePreferNoSchedule": True},
        ["p13"],
    ),
    "NT-20": (BOTH, [on("n1", "p1", **TOLERATED)], {"includedTaints": ["testTaint1=test1"]}, []),
    "NT-21": (N1, THREE, {"includedTaints": ["testTaint2=test2"]}, []),
    "NT-22": (N1, MIDDLE, {"includedTaints": ["testTaint1=test1"]}, ["p2"]),
    "X-59": (N1, MIDDLE, {"includedTaints": []}, []),
    "included by key": (N1, MIDDLE, {"includedTaints": ["testTaint1"]}, ["p2"]),
    "excluded by key": (N1, MIDDLE, {"excludedTaints": ["testTaint1"]}, []),
    "excluded by key and value": (N1, MIDDLE, {"excludedTaints": ["testTaint1=test1"]}, []),
    "another value excluded": (N1, MIDDLE, {"excludedTaints": ["testTaint1=test2"]}, ["p2"]),
    "one of two excluded": (
        TWO_TAINTS,
        [on("n1", "p1", tolerations=["a:NoSchedule"]), on("n1", "p2", tolerations=["b:NoSchedule"])],
        {"excludedTaints": ["a"]},
        ["p1"],
    ),
    "no value is no empty value": (TWO_TAINTS, [on("n1", "p1")], {"includedTaints": ["b="]}, []),
    "X-57": (std_node("n1", taints=["gone:NoExecute"]), [on("n1", "p1")], {"includePreferNoSchedule": True}, []),
    "finished pods": (N1, [on("n1", "p1", phase="Succeeded"), on("n1", "p2", phase="Failed")], {}, []),
}


@pytest.mark.parametrize(("node", "pods", "args", "expected"), TAINT_ROWS.values(), ids=TAINT_ROWS.keys())
def test_only_the_taints_that_count_send_pods_away(
    node: Object, pods: list[Object], args: Object, expected: list[str]
) -> None:
    assert found(args, pods, [node]) == expected


def test_numbers_are_compared() -> None:
    """X-58."""
    pods = [
        on("n1", name, tolerations=[{"key": "sla", "operator": operator, "value": value, "effect": "NoSchedule"}])
        for name, operator, value in (("gt900", "Gt", "900"), ("gt990", "Gt", "990"), ("lt990", "Lt", "990"))
    ]
    assert found({}, pods, [std_node("n1", taints=["sla=950:NoSchedule"])]) == ["gt990"]


EXISTS: Object = {"operator": "Exists", "effect": "NoSchedule"}
TOLERATION_ROWS = {
    "TT-1": ({"key": "foo", **EXISTS}, "foo:NoSchedule", True),
    "TT-2": ({"key": "foo", **EXISTS}, "foo=bar:NoSchedule", True),
    "TT-3": (EXISTS, "foo=bar:NoSchedule", True),
    "TT-4": ({"key": "foo", "operator": "Equal", "value": "bar", "effect": "NoSchedule"}, "foo=bar:NoSchedule", True),
    "TT-5": ({"key": "foo", "operator": "Equal", "value": "value1"}, "foo=value2:NoSchedule", False),
    "TT-6": ({"key": "foo", "value": "bar", "effect": "NoSchedule"}, "foo=bar:PreferNoSchedule", False),
}


@pytest.mark.parametrize(("toleration", "taint", "tolerated"), TOLERATION_ROWS.values(), ids=TOLERATION_ROWS.keys())
def test_a_toleration_agrees_in_key_value_and_effect(toleration: Object, taint: str, tolerated: bool) -> None:
    """TT-6 names NoExecute, which this strategy never looks at; any other effect than the toleration's will do."""
    pods = [on("n1", "p", tolerations=[toleration])]
    args = {"includePreferNoSchedule": True}
    assert found(args, pods, [std_node("n1", taints=[taint])]) == ([] if tolerated else ["p"])


PER_NODE = [on("n1", "c"), on("n1", "d"), on("n2", "a"), on("n2", "b")]


@pytest.mark.parametrize(("limits", "expected"), WALK_LIMITS.values(), ids=WALK_LIMITS)
def test_pods_go_node_by_node_until_a_limit(limits: Object, expected: list[str]) -> None:
    assert found({}, PER_NODE, [N1, N2], **limits) == expected


def test_replicas_are_counted_when_a_node_is_listed() -> None:
    """Three replicas, at least two: both of n1 pass while n1 is listed, and then only one is left on n2."""
    owner = ("ReplicaSet", "rs")
    pods = [on("n1", "a", owner=owner), on("n1", "b", owner=owner), on("n2", "c", owner=owner)]
    assert found({}, pods, [N1, N2], evictor={"minReplicas": 2}) == ["a", "b"]


def test_pods_in_other_namespaces_or_on_unlisted_nodes_stay() -> None:
    pods = [on("n1", "p", namespace=name) for name in ("shop", "dev")] + [on("n2", "q", namespace="shop")]
    args = {"namespaces": {"exclude": ["dev"]}}
    assert found(args, pods, [N1, N2], listed=["n1", "closed"]) == ["shop/p"]


def test_only_pods_that_do_not_tolerate_are_noted_as_refused() -> None:
    pods = [on("n1", "tolerant", owner=DS, **TOLERATED), on("n1", "intolerant", owner=DS)]
    refused = refusals("RemovePodsViolatingNodeTaints", {}, nodes=[N1, CLOSED], pods=pods)
    assert refused == {"intolerant": "DaemonSetPods"}


def test_the_reason_names_the_first_taint() -> None:
    nodes = [std_node("n1", taints=["gpu=true:NoSchedule", "b:NoSchedule"]), CLOSED]
    pods = [on("n1", "p1"), on("n1", "p2", tolerations=["gpu"])]
    done = cycle("RemovePodsViolatingNodeTaints", {}, nodes=nodes, pods=pods)
    assert [each.reason for each in done.record.evictions] == [
        "taint gpu=true:NoSchedule not tolerated",
        "taint b:NoSchedule not tolerated",
    ]
