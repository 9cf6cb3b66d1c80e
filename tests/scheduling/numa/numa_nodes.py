"""NodeResourceTopology objects, and topologies of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from builders import Object
from restow.kube.objects import NodeResourceTopology
from restow.scheduling.numa.topology import NumaTopology, topology_of

#: What of a resource a NUMA node has: all of it, and what is free.
Amounts = Mapping[str, tuple[int | str, int | str]]


def a_topology_object(
    node: str, *numa_nodes: Amounts, policy: str | None = "single-numa-node", scope: str = "container", **fields: Any
) -> Object:
    """The NodeResourceTopology of a node; nothing is kept for the system."""
    attributes = [{"name": "topologyManagerScope", "value": scope}]
    if policy is not None:
        attributes.append({"name": "topologyManagerPolicy", "value": policy})
    zones = [a_zone(f"node-{number}", each) for number, each in enumerate(numa_nodes)]
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": node},
        "attributes": attributes,
        "zones": zones,
        **fields,
    }


def a_zone(name: str, amounts: Amounts) -> Object:
    """A zone that is a NUMA node."""
    resources = [
        {"name": resource, "capacity": str(everything), "allocatable": str(everything), "available": str(free)}
        for resource, (everything, free) in amounts.items()
    ]
    return {"name": name, "type": "Node", "resources": resources}


def read(found: Object) -> NumaTopology | None:
    """What is read of such an object."""
    return topology_of(msgspec.convert(found, NodeResourceTopology))


def a_topology(*numa_nodes: Amounts, **said: Any) -> NumaTopology:
    """A topology that refuses pods."""
    found = read(a_topology_object("n", *numa_nodes, **said))
    assert found is not None
    return found
