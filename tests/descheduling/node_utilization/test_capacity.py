"""How full a node is. Ids are the rows of upstream's unit tests (UH), restated."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_node
from descheduling.harness import a_cluster
from restow.descheduling.node_utilization.capacity import capacity_of, ceilings, percentages, total

MILLI, UNIT = 10**6, 10**9


def cpu(milli: int) -> dict[str, int]:
    return {"cpu": milli * MILLI}


PERCENTAGES = {
    "UH-03": (cpu(100), cpu(1000), {"cpu": 10}),
    "UH-04": (cpu(100), cpu(0), {"cpu": 0}),
    "UH-05": ({"x": 100}, {**cpu(100), "memory": UNIT}, {}),
    "UH-06": ({"x": 100, **cpu(200)}, {**cpu(1000), "memory": UNIT}, {"cpu": 20}),
    "UH-07": ({}, cpu(1000), {}),
    "UH-08": (cpu(100), {}, {}),
    "UH-15": ({**cpu(500), "memory": 5 * UNIT}, cpu(1000), {"cpu": 50}),
}


@pytest.mark.parametrize(("used", "capacity", "expected"), PERCENTAGES.values(), ids=PERCENTAGES.keys())
def test_percentages_leave_out_what_a_node_does_not_have(
    used: dict[str, int], capacity: dict[str, int], expected: dict[str, float]
) -> None:
    assert percentages(used, capacity) == expected


def test_percentages_round_up_to_steps_first() -> None:
    assert percentages({"cpu": 1}, cpu(1000)) == {"cpu": 0.1}
    assert percentages({"memory": 1}, {"memory": 10 * UNIT}) == {"memory": 10}


USAGES = {
    "UH-01": {
        "node1": {**cpu(1730), "memory": 3038982964 * UNIT, "pods": 25 * UNIT},
        "node2": {**cpu(1220), "memory": 3038982964 * UNIT, "pods": 11 * UNIT},
        "node3": {**cpu(1530), "memory": 5038982964 * UNIT, "pods": 20 * UNIT},
    },
    "UH-02": {
        "node1": {"memory": 3038982964 * UNIT},
        "node2": {"memory": 2038982964 * UNIT},
        "node3": {"memory": 5038982964 * UNIT},
    },
}


@pytest.mark.parametrize("usage", USAGES.values(), ids=USAGES.keys())
def test_nodes_are_ordered_by_everything_they_use_so_that_bytes_decide(usage: dict[str, dict[str, int]]) -> None:
    assert sorted(usage, key=lambda name: -total(usage[name])) == ["node3", "node1", "node2"]
    assert sorted(usage, key=lambda name: total(usage[name])) == ["node2", "node1", "node3"]


CEILINGS = [
    pytest.param("pods", 9, 50, 4, id="50 % of 9"),
    pytest.param("pods", 100, 29, 28, id="29 % of 100 falls a float short"),
    pytest.param("pods", 9, 44, 3, id="44 % of 9"),
    pytest.param("pods", 10, 100, 10, id="all of it"),
]


@pytest.mark.parametrize(("name", "capacity", "threshold", "expected"), CEILINGS)
def test_a_ceiling_is_cut_to_whole_steps(name: str, capacity: int, threshold: float, expected: int) -> None:
    assert ceilings({name: capacity * UNIT}, {name: threshold}, [name]) == {name: expected * UNIT}


def test_without_a_threshold_the_ceiling_is_the_capacity_and_without_capacity_nothing() -> None:
    assert ceilings(cpu(4000), {"gpu": 50}, ["cpu", "gpu", "foo"]) == {**cpu(4000), "gpu": 0, "foo": 0}


@given(capacity=st.integers(0, 2**50), threshold=st.floats(0, 100, allow_nan=False))
def test_a_ceiling_is_within_one_step_of_its_share(capacity: int, threshold: float) -> None:
    [ceiling] = ceilings({"memory": capacity * UNIT}, {"memory": threshold}, ["memory"]).values()
    share = Fraction(threshold) * capacity / 100
    slack = Fraction(capacity, 2**48)
    assert share - 1 - slack <= ceiling // UNIT <= share + slack


def test_capacity_counts_only_where_allocatable_is_empty() -> None:
    cluster = a_cluster(
        a_node("n1", cpu="2", memory=None, pods=None, capacity={"cpu": "4", "memory": "8"}),
        a_node("n2", cpu=None, memory=None, pods=None, capacity={"cpu": "4", "memory": "8"}),
    )
    metric = {"MetricResource": 100 * UNIT}
    assert capacity_of(cluster.nodes, 0) == cpu(2000) | metric
    assert capacity_of(cluster.nodes, 1) == cpu(4000) | {"memory": 8 * UNIT} | metric
