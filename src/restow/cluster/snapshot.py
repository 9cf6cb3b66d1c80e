"""One cluster as it was observed: the part that never changes while a plan is made.

``ClusterIntake`` takes wire objects in any order and ``finish`` makes the snapshot; ``cluster.state`` lays over it what
changes. Objects are keyed by name, so the last of two wins, as it does in the API server's own store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from restow.cluster.node_intake import ReadNode, node_columns, node_index, read_node
from restow.cluster.nodes import Nodes
from restow.cluster.pod_intake import PodIntake
from restow.cluster.pods import Pods
from restow.kube import objects

#: (namespace, name); the namespace of cluster-wide kinds is empty.
Key = tuple[str, str]

#: The kinds that restow knows, and what each decodes to.
KINDS: Mapping[str, type[Struct]] = {
    "Node": objects.Node,
    "Pod": objects.Pod,
    "Namespace": objects.Namespace,
    "PriorityClass": objects.PriorityClass,
    "PodDisruptionBudget": objects.PodDisruptionBudget,
    "ReplicaSet": objects.Workload,
    "Deployment": objects.Workload,
    "ReplicationController": objects.ReplicationController,
    "StatefulSet": objects.Workload,
    "DaemonSet": objects.Workload,
    "Job": objects.Workload,
    "CronJob": objects.Workload,
    "Service": objects.Service,
    "PersistentVolumeClaim": objects.PersistentVolumeClaim,
    "PersistentVolume": objects.PersistentVolume,
    "StorageClass": objects.StorageClass,
    "CSINode": objects.CSINode,
    "CSIDriver": objects.CSIDriver,
    "CSIStorageCapacity": objects.CSIStorageCapacity,
    "VolumeAttachment": objects.VolumeAttachment,
    "NodeMetrics": objects.NodeMetrics,
    "PodMetrics": objects.PodMetrics,
}


@dataclass(slots=True, frozen=True)
class Cluster:
    """Nodes and pods as columns, every other object by kind and key."""

    nodes: Nodes
    pods: Pods
    others: Mapping[str, Mapping[Key, Any]]

    def kind(self, kind: str) -> Mapping[Key, Any]:
        """All objects of one kind other than Node and Pod, in canonical order; empty where the input has none."""
        return self.others.get(kind, {})

    def tells_of(self, kind: str) -> bool:
        """Whether the input holds an object of a kind, or a list of it without any: otherwise nobody knows."""
        return kind in self.others

    def namespace_labels(self) -> Mapping[str, Mapping[str, str]]:
        """Labels by name of the namespaces that the input holds."""
        return {name: each.metadata.labels or {} for (_, name), each in self.kind("Namespace").items()}

    def priority_classes(self) -> Mapping[str, int]:
        """Value by name of the priority classes that the input holds."""
        return {name: each.value for (_, name), each in self.kind("PriorityClass").items()}


@dataclass(slots=True)
class ClusterIntake:
    """Collects wire objects and makes a Cluster of them."""

    _pods: PodIntake = field(default_factory=PodIntake)
    _nodes: list[ReadNode] = field(default_factory=list)
    _others: dict[str, dict[Key, Any]] = field(default_factory=dict)
    _replaced: int = 0

    def add(self, kind: str, wire: Sequence[Any]) -> None:
        """Take objects of one of ``KINDS``; InputError names an object with a part that cannot be read."""
        if kind == "Pod":
            self._pods.add(wire)
        elif kind == "Node":
            self._nodes.extend(map(read_node, wire))
        else:
            known = self._others.setdefault(kind, {})
            before = len(known)
            known.update(((each.metadata.namespace, each.metadata.name), each) for each in wire)
            self._replaced += before + len(wire) - len(known)

    def finish(self) -> tuple[Cluster, int]:
        """The cluster, and how many objects were given more than once."""
        index = node_index(self._nodes)
        pods, replaced_pods = self._pods.finish(index)
        requested = {name for each in pods.tables.resources for name in each.requests}
        nodes, replaced_nodes = node_columns(self._nodes, index, requested)
        others = {kind: dict(sorted(known.items())) for kind, known in sorted(self._others.items())}
        return Cluster(nodes, pods, others), self._replaced + replaced_nodes + replaced_pods
