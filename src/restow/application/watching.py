"""How full the nodes are and what is under way: what ``restow top`` and ``restow serve`` show, again and again.

Only nodes and pods are read. What moves is seen on the pods: those that end, those that wait behind restow's gate for
their nomination, and those without a node.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from restow.application.clusters import ClusterSource, LoadedCluster, read_cluster
from restow.application.feedback import Feedback
from restow.cluster.nodes import CPU, MEMORY
from restow.cluster.pod_values import Flag
from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.cluster.state import ClusterState
from restow.live.reading import REQUIRED
from restow.reporting.top_result import ClusterNow, MovingPod, NodeNow


def look(where: ClusterSource, feedback: Feedback) -> ClusterNow:
    """Read the cluster once; errors as ``read_cluster``."""
    return cluster_now(_read(where, feedback))


def cluster_now(found: LoadedCluster) -> ClusterNow:
    """How full the nodes of a cluster are that was read, and what is under way in it."""
    cluster, state = found.cluster, ClusterState(found.cluster)
    cpu, memory = (_shares(state, row) for row in (CPU, MEMORY))
    nodes = cluster.nodes
    return ClusterNow(
        origin=found.origin,
        nodes=tuple(
            NodeNow(
                nodes.names[node],
                nodes.zone(node),
                float(cpu[node]),
                float(memory[node]),
                int(state.running[node]),
                tuple(_state_of(cluster, node)),
            )
            for node in range(len(nodes))
        ),
        moving=tuple(_moving(cluster)),
        pods=int((cluster.pods.read() & ~cluster.pods.terminal).sum()),
        cpu_spread=float(cpu.std()) if len(nodes) else 0.0,
        memory_spread=float(memory.std()) if len(nodes) else 0.0,
    )


def _read(where: ClusterSource, feedback: Feedback) -> LoadedCluster:
    """The cluster; of a live one only nodes and pods."""
    if not where.is_live:
        return read_cluster(where, feedback)
    from restow.application.live_clusters import live_origin, read_into

    store = ClusterStore()
    server, notes = read_into(store, REQUIRED, where.kubeconfig, where.context)
    return LoadedCluster(store.snapshot(), live_origin(server), notes, server, where)


def _shares(state: ClusterState, row: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    room = state.cluster.nodes.allocatable[row]
    shares: np.ndarray[tuple[int], np.dtype[np.float64]] = state.requested[row] / np.maximum(room, 1)
    return shares


def _state_of(cluster: ClusterSnapshot, node: int) -> Iterator[str]:
    if cluster.nodes.unschedulable[node]:
        yield "cordoned"
    if not cluster.nodes.ready[node]:
        yield "not ready"


def _moving(cluster: ClusterSnapshot) -> Iterator[MovingPod]:
    """What ends comes first, then what waits."""
    pods = cluster.pods
    there = pods.read() & ~pods.terminal
    ends, gated = pods.has(Flag.TERMINATING), pods.has(Flag.STEERING_GATE)
    waits = (pods.node == PENDING) & ~gated & ~ends
    for what, chosen in (("ends", ends), ("waits behind restow's gate", gated & ~ends), ("waits for a node", waits)):
        for pod in np.flatnonzero(there & chosen).tolist():
            node = int(pods.node[pod])
            yield MovingPod(pods.full_name(pod), cluster.nodes.names[node] if node >= 0 else "", what)
