"""Disruption budgets: which pods a PodDisruptionBudget covers.

A budget covers the pods of its namespace that its selector matches; an absent selector matches nothing, an empty one
everything, and one that does not compile is skipped. Source: policy/v1, Kubernetes 1.36.
"""

from __future__ import annotations

from restow.cluster.interning import IntArray
from restow.cluster.label_groups import LabelGroups
from restow.cluster.snapshot import Cluster
from restow.kube.labels import NOTHING, selector_from
from restow.kube.objects import PodDisruptionBudget


def covered_pods(budget: PodDisruptionBudget, cluster: Cluster, labels: LabelGroups) -> IntArray:
    """The pods that one budget covers."""
    return labels.groups.of_groups(covered_groups(budget, cluster, labels))


def covered_groups(budget: PodDisruptionBudget, cluster: Cluster, labels: LabelGroups) -> list[int]:
    """The groups of pods, labelled alike, that one budget covers."""
    namespaces = cluster.pods.tables.namespaces
    if budget.metadata.namespace not in namespaces:
        return []
    try:
        selector = selector_from(budget.spec.selector)
    except ValueError:
        selector = NOTHING
    return labels.matching_groups(selector, [namespaces.index(budget.metadata.namespace)])


def covered(cluster: Cluster, labels: LabelGroups) -> frozenset[int]:
    """The groups of pods, labelled alike, that some budget covers."""
    budgets = cluster.kind("PodDisruptionBudget").values()
    return frozenset(group for each in budgets for group in covered_groups(each, cluster, labels))
