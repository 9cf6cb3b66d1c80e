"""Why a kubelet takes a pod on no choice of NUMA nodes, in words."""

from __future__ import annotations

import pytest

from restow.scheduling.numa.needs import Part
from restow.scheduling.numa.shortage import shortage
from restow.scheduling.numa.topology import NumaTopology
from scheduling.numa.numa_nodes import a_topology

NIC = "example.com/nic"


@pytest.mark.parametrize(
    ("topology", "asks", "words"),
    [
        (
            a_topology({"cpu": (8, 4)}, {"cpu": (8, 2)}),
            {"cpu": 6},
            "it wants 6 CPUs of one NUMA node, and none has more than 4 CPUs free",
        ),
        (
            a_topology({"cpu": (8, 4)}, {"cpu": (8, 2)}, policy="restricted"),
            {"cpu": 12},
            "it wants 12 CPUs of 2 NUMA nodes, and no 2 of them have more than 6 CPUs free",
        ),
        (
            a_topology({"cpu": (8, 8)}, {"cpu": (8, 8)}),
            {"cpu": 12},
            "it wants 12 CPUs aligned, which takes 2 NUMA nodes, and single-numa-node allows one",
        ),
        (
            a_topology({"cpu": (8, 4), NIC: (1, 0)}, {"cpu": (8, 0), NIC: (1, 1)}),
            {"cpu": 1, NIC: 1},
            "it wants 1 CPU and 1 example.com/nic of one NUMA node, and none has all of that free",
        ),
        (
            a_topology({"memory": ("8Gi", "1Gi")}),
            {"memory": 2 * 2**30},
            "it wants 2Gi memory of one NUMA node, and none has more than 1Gi memory free",
        ),
        (
            a_topology({"cpu": (2, 2), NIC: (1, 1)}, {"cpu": (2, 2), NIC: (1, 1)}, policy="restricted"),
            {"cpu": 4, NIC: 1},
            "it wants 4 CPUs and 1 example.com/nic aligned, which its NUMA nodes cannot give even when nothing else is there",
        ),
    ],
)
def test_the_first_part_without_a_place_is_told(topology: NumaTopology, asks: dict[str, int], words: str) -> None:
    free = tuple(each.available for each in topology.numa_nodes)
    assert shortage(topology, free, [Part(asks)]) == words


def test_containers_may_fit_only_one_by_one() -> None:
    topology = a_topology({"cpu": (8, 4)}, {"cpu": (8, 3)})
    free = tuple(each.available for each in topology.numa_nodes)
    parts = [Part({"cpu": 3}), Part({"cpu": 4})]
    assert shortage(topology, free, parts) == "its containers one after the other find no NUMA node with enough free"
