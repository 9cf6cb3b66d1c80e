"""What a NodeResourceTopology says of one node: which policy its kubelet enforces, and what its NUMA nodes have.

Exporters write one for each node (NFD's topology updater, the resource topology exporter). Its attributes name the policy
and scope of the topology manager; its zones of type Node are the NUMA nodes. Source: topology.node.k8s.io v1alpha1 and
v1alpha2; the attributes as NodeResourceTopologyMatch of the scheduler plugins reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from restow.kube.objects import NodeResourceTopology, TopologyZone, WireQuantity, ZoneResource
from restow.kube.quantity import NANO_PER_UNIT, parse_quantity
from restow.scheduling.numa.amounts import Amounts

_POLICY: Final = "topologyManagerPolicy"
_SCOPE: Final = "topologyManagerScope"
_MOST: Final = "topologyManagerMaxNUMANodes"
#: The type of zones that are NUMA nodes.
NUMA_NODE: Final = "Node"
_NUMBER: Final = re.compile(r"\d+$", re.ASCII)
#: The topology manager takes no more unless it is told to.
_MOST_NUMA_NODES: Final = 8

#: What is aligned where no more is known.
_CPUS: Final = frozenset({"cpu"})


class TopologyPolicy(StrEnum):
    """The policies of the topology manager."""

    SINGLE = "single-numa-node"
    RESTRICTED = "restricted"
    BEST_EFFORT = "best-effort"
    NONE = "none"

    @property
    def refuses(self) -> bool:
        """Whether a kubelet fails pods that it cannot align."""
        return self in (TopologyPolicy.SINGLE, TopologyPolicy.RESTRICTED)


class TopologyScope(StrEnum):
    """For what resources are aligned together."""

    CONTAINER = "container"
    POD = "pod"


#: What ``topologyPolicies`` began with before there were attributes.
_OLD_NAMES: Final = {
    "SingleNUMANode": TopologyPolicy.SINGLE,
    "Restricted": TopologyPolicy.RESTRICTED,
    "BestEffort": TopologyPolicy.BEST_EFFORT,
}
_OLD_POD: Final = "PodLevel"
#: What the number of NUMA nodes is cut to.
_LARGEST_MOST: Final = 1024


class ManagerSettings(Struct, frozen=True):
    """How the topology manager of a kubelet is set, as far as its NodeResourceTopology says."""

    policy: TopologyPolicy
    scope: TopologyScope
    #: How many NUMA nodes it takes at most.
    most: int


class NumaNode(Struct, frozen=True):
    """One NUMA node of a machine."""

    name: str
    capacity: Amounts
    #: Without what the kubelet keeps for the system.
    allocatable: Amounts
    #: What no container has.
    available: Amounts


class NumaTopology(Struct, frozen=True):
    """What a kubelet enforces, and the NUMA nodes of its machine by their numbers."""

    policy: TopologyPolicy
    scope: TopologyScope
    #: Empty where the object says nothing of them, or nothing that can be read.
    numa_nodes: tuple[NumaNode, ...] = ()

    @property
    def resources(self) -> frozenset[str]:
        """What is aligned: what some NUMA node has, or CPUs where that is not known."""
        return frozenset().union(*(each.capacity for each in self.numa_nodes)) if self.numa_nodes else _CPUS

    def taken(self, resource: str) -> int:
        """What containers have of a resource, on all NUMA nodes together."""
        return sum(each.allocatable.get(resource, 0) - each.available.get(resource, 0) for each in self.numa_nodes)


def topology_of(found: NodeResourceTopology) -> NumaTopology | None:
    """The topology of a node; None where its kubelet refuses no pod for it."""
    settings = settings_of(found)
    return NumaTopology(settings.policy, settings.scope, _numa_nodes(found)) if settings.policy.refuses else None


def settings_of(found: NodeResourceTopology) -> ManagerSettings:
    """The settings of a kubelet; a value that none can have counts as not said."""
    policy, scope = _old(found.topology_policies or ())
    most = _MOST_NUMA_NODES
    for each in found.attributes or ():
        if each.name == _POLICY and each.value in set(TopologyPolicy):
            policy = TopologyPolicy(each.value)
        elif each.name == _SCOPE and each.value in set(TopologyScope):
            scope = TopologyScope(each.value)
        elif each.name == _MOST and each.value.isascii() and each.value.isdecimal() and int(each.value[:9]) > 1:
            most = min(int(each.value[:9]), _LARGEST_MOST)
    return ManagerSettings(policy, scope, most)


def _old(policies: Iterable[str]) -> tuple[TopologyPolicy, TopologyScope]:
    """Policy and scope by the field that v1alpha2 deprecated."""
    first = next(iter(policies), "")
    known = (policy for name, policy in _OLD_NAMES.items() if first.startswith(name))
    scope = TopologyScope.POD if first.endswith(_OLD_POD) else TopologyScope.CONTAINER
    return next(known, TopologyPolicy.NONE), scope


def _numa_nodes(found: NodeResourceTopology) -> tuple[NumaNode, ...]:
    zones = [each for each in found.zones or () if each.type == NUMA_NODE]
    try:
        read = [(_number(each), _numa_node(each)) for each in zones]
    except ValueError:
        return ()
    numbers = {number for number, _ in read}
    if len(numbers) < len(read) or len(read) > _MOST_NUMA_NODES:
        return ()
    return tuple(node for _, node in sorted(read, key=lambda each: each[0]))


def _number(zone: TopologyZone) -> int:
    """The number at the end of a name, such as ``node-1``; ValueError if there is none."""
    found = _NUMBER.search(zone.name)
    if found is None:
        raise ValueError(zone.name)
    return int(found[0])


def _numa_node(zone: TopologyZone) -> NumaNode:
    resources = zone.resources or ()
    return NumaNode(
        zone.name,
        dict(_amounts(resources, "capacity")),
        dict(_amounts(resources, "allocatable")),
        dict(_amounts(resources, "available")),
    )


def _amounts(resources: Iterable[ZoneResource], field: str) -> Iterator[tuple[str, int]]:
    for each in resources:
        wire: WireQuantity = getattr(each, field)
        yield each.name, parse_quantity(wire).nano // NANO_PER_UNIT
