"""For how long PodDisruptionBudgets allowed no disruption of the pods that they cover: whoever drains a node waits then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from restow.kube.manifests import PodDisruptionBudget

#: Namespace and name of a budget.
BudgetKey = tuple[str, str]
#: The disruption controller knows no number of replicas for the pods, so it allows nothing.
_FAILED: Final = "SyncFailed"


@dataclass(slots=True, frozen=True)
class Standstill:
    """How long a budget allowed no disruption, in all and at most at a time, in nanoseconds."""

    total: int
    longest: int


def allows_none(budget: PodDisruptionBudget) -> bool:
    """Whether a budget protects pods and lets none of them go, as the disruption controller has written it."""
    status = budget.status
    if status.disruptions_allowed or not status.observed_generation:
        return False
    return bool(status.expected_pods) or any(each.reason == _FAILED for each in status.conditions or ())


@dataclass(slots=True)
class _Course:
    since: int | None = None
    total: int = 0
    longest: int = 0

    def proceed(self, time: int, *, stands_still: bool) -> None:
        if stands_still and self.since is None:
            self.since = time
        elif not stands_still and self.since is not None:
            self.total += time - self.since
            self.longest = max(self.longest, time - self.since)
            self.since = None


@dataclass(slots=True)
class Standstills:
    """Follows all budgets of a run."""

    _courses: dict[BudgetKey, _Course] = field(default_factory=dict)

    def take(self, time: int, budgets: Mapping[BudgetKey, bool]) -> None:
        """Take in which budgets allow no disruption from a time on, and which do (or are gone)."""
        for key, stands_still in budgets.items():
            self._courses.setdefault(key, _Course()).proceed(time, stands_still=stands_still)

    def finish(self, end: int) -> dict[BudgetKey, Standstill]:
        """Return the budgets that allowed no disruption at some time of a run that ended at ``end``."""
        for course in self._courses.values():
            course.proceed(end, stands_still=False)
        return {key: Standstill(each.total, each.longest) for key, each in self._courses.items() if each.total}
