"""Which pods a kubelet takes that aligns them; ``tests/oracle/test_kubelet_differential.py`` asks a real one."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.scheduling.numa.admission import Admission, FreeAmounts, admission, spans_memory
from restow.scheduling.numa.needs import Part
from restow.scheduling.numa.topology import NumaTopology
from scheduling.numa.numa_nodes import a_topology

TAKEN, OPEN, REFUSED = Admission.TAKEN, Admission.OPEN, Admission.REFUSED
NIC = "example.com/nic"


def cpus(*free: int, of: int = 8, **said: str) -> NumaTopology:
    """NUMA nodes that have 8 CPUs each, of which some are free."""
    return a_topology(*({"cpu": (of, each)} for each in free), **said)


def wants(cpu: int, *, ends: bool = False, **more: int) -> Part:
    return Part({"cpu": cpu, **more}, ends=ends)


def exactly(topology: NumaTopology) -> FreeAmounts:
    free = tuple(each.available for each in topology.numa_nodes)
    return FreeAmounts(free, free)


def asked(topology: NumaTopology, *parts: Part) -> Admission:
    return admission(topology, exactly(topology), parts)


@pytest.mark.parametrize(
    ("topology", "parts", "answer"),
    [
        pytest.param(cpus(2, 4), [wants(4)], TAKEN, id="one-has-enough"),
        pytest.param(cpus(3, 3), [wants(4)], REFUSED, id="only-both-have"),
        pytest.param(cpus(8, 8), [wants(9)], REFUSED, id="one-can-never-have"),
        pytest.param(cpus(8, 8, policy="restricted"), [wants(9)], TAKEN, id="restricted-takes-as-few-as-possible"),
        pytest.param(cpus(8, 0, policy="restricted"), [wants(9)], REFUSED, id="restricted-lacks"),
        pytest.param(cpus(3, 3, policy="restricted"), [wants(4)], REFUSED, id="restricted-takes-no-more-than-needed"),
        pytest.param(cpus(4, 4), [wants(3), wants(3)], TAKEN, id="each-container-for-itself"),
        pytest.param(cpus(4, 4), [wants(2), wants(4), wants(2)], TAKEN, id="lowest-number-first"),
        pytest.param(cpus(4, 3), [wants(3), wants(4)], REFUSED, id="the-first-takes-the-larger-one"),
        pytest.param(cpus(4, 4, of=4, policy="restricted"), [wants(6), wants(1)], OPEN, id="shares-of-several"),
        pytest.param(cpus(2, 4), [wants(2, ends=True), wants(3)], REFUSED, id="where-the-init-container-is"),
        pytest.param(cpus(4, 2), [wants(4, ends=True), wants(4)], TAKEN, id="init-containers-hand-over"),
        pytest.param(cpus(4, 8), [wants(1, ends=True), wants(2), wants(4)], OPEN, id="then-it-depends"),
    ],
)
def test_one_resource(topology: NumaTopology, parts: list[Part], answer: Admission) -> None:
    assert asked(topology, *parts) is answer


@pytest.mark.parametrize(
    ("numa_nodes", "policy", "answer"),
    [
        pytest.param(
            [{"cpu": (8, 4), NIC: (1, 1)}, {"cpu": (8, 0), NIC: (1, 1)}], "single-numa-node", TAKEN, id="together"
        ),
        pytest.param(
            [{"cpu": (8, 4), NIC: (1, 0)}, {"cpu": (8, 0), NIC: (1, 1)}], "single-numa-node", REFUSED, id="apart"
        ),
        pytest.param(
            [{"cpu": (2, 2), NIC: (1, 1)}, {"cpu": (2, 2), NIC: (1, 1)}], "restricted", REFUSED, id="two-and-one"
        ),
    ],
)
def test_all_resources_come_from_the_same_numa_nodes(numa_nodes: list, policy: str, answer: Admission) -> None:
    """A request that needs two NUMA nodes for its CPUs and one for its device can never be aligned."""
    topology = a_topology(*numa_nodes, policy=policy)
    assert asked(topology, wants(4, **{NIC: 1})) is answer


def test_memory_counts_without_what_the_system_keeps() -> None:
    zone = {"name": "memory", "capacity": "4Gi", "allocatable": "3Gi", "available": "3Gi"}
    topology = a_topology(
        zones=[{"name": f"node-{at}", "type": "Node", "resources": [zone]} for at in range(2)], policy="restricted"
    )
    assert asked(topology, Part({"memory": 3 * 2**30})) is TAKEN
    four = [Part({"memory": 4 * 2**30})]
    assert spans_memory(topology, four)
    assert asked(topology, *four) is OPEN


def test_where_only_memory_is_short_the_containers_of_a_pod_may_find_it_one_by_one() -> None:
    memory = a_topology({"cpu": (8, 8), "memory": (4, 1)}, {"cpu": (8, 8), "memory": (4, 1)}, scope="pod")
    assert asked(memory, wants(2, memory=2)) is OPEN
    assert asked(memory, wants(9, memory=1)) is REFUSED


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=3),
    st.lists(st.integers(0, 4), min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=4),
    st.sampled_from(["single-numa-node", "restricted"]),
)
def test_bounds_answer_as_everything_between_them_would(
    least: list[int], more: list[int], wanted: list[tuple[int, bool]], policy: str
) -> None:
    """What is taken or refused by bounds is never answered the other way by what the NUMA nodes may really have."""
    topology = cpus(*least, of=12, policy=policy)
    parts = [wants(cpu, ends=ends) for cpu, ends in sorted(wanted, key=lambda each: not each[1])]
    most = [low + extra for low, extra in zip(least, more, strict=False)]
    known = admission(topology, FreeAmounts(amounts(least), amounts(most)), parts)
    for real in product(*(range(low, high + 1) for low, high in zip(least, most, strict=True))):
        answer = admission(topology, FreeAmounts(amounts(real), amounts(real)), parts)
        assert known is OPEN or answer in {known, OPEN}


def amounts(free: tuple[int, ...] | list[int]) -> tuple[dict[str, int], ...]:
    return tuple({"cpu": each} for each in free)
