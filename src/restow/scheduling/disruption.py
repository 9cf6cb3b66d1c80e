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
        covering: list[IntArray] = []
        allowed: list[int] = []
        for budget in context.state.cluster.kind("PodDisruptionBudget").values():
            if _asks_for_something(budget.spec.selector):
                covered = covered_pods(budget, context.state.cluster, context.labels)
                known = budget.status.disrupted_pods or {}
                unknown = np.array([pods.names[pod] not in known for pod in covered.tolist()], dtype=bool)
                covering.append(covered[labelled[covered] & unknown])
                allowed.append(budget.status.disruptions_allowed)
        #: How many pods of each budget may go.
        self._allowed: IntArray = np.array(allowed, dtype=np.int64)
        covered = np.concatenate([np.zeros(0, dtype=np.int64), *covering])
        order = np.argsort(covered, kind="stable")
        #: Budgets by pod: those of a pod are ``budgets[first[pod]:first[pod + 1]]``.
        self._budgets = np.repeat(np.arange(len(allowed)), [len(each) for each in covering])[order]
        self._first = np.searchsorted(covered[order], np.arange(len(pods) + 1))

    def violating(self, pods: IntArray, group: IntArray) -> BoolArray:
        """Which pods exceed a budget if all of their group go, in this order; groups are numbered in ascending order."""
        violating = np.zeros(len(pods), dtype=bool)
        if len(self._allowed) == 0:
            return violating
        counted = self._first[pods + 1] - self._first[pods]
        # One entry for each pod and each of its budgets, in order of the pods.
        place = np.repeat(np.arange(len(pods)), counted)
        if len(place) == 0:
            return violating
        ends = np.cumsum(counted)
        budget = self._budgets[np.arange(len(place)) + np.repeat(self._first[pods] - ends + counted, counted)]
        order = np.lexsort((place, group[place], budget))
        place, budget = place[order], budget[order]
        begins = np.flatnonzero(np.diff(budget, prepend=-1) | np.diff(group[place], prepend=-1))
        before = np.arange(len(place)) - np.repeat(begins, np.diff(begins, append=len(place)))
        violating[place[before >= self._allowed[budget]]] = True
        return violating


def _asks_for_something(selector: LabelSelector | None) -> bool:
    return selector is not None and bool(selector.match_labels or selector.match_expressions)
