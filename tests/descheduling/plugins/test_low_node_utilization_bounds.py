"""LowNodeUtilization: what bounds it - taints, ceilings, room, limits - by scenarios that were run against upstream (X).

Where upstream's choice depends on a random order, the names are those of canonical order.
"""

from __future__ import annotations

import pytest

from builders import DS, RS, Object, a_node, a_pod, pods_on, std_node
from descheduling.harness import cycle, evictions, refusals
from descheduling.utilisation_rows import BIG1, BIG2, BIG3, CPU, NAME, SIX, hot, limits

CATCH_ALL = [{"operator": "Exists"}]


def tainted(*taints: str) -> Object:
    return std_node("n2", 4000, 3000, 100, taints=list(taints))


def gpu(name: str, *, count: int) -> Object:
    return std_node(name, 4000, 3000, 100, extended={"gpu": count})


FULL = a_pod("full", node="n2", cpu="0", memory="3000", owner=RS)


SCENARIOS = {
    "X-03": (CPU, [BIG1, tainted("a=1:NoSchedule", "b=2:NoSchedule")], hot(tolerations=CATCH_ALL), []),
    "X-04": (CPU, [BIG1, tainted("a=1:NoSchedule")], hot(tolerations=CATCH_ALL), ["b0", "b1"]),
    "X-05": (CPU, [BIG1, tainted("a=1:PreferNoSchedule")], hot(), []),
    "X-10": (CPU, [BIG1, BIG2], [*hot(), a_pod("w", node="n2", cpu="800m", owner=RS)], ["b0", "b1"]),
    "X-11": (CPU, [BIG1, BIG2], hot()[:4], []),
    "X-12": (CPU, [BIG1, std_node("n2", 4000, 3000, 0)], hot(), []),
    "X-12 memory": (CPU, [BIG1, BIG2], [*hot(), FULL], []),
    "X-13": ({**CPU, "evictionLimits": {"node": 0}}, [BIG1, BIG2], hot(), []),
    "X-14": (
        limits({"gpu": 20}, {"gpu": 50}),
        [gpu("n1", count=8), BIG2, gpu("n3", count=8)],
        pods_on("n1", *SIX, cpu="0", owner=RS, requests={"gpu": "1"}),
        ["b0", "b1"],
    ),
    "X-15": (
        {**CPU, "evictionLimits": {"node": 1}},
        [BIG1, BIG2, BIG3],
        [*hot(), *pods_on("n3", *(f"c{index}" for index in range(7)), cpu="500m", owner=RS)],
        ["c0", "b0"],
    ),
    "X-17a": (
        limits({"pods": 5}, {"pods": 29}),
        [BIG1, BIG2],
        pods_on("n1", *(f"b{index:02}" for index in range(30)), cpu="0", owner=RS),
        ["b00", "b01"],
    ),
    "X-17d": (
        limits({"pods": 5}, {"pods": 44}),
        [std_node("n1", 4000, 3000, 9), BIG2],
        pods_on("n1", "b0", "b1", "b2", "b3", cpu="0", owner=RS),
        ["b0"],
    ),
    "number of nodes": ({**CPU, "numberOfNodes": 1}, [BIG1, BIG2], hot(), []),
    "all under": (CPU, [BIG1, BIG2], [], []),
}


@pytest.mark.parametrize(("args", "nodes", "pods", "expected"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_scenarios_that_were_run_against_upstream(
    args: Object, nodes: list[Object], pods: list[Object], expected: list[str]
) -> None:
    assert evictions(NAME, args, nodes=nodes, pods=pods) == expected


def test_the_load_that_is_left_decides_about_the_next_pod() -> None:
    """n1 has six pods of 500m of 4 CPUs; the ceiling is 2 CPUs, so the two least important go."""
    pods = [
        *pods_on("n1", "b0", "b1", cpu="500m", owner=RS, priority=10),
        *pods_on(
            "n1", "b2", cpu="500m", owner=RS, annotations={"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}
        ),
        *pods_on("n1", "b3", "b4", "b5", cpu="500m", owner=RS),
    ]
    assert evictions(NAME, CPU, nodes=[BIG1, BIG2], pods=pods) == ["b3", "b4"]


def test_the_limit_of_a_node_leaves_it_for_the_next() -> None:
    pods = [*hot(), *pods_on("n3", *(f"c{index}" for index in range(7)), cpu="500m", owner=RS)]
    nodes = [BIG1, BIG2, BIG3]
    assert evictions(NAME, CPU, nodes=nodes, pods=pods, per_node=1) == ["c0", "b0"]
    assert evictions(NAME, CPU, nodes=nodes, pods=pods, total=1) == ["c0"]


def test_destinations_share_one_room_among_all_sources() -> None:
    """n2 can take 1.5 CPUs below its target: n3 gives three pods, then nothing is left for n1."""
    pods = [
        *hot(),
        *pods_on("n3", *(f"c{index}" for index in range(8)), cpu="500m", owner=RS),
        a_pod("w", node="n2", cpu="500m", owner=RS),
    ]
    assert evictions(NAME, CPU, nodes=[BIG1, BIG2, BIG3], pods=pods) == ["c0", "c1", "c2"]


def test_protected_pods_of_an_overused_node_are_noted() -> None:
    pods = [*hot(), *pods_on("n1", "d", cpu="0", owner=DS), *pods_on("n2", "e", cpu="0", owner=DS)]
    assert refusals(NAME, CPU, nodes=[BIG1, BIG2], pods=pods) == {"d": "DaemonSetPods"}


def test_the_reason_tells_load_and_target() -> None:
    done = cycle(NAME, CPU, nodes=[BIG1, BIG2], pods=hot())
    found = [each.reason for each in done.record.evictions]
    assert found == ["n1 at cpu 75 %, target 50 %", "n1 at cpu 62 %, target 50 %"]


def test_capacity_stands_in_for_an_absent_allocatable() -> None:
    bare = a_node("n2", cpu=None, memory=None, pods=None, capacity={"cpu": "4", "memory": "3000", "pods": "100"})
    assert evictions(NAME, CPU, nodes=[BIG1, bare], pods=hot()) == ["b0", "b1"]
