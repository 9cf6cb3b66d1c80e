"""Who may have to go for a group: all victims of the cluster, each a pod or several that go together (``victim_units``).

Source: newDomainForWorkloadPreemption, MoreImportantVictim and FilterVictimsWithPDBViolation, Kubernetes 1.37.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.preemption.victim_units import VictimUnits, one_each
from restow.scheduling.preemption.victims import VictimBudgets

#: Pods that go together, or not at all.
Unit = tuple[int, ...]


def priority_of(schedulers: Schedulers, pod: int) -> int:
    """The priority of a pod as a victim."""
    return int(schedulers.context.shared(VictimUnits).priorities(np.array([pod]))[0])


def lower_units(schedulers: Schedulers, priority: int) -> list[Unit]:
    """All victims of less than a priority, the more important first; equals by name."""
    state, known = schedulers.context.state, schedulers.context.shared(VictimUnits)
    placed = np.flatnonzero(state.holds_resources() & (state.node >= 0))
    lower = placed[known.priorities(placed) < priority]
    units, everywhere = known.of(lower), np.zeros(len(lower), dtype=np.int64)
    lower, everywhere = one_each(lower, everywhere, units)
    lower = lower[known.by_importance(lower, everywhere, units)]
    return [tuple(units[pod].tolist()) if pod in units else (pod,) for pod in lower.tolist()]


def as_reprieved(schedulers: Schedulers, units: Sequence[Unit]) -> list[Unit]:
    """The same in the order in which they are reprieved: first those of which a budget protects some pod."""
    budgets = schedulers.context.shared(VictimBudgets)
    budgets.catch_up()
    pods = np.array([pod for unit in units for pod in unit], dtype=np.int64)
    violating = set(pods[budgets.violating(pods, np.zeros(len(pods), dtype=np.int64))].tolist())
    return sorted(units, key=violating.isdisjoint)
