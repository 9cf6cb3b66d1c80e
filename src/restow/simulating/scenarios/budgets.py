"""For how long PodDisruptionBudgets allowed no disruption of their pods: draining a node has to wait then."""

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
class BlockedBudget:
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
class _BudgetHistory:
    since: int | None = None
    total: int = 0
    longest: int = 0

    def proceed(self, time: int, *, is_blocked: bool) -> None:
        if is_blocked and self.since is None:
            self.since = time
        elif not is_blocked and self.since is not None:
            self.total += time - self.since
            self.longest = max(self.longest, time - self.since)
            self.since = None


@dataclass(slots=True)
class BlockedBudgetTracker:
    """Follows all budgets of a run."""

    _histories: dict[BudgetKey, _BudgetHistory] = field(default_factory=dict)

    def take(self, time: int, budgets: Mapping[BudgetKey, bool]) -> None:
        """Record which budgets allow no disruption from a time on, and which do (or are gone)."""
        for key, is_blocked in budgets.items():
            self._histories.setdefault(key, _BudgetHistory()).proceed(time, is_blocked=is_blocked)

    def finish(self, end: int) -> dict[BudgetKey, BlockedBudget]:
        """Return the budgets that allowed no disruption at some time of a run that ended at ``end``."""
        for history in self._histories.values():
            history.proceed(end, is_blocked=False)
        return {key: BlockedBudget(each.total, each.longest) for key, each in self._histories.items() if each.total}
