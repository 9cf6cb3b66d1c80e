"""Disruption budgets: which pods a PodDisruptionBudget covers, and whose evictions count in it.

A budget covers the pods of its namespace that its selector matches; an absent selector matches nothing, an empty one
everything, and one that does not compile is skipped. A pod that has ended or has not started needs no budget, and one
that is not ready may need none either (``unhealthyPodEvictionPolicy``). Source: policy/v1 and the eviction subresource of
pods, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from restow.cluster.owners import controller_of
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.pod_values import Phase
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube import manifests
from restow.kube.labels import NOTHING, Selector, selector_from
from restow.kube.objects import PodDisruptionBudget

#: The phases of pods that are deleted without any budget.
UNBUDGETED: Final = frozenset((Phase.PENDING, Phase.SUCCEEDED, Phase.FAILED))


class CoveringBudgets:
    """The budgets of a cluster by the pods that they cover, of pods that come later too."""

    def __init__(self, cluster: ClusterSnapshot, labels: LabelGroups) -> None:
        self._pods = cluster.pods
        self._labels = labels
        budgets = list(cluster.kind("PodDisruptionBudget").values())
        #: Namespace and selector of each budget.
        self._selections = [(each.metadata.namespace, _selector(each)) for each in budgets]
        self._of_group: defaultdict[int, list[int]] = defaultdict(list)
        for position, budget in enumerate(budgets):
            for group in covered_groups(budget, cluster, labels):
                self._of_group[group].append(position)
        #: How many groups of pods, labelled alike, the budgets above are known of.
        self._known = len(labels.groups)

    def of(self, pod: int) -> Sequence[int]:
        """The budgets that cover a pod: their positions among those that the cluster had."""
        group = self._labels.groups.values[pod]
        while self._known <= group:
            self._meet_group(self._known)
            self._known += 1
        return self._of_group.get(group, ())

    def _meet_group(self, group: int) -> None:
        namespace, labels = self._pods.tables.namespaces[self._labels.namespace(group)], self._labels.labels(group)
        covering = [
            position
            for position, (own, selector) in enumerate(self._selections)
            if own == namespace and selector.matches(labels)
        ]
        if covering:
            self._of_group[group] = covering


def covered_groups(budget: PodDisruptionBudget, cluster: ClusterSnapshot, labels: LabelGroups) -> list[int]:
    """The groups of pods, labelled alike, that one budget covers."""
    namespaces = cluster.pods.tables.namespaces
    if budget.metadata.namespace not in namespaces:
        return []
    return labels.matching_groups(_selector(budget), [namespaces.index(budget.metadata.namespace)])


def is_of_machine(budget: PodDisruptionBudget) -> bool:
    """Whether KubeVirt has made a budget to keep one virtual machine from being evicted.

    It allows no disruption as long as the machine runs, and a live migration is none: KubeVirt widens the budget meanwhile.
    Source: the disruption budget controller, KubeVirt 1.7.
    """
    owner = controller_of(budget.metadata.owner_references or ())
    return owner is not None and owner.kind == "VirtualMachineInstance"


def unready_pod_is_exempt(budget: PodDisruptionBudget | manifests.PodDisruptionBudget) -> bool:
    """Whether a pod that is not ready may be evicted regardless of its budget.

    With the ``unhealthyPodEvictionPolicy`` IfHealthyBudget, the default, it may while enough others are healthy; with
    AlwaysAllow always.
    """
    status = budget.status
    has_enough = status.current_healthy >= status.desired_healthy > 0
    return has_enough or budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"


def _selector(budget: PodDisruptionBudget) -> Selector:
    try:
        return selector_from(budget.spec.selector)
    except ValueError:
        return NOTHING
