"""What pods used where only their nodes were measured: each has the share of its node that it has of the requests there.

That is an estimate. A pod that requests none of a resource has no share of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.snapshot import Cluster, Key
from restow.cluster.usage_columns import RESOURCES
from restow.kube.objects import ContainerMetrics, ObjectMeta, PodMetrics


def pod_shares(cluster: Cluster, used: Mapping[str, Mapping[str, int]]) -> dict[Key, PodMetrics]:
    """The metrics of all pods on some nodes, of which is known what they used: amounts by resource, by name."""
    pods, nodes = cluster.pods, cluster.nodes
    on_node = np.flatnonzero(pods.read() & ~pods.terminal & (pods.node >= 0))
    on_node = on_node[np.isin(pods.node[on_node], [nodes.index[name] for name in used if name in nodes.index])]
    columns = {resource: _shares(cluster, on_node, used, resource) for resource in RESOURCES}
    rows = zip(on_node.tolist(), *(columns[resource].tolist() for resource in RESOURCES), strict=True)
    return {key: metrics for pod, cpu, memory in rows for key, metrics in [_metrics(cluster, pod, cpu, memory)]}


def _shares(cluster: Cluster, on_node: IntArray, used: Mapping[str, Mapping[str, int]], resource: str) -> IntArray:
    pods = cluster.pods
    requests = np.array([each.requests.get(resource, 0) for each in pods.tables.resources], dtype=np.float64)
    wanted, where = requests[pods.resources[on_node]], pods.node[on_node]
    total = np.bincount(where, weights=wanted, minlength=len(cluster.nodes))
    amounts = np.array([float(used.get(name, {}).get(resource, 0)) for name in cluster.nodes.names])
    return (amounts[where] * wanted / np.maximum(total[where], 1.0)).astype(np.int64)


def _metrics(cluster: Cluster, pod: int, cpu: int, memory: int) -> tuple[Key, PodMetrics]:
    pods = cluster.pods
    namespace, name = pods.tables.namespaces[pods.namespace[pod]], pods.names[pod]
    container = ContainerMetrics(usage={"cpu": f"{cpu}m", "memory": str(memory)})
    return (namespace, name), PodMetrics(ObjectMeta(name=name, namespace=namespace), (container,))
