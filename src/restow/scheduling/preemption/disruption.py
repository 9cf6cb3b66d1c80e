"""How far disruption budgets allow pods to be preempted.

A budget counts in the pod's namespace if its selector asks for something and matches; a pod without labels is under no
budget, and neither is one whose disruption the budget knows already. That is not how evictions read a budget. Pods that
would exceed ``status.disruptionsAllowed`` are *violating*: they are spared first, but not at any price.
Source: filterPodsWithPDBViolation, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from restow.cluster.budgets import covered_groups
from restow.cluster.interning import BoolArray, IntArray
from restow.kube.objects import LabelSelector
from restow.scheduling.framework.context import Context


class Disruption:
    """The budgets of one cluster, by pod."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pods = context.state.cluster.pods
        budgets = context.state.cluster.kind("PodDisruptionBudget").values()
        self._counting = [each for each in budgets if _asks_for_something(each.spec.selector)]
        #: How many pods of each budget may go.
        self._allowed: IntArray = np.array([each.status.disruptions_allowed for each in self._counting], dtype=np.int64)
        #: Budgets by group of pods that are labelled alike.
        self._of_group: defaultdict[int, list[int]] = defaultdict(list)
        self._known_groups = 0

    def violating(self, pods: IntArray, group: IntArray) -> BoolArray:
        """Which pods exceed a budget if all of their group go, in this order; groups are numbered in ascending order."""
        violating = np.zeros(len(pods), dtype=bool)
        if len(self._allowed) == 0:
            return violating
        self._meet_groups()
        # One entry for each pod and each of its budgets, in order of the pods.
        entries = [(at, each) for at, pod in enumerate(pods.tolist()) for each in self._budgets_of(pod)]
        if not entries:
            return violating
        place, budget = np.array(entries, dtype=np.int64).T
        order = np.lexsort((place, group[place], budget))
        place, budget = place[order], budget[order]
        begins = np.flatnonzero(np.diff(budget, prepend=-1) | np.diff(group[place], prepend=-1))
        before = np.arange(len(place)) - np.repeat(begins, np.diff(begins, append=len(place)))
        violating[place[before >= self._allowed[budget]]] = True
        return violating

    def _budgets_of(self, pod: int) -> Iterator[int]:
        """The budgets that a pod counts in."""
        for each in self._of_group.get(self._context.labels.groups.values[pod], ()):
            if self._pods.names[pod] not in (self._counting[each].status.disrupted_pods or {}):
                yield each

    def _meet_groups(self) -> None:
        """Find the budgets of groups that have come."""
        labels, known = self._context.labels, self._known_groups
        self._known_groups = len(labels.groups)
        if known == self._known_groups:
            return
        for number, budget in enumerate(self._counting):
            for group in covered_groups(budget, self._context.state.cluster, labels):
                if group >= known and labels.labels(group):
                    self._of_group[group].append(number)


def _asks_for_something(selector: LabelSelector | None) -> bool:
    return selector is not None and bool(selector.match_labels or selector.match_expressions)
