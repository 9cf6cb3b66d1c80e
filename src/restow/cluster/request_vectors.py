"""What pods request and hold as vectors: one row for each distinct set of amounts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IdArray
from restow.cluster.snapshot import ClusterSnapshot


def add_missing_resources(cluster: ClusterSnapshot) -> int:
    """Give the nodes' amounts a row for every resource that a pod names; returns how many were added."""
    tables = cluster.pods.tables
    named = {name for each in tables.resources for name in each.requests}
    missing = sorted(named.difference(cluster.nodes.resources))
    cluster.nodes.add_resources(missing)
    return len(missing)


def sums_by_node(
    vectors: npt.NDArray[np.int64], nodes: IdArray, count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """What pods hold (a vector each) on each of ``count`` nodes, int64[resource, node], and how many they are."""
    requested = np.zeros((vectors.shape[1], count), dtype=np.int64)
    for resource in range(len(requested)):
        np.add.at(requested[resource], nodes, vectors[:, resource])
    return requested, np.bincount(nodes, minlength=count).astype(np.int64)


def request_vectors_of(cluster: ClusterSnapshot) -> npt.NDArray[np.int64]:
    """The rows of ``PodTables.resources``, then those of ``held`` from the end, int64[identifier, resource]."""
    resources, tables = cluster.nodes.resources, cluster.pods.tables
    amounts = [each.requests for each in tables.resources] + [requests for requests, _ in reversed(tables.held)]
    rows = [[each.get(name, 0) for name in resources] for each in amounts]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(resources))
