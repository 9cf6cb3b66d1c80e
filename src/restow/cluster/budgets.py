"""Disruption budgets: which pods a PodDisruptionBudget covers.

A budget covers the pods of its namespace that its selector matches; an absent selector matches nothing, an empty one
everything, and one that does not compile is skipped. Source: policy/v1, Kubernetes 1.36.
"""

from __future__ import annotations

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.label_groups import LabelGroups
from restow.cluster.snapshot import Cluster
from restow.kube.labels import NOTHING, selector_from
from restow.kube.objects import PodDisruptionBudget


def covered_pods(budget: PodDisruptionBudget, cluster: Cluster, labels: LabelGroups) -> IntArray:
    """The pods that one budget covers."""
    namespaces = cluster.pods.tables.namespaces
    if budget.metadata.namespace not in namespaces:
        return np.zeros(0, dtype=np.int64)
    try:
        selector = selector_from(budget.spec.selector)
    except ValueError:
        selector = NOTHING
    return labels.matching(selector, [namespaces.index(budget.metadata.namespace)])


def covered(cluster: Cluster, labels: LabelGroups) -> BoolArray:
    """Which pods some budget covers, bool[pod]."""
    result = np.zeros(len(cluster.pods), dtype=bool)
    for budget in cluster.kind("PodDisruptionBudget").values():
        result[covered_pods(budget, cluster, labels)] = True
    return result
