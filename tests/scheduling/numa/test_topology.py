"""What is read of a NodeResourceTopology."""

from __future__ import annotations

import pytest

from restow.scheduling.numa.topology import TopologyPolicy, TopologyScope
from scheduling.numa.numa_nodes import a_topology, a_topology_object, a_zone, read

EIGHT = {"cpu": (8, 5), "memory": ("8Gi", "3Gi")}


def test_it_has_the_numa_nodes_by_their_numbers() -> None:
    found = read(a_topology_object("n", zones=[a_zone("node-1", {"cpu": (4, 4)}), a_zone("node-0", EIGHT)]))
    assert found is not None
    assert [each.name for each in found.numa_nodes] == ["node-0", "node-1"]
    assert found.numa_nodes[0].available == {"cpu": 5, "memory": 3 * 2**30}
    assert found.resources == {"cpu", "memory"}
    assert (found.taken("cpu"), found.taken("memory")) == (3, 5 * 2**30)


@pytest.mark.parametrize(
    ("policy", "old", "wanted"),
    [
        ("single-numa-node", (), (TopologyPolicy.SINGLE, TopologyScope.CONTAINER)),
        ("restricted", (), (TopologyPolicy.RESTRICTED, TopologyScope.CONTAINER)),
        ("best-effort", (), None),
        ("none", ("SingleNUMANodePodLevel",), None),
        (None, (), None),
        (None, ("SingleNUMANodePodLevel",), (TopologyPolicy.SINGLE, TopologyScope.CONTAINER)),
        (None, ("RestrictedContainerLevel",), (TopologyPolicy.RESTRICTED, TopologyScope.CONTAINER)),
        (None, ("BestEffortPodLevel",), None),
    ],
)
def test_attributes_come_before_the_old_field(
    policy: str | None, old: tuple[str, ...], wanted: tuple[TopologyPolicy, TopologyScope] | None
) -> None:
    """The attribute of the scope is given in each row."""
    found = read(a_topology_object("n", EIGHT, policy=policy, topologyPolicies=list(old)))
    assert (found and (found.policy, found.scope)) == wanted


@pytest.mark.parametrize(
    ("old", "scope"), [("PodLevel", TopologyScope.POD), ("ContainerLevel", TopologyScope.CONTAINER)]
)
def test_the_old_field_has_the_scope_too(old: str, scope: TopologyScope) -> None:
    found = read(a_topology_object("n", attributes=[], topologyPolicies=[f"SingleNUMANode{old}"]))
    assert found is not None
    assert found.scope is scope


@pytest.mark.parametrize(
    "zones",
    [
        pytest.param([], id="none"),
        pytest.param([a_zone("left", EIGHT)], id="no-number"),
        pytest.param([a_zone("node-0", EIGHT), a_zone("numa-0", EIGHT)], id="one-number-twice"),
        pytest.param([a_zone("node-0", {"cpu": (8, "many")})], id="no-quantity"),
        pytest.param(
            [{"name": "node-0", "type": "Node", "resources": [{"name": "cpu", "capacity": "8"}]}], id="not-said"
        ),
        pytest.param([a_zone(f"node-{at}", EIGHT) for at in range(9)], id="more-than-kubelets-take"),
        pytest.param([{**a_zone("node-0", EIGHT), "type": "Socket"}], id="other-zones"),
    ],
)
def test_what_cannot_be_used_is_not_known(zones: list[dict[str, object]]) -> None:
    """Whole CPUs are aligned all the same."""
    topology = read(a_topology_object("n", zones=zones))
    assert topology is not None
    assert (topology.numa_nodes, topology.resources) == ((), {"cpu"})


def test_devices_are_resources_like_others() -> None:
    assert a_topology({"cpu": (4, 4), "example.com/nic": (2, 1)}).taken("example.com/nic") == 1
