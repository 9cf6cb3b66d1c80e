"""How far disruption budgets allow pods to be preempted.

A budget counts in the pod's namespace if its selector asks for something and matches; a pod without labels is under no
budget, and neither is one whose disruption the budget knows already. That is not how evictions read a budget. Pods that
would exceed ``status.disruptionsAllowed`` are *violating*: they are spared first, but not at any price.
Source: filterPodsWithPDBViolation, Kubernetes 1.36.
"""

from __future__ import annotations

import numpy as np

from restow.cluster.budgets import covered_pods
from restow.cluster.interning import BoolArray, IntArray
from restow.kube.objects import LabelSelector
from restow.scheduling.context import Context


class Disruption:
    """The budgets of one cluster, by pod."""

    def __init__(self, context: Context) -> None:
        pods = context.state.cluster.pods
        labelled = np.array([bool(labels) for labels in pods.tables.labels], dtype=bool)[pods.labels]
        #: The pods of each budget, and how many of them may go.
        self._budgets: list[tuple[IntArray, int]] = []
        for budget in context.state.cluster.kind("PodDisruptionBudget").values():
            if _asks_for_something(budget.spec.selector):
                covered = covered_pods(budget, context.state.cluster, context.labels)
                known = budget.status.disrupted_pods or {}
                unknown = np.array([pods.names[pod] not in known for pod in covered.tolist()], dtype=bool)
                self._budgets.append((covered[labelled[covered] & unknown], budget.status.disruptions_allowed))
        self._count = len(pods)

    def violating(self, pods: IntArray, group: IntArray) -> BoolArray:
        """Which pods exceed a budget if all of their group go, in this order; groups are numbered in ascending order."""
        violating = np.zeros(len(pods), dtype=bool)
        position = np.full(self._count, -1)
        position[pods] = np.arange(len(pods))
        for covered, allowed in self._budgets:
            found = np.sort(position[covered])
            found = found[found >= 0]
            groups = group[found]
            before = np.arange(len(found)) - np.searchsorted(groups, groups)
            violating[found[before >= allowed]] = True
        return violating


def _asks_for_something(selector: LabelSelector | None) -> bool:
    return selector is not None and bool(selector.match_labels or selector.match_expressions)
