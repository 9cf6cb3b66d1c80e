"""Nodes and pods as rows, from the columns of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from restow.cluster.owners import workload_of
from restow.cluster.pod_values import Phase
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState


@dataclass(slots=True, frozen=True)
class NodeSummary:
    """A node: what it offers, and what the pods on it request."""

    name: str
    ready: bool
    unschedulable: bool
    cpu_milli: int
    cpu_requested_milli: int
    memory_bytes: int
    memory_requested_bytes: int
    #: How many pods are on it that have not ended.
    pods: int


@dataclass(slots=True, frozen=True)
class PodSummary:
    """A pod: where it is, what it requests, and what it belongs to."""

    namespace: str
    name: str
    #: None while it waits.
    node: str | None
    phase: str
    cpu_requested_milli: int
    memory_requested_bytes: int
    #: Such as Deployment/web; None for a pod on its own.
    owner: str | None
    priority: int


def nodes_of(cluster: ClusterSnapshot) -> list[NodeSummary]:
    """The nodes in the order of their names."""
    state, nodes = ClusterState(cluster), cluster.nodes
    cpu, memory = nodes.resource("cpu"), nodes.resource("memory")
    return [
        NodeSummary(
            name=name,
            ready=bool(nodes.ready[at]),
            unschedulable=bool(nodes.unschedulable[at]),
            cpu_milli=0 if cpu is None else int(nodes.allocatable[cpu, at]),
            cpu_requested_milli=0 if cpu is None else int(state.requested[cpu, at]),
            memory_bytes=0 if memory is None else int(nodes.allocatable[memory, at]),
            memory_requested_bytes=0 if memory is None else int(state.requested[memory, at]),
            pods=int(state.running[at]),
        )
        for at, name in enumerate(nodes.names)
    ]


def pods_of(cluster: ClusterSnapshot) -> list[PodSummary]:
    """The pods in the order of their namespaces and names."""
    state = ClusterState(cluster)
    return [_pod(state, pod) for pod in cluster.pods.where(cluster.pods.read()).tolist()]


def _pod(state: ClusterState, pod: int) -> PodSummary:
    cluster = state.cluster
    pods, owner, node = cluster.pods, workload_of(cluster, pod), int(cluster.pods.node[pod])
    cpu, memory = cluster.nodes.resource("cpu"), cluster.nodes.resource("memory")
    requests = state.requests_of(pod)
    return PodSummary(
        namespace=pods.tables.namespaces[pods.namespace[pod]],
        name=pods.names[pod],
        node=cluster.nodes.names[node] if node >= 0 else None,
        phase=Phase(pods.phase[pod]).name.capitalize(),
        cpu_requested_milli=0 if cpu is None else int(requests[cpu]),
        memory_requested_bytes=0 if memory is None else int(requests[memory]),
        owner=None if owner is None else f"{owner.kind}/{owner.name}",
        priority=int(pods.priority[pod]),
    )
