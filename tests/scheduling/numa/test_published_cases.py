"""Cases of NUMA alignment that others publish: those of the scheduler plugins' NodeResourceTopologyMatch, as data.

That plugin foresees the kubelet, too, for ``single-numa-node``. Where it says that a pod fits and restow leaves that open,
the kubelet's answer depends on which CPUs an init container leaves to whom, which the plugin does not look at.
"""

from __future__ import annotations

import pytest

from builders import Object, a_pod
from descheduling.harness import a_cluster
from restow.scheduling.numa.admission import Admission, FreeAmounts, admission
from restow.scheduling.numa.needs import parts_of
from scheduling.numa.numa_nodes import a_topology

TAKEN, OPEN, REFUSED = Admission.TAKEN, Admission.OPEN, Admission.REFUSED
HUGE, NIC = "hugepages-2Mi", "vendor/nic1"
#: A machine with two NUMA nodes, the first of which is in use a little.
MACHINE = (
    {"cpu": (32, 30), "memory": ("64Gi", "60Gi"), HUGE: ("384Mi", "384Mi"), NIC: (16, 16)},
    {"cpu": (32, 32), "memory": ("64Gi", "64Gi"), HUGE: ("512Mi", "512Mi"), NIC: (32, 32)},
)


def wants(cpu: int, memory: str, huge: str = "", nics: int = 0) -> dict[str, str]:
    """What a container requests and is limited to."""
    amounts = {"cpu": str(cpu), "memory": memory, HUGE: huge, NIC: str(nics or "")}
    return {name: amount for name, amount in amounts.items() if amount}


def answer(scope: str, containers: list[dict[str, str]], init: list[dict[str, str]] | None = None) -> Admission:
    """What restow says of a Guaranteed pod on the machine."""
    topology = a_topology(*MACHINE, scope=scope)
    spec = {"initContainers": [a_container(f"i{at}", each) for at, each in enumerate(init or ())]}
    pod = a_pod("p", containers=[a_container(f"c{at}", each) for at, each in enumerate(containers)], spec=spec)
    pods = a_cluster(pod).pods
    parts = parts_of(pods.tables.resources[pods.resources[0]], topology.scope, topology.resources)
    free = tuple(each.available for each in topology.numa_nodes)
    return admission(topology, FreeAmounts(free, free), parts)


def a_container(name: str, amounts: dict[str, str]) -> Object:
    return {"name": name, "resources": {"requests": amounts, "limits": amounts}}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        pytest.param([wants(2, "2Gi"), wants(4, "8Gi"), wants(26, "32Gi", "512Mi", 26)], TAKEN, id="fits-one"),
        pytest.param([wants(2, "2Gi"), wants(8, "8Gi"), wants(26, "26Gi", "52Mi", 26)], REFUSED, id="cpus"),
        # Only memory is short: the containers may find it one by one.
        pytest.param([wants(2, "4Gi"), wants(4, "16Gi"), wants(26, "52Gi", "52Mi", 26)], OPEN, id="memory"),
        pytest.param([wants(2, "2Gi"), wants(4, "8Gi"), wants(26, "32Gi", "3328Mi", 26)], OPEN, id="huge-pages"),
        pytest.param([wants(2, "2Gi"), wants(4, "8Gi"), wants(26, "26Gi", "52Mi", 52)], REFUSED, id="devices"),
    ],
)
def test_all_containers_together(containers: list[dict[str, str]], expected: Admission) -> None:
    assert answer("pod", containers) is expected


TWICE = [wants(20, "40G"), wants(20, "40G")]


@pytest.mark.parametrize(
    ("init", "containers", "expected"),
    [
        pytest.param([], [wants(2, "4G")], TAKEN, id="one"),
        pytest.param([], [wants(40, "4G")], REFUSED, id="too-many-cpus"),
        pytest.param([], [wants(2, "100G")], REFUSED, id="too-much-memory"),
        pytest.param([], [wants(40, "100G")], REFUSED, id="too-much-of-both"),
        pytest.param([], TWICE, TAKEN, id="one-on-each"),
        pytest.param([], [wants(2, "6G", "500Mi", 16), wants(2, "6G", "50Mi", 8)], TAKEN, id="devices-and-huge-pages"),
        pytest.param([wants(40, "40G")], [wants(1, "4G")] * 2, REFUSED, id="init-cpus"),
        pytest.param([wants(4, "70G")], [wants(1, "4G")] * 2, REFUSED, id="init-memory"),
        pytest.param([wants(4, "10G")], TWICE, OPEN, id="init-then-one-on-each"),
        pytest.param([wants(4, "10G")] * 3, [*TWICE, wants(6, "10G")], OPEN, id="three-init-then-three"),
        pytest.param([wants(30, "10G")] * 2, [*TWICE, wants(20, "6G")], OPEN, id="init-then-too-many"),
        pytest.param([wants(30, "10G")] * 2, [wants(35, "40G")], REFUSED, id="init-then-one-too-large"),
        pytest.param([wants(30, "10G")] * 2, TWICE, OPEN, id="large-init-then-one-on-each"),
        pytest.param([wants(30, "10G")] * 3, [*TWICE, wants(2, "6G")], OPEN, id="init-one-after-the-other"),
        pytest.param([wants(3, "50G")] * 3, [*TWICE, wants(2, "6G")], OPEN, id="their-memory-too"),
        pytest.param([wants(40, "50G")] + [wants(3, "50G")] * 2, [wants(20, "40G")], REFUSED, id="first-init-cpus"),
        pytest.param([wants(20, "50G"), wants(40, "50G")], [wants(20, "40G")], REFUSED, id="second-init-cpus"),
    ],
)
def test_each_container_for_itself(
    init: list[dict[str, str]], containers: list[dict[str, str]], expected: Admission
) -> None:
    assert answer("container", containers, init) is expected
