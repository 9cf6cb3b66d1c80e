"""Disruption budgets as limits of the search: how many pods of each group may still be evicted.

The proof asks the same question for each move (``proving.disruption_budgets``). The search knows the answer before, so
that it spends a budget where that gains most, and plans nothing for pods that must stay.
"""

from __future__ import annotations

import numpy as np

from restow.cluster.budgets import UNBUDGETED, CoveringBudgets, is_of_machine
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pods import NO_POD
from restow.descheduling.framework import View
from restow.optimizing.problem import MoveLimits

_KIND = "PodDisruptionBudget"


class BudgetLimits:
    """The budgets of a cluster, by what they allow now and what this plan has used of that."""

    def __init__(self, view: View, without: str = "") -> None:
        """``without`` names a budget that is to allow everything, as namespace/name."""
        cluster = view.state.cluster
        budgets = list(cluster.kind(_KIND).values())
        self._covering = CoveringBudgets(cluster, view.labels)
        self._names = [f"{each.metadata.namespace}/{each.metadata.name}" for each in budgets]
        self._phase = view.pods.phase
        self._migrates = view.migrates
        #: The budgets that KubeVirt has made, which do not count where a virtual machine is migrated.
        self._of_machines = {position for position, each in enumerate(budgets) if is_of_machine(each)}
        allowed = [each.status.disruptions_allowed for each in budgets]
        self.left: IntArray = np.maximum(np.array(allowed, dtype=np.int64), 0)
        moved = np.flatnonzero((view.pods.replaced_by != NO_POD) & ~view.state.exists)
        for pod in moved.tolist():
            self.left[list(self._of(pod))] -= 1
        if without:
            self.left[self._names.index(without)] = len(view.pods)

    def free(self, pods: IntArray) -> BoolArray:
        """Which of some pods no budget forbids to evict: one that covers it alone allows more, or none covers it."""
        of_pod = map(self._of, pods.tolist())
        return np.array([not of or (len(of) == 1 and self.left[of[0]] > 0) for of in of_pod], dtype=bool)

    def forbidding(self, pod: int) -> tuple[str, ...]:
        """The names of the budgets that forbid the eviction of a pod; none if none does."""
        of = self._of(pod)
        if len(of) == 1 and self.left[of[0]] > 0:
            return ()
        return tuple(self._names[each] for each in of)

    def limits(self, pods: IntArray) -> MoveLimits:
        """The budget of each pod as a group."""
        group_of = [of[0] if len(of := self._of(pod)) else -1 for pod in pods.tolist()]
        return MoveLimits(np.array(group_of, dtype=np.int32), self.left.astype(np.int32))

    def _of(self, pod: int) -> list[int]:
        """The positions of the budgets in which a pod's eviction counts."""
        found = [] if int(self._phase[pod]) in UNBUDGETED else list(self._covering.of(pod))
        if self._of_machines.isdisjoint(found) or not self._migrates(pod):
            return found
        return [each for each in found if each not in self._of_machines]
