"""Nodes that align whole CPUs with NUMA nodes: what restow does not model, and what it says where that matters."""

from __future__ import annotations

from typing import Final

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import NodeResourceTopology

_KIND: Final = "NodeResourceTopology"
_POLICY: Final = "topologyManagerPolicy"
#: What enforcing policies are called, in attributes and, by how they begin, in ``topologyPolicies``.
_ENFORCING: Final = frozenset({"single-numa-node", "restricted"})
_OLD_NAMES: Final = ("SingleNUMANode", "Restricted")


class Alignment:
    """The nodes of one cluster that enforce NUMA alignment, which no scheduler of Kubernetes looks at.

    A Guaranteed pod with whole CPUs gets CPUs of its own. Where ``topologyManagerPolicy`` is ``single-numa-node`` or
    ``restricted`` and no NUMA node has enough left, the kubelet fails the pod after it was bound
    (``TopologyAffinityError``). So such a landing is possible at most. How a node aligns says its NodeResourceTopology,
    where the input has one. Source: topology manager, Kubernetes 1.36; topology.node.k8s.io v1alpha1 and v1alpha2.
    """

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self._pods = cluster.pods
        self._nodes = cluster.nodes
        enforcing = {each.metadata.name for each in cluster.kind(_KIND).values() if _enforces(each)}
        #: bool[node]; None where no node does.
        self._enforcing: BoolArray | None = (
            np.array([name in enforcing for name in cluster.nodes.names], dtype=bool) if enforcing else None
        )

    def concerns(self, pod: int) -> bool:
        """Whether it matters for a pod: some node enforces alignment, and the pod gets CPUs of its own."""
        return self._enforcing is not None and self._pods.tables.resources[self._pods.resources[pod]].exclusive_cpus

    def free(self, nodes: IntArray) -> BoolArray:
        """Which of some nodes enforce nothing, bool[len(nodes)]."""
        return np.ones(len(nodes), dtype=bool) if self._enforcing is None else ~self._enforcing[nodes]

    def caveat(self, pod: int, nodes: IntArray) -> str:
        """Why a pod may fail on one of some nodes, a clause for people; empty where that is not known of any."""
        if not self.concerns(pod):
            return ""
        enforcing = nodes[~self.free(nodes)].tolist()
        if not enforcing:
            return ""
        more = f" and {len(enforcing) - 1} more" if len(enforcing) > 1 else ""
        verb = "align" if more else "aligns"
        return (
            f"{self._nodes.names[enforcing[0]]}{more} {verb} whole CPUs with NUMA nodes, which restow does not model: "
            "the kubelet may refuse the pod"
        )


def _enforces(topology: NodeResourceTopology) -> bool:
    policies = {each.value for each in topology.attributes or () if each.name == _POLICY}
    if policies:
        return not _ENFORCING.isdisjoint(policies)
    return any(each.startswith(_OLD_NAMES) for each in topology.topology_policies or ())
