"""Who may have to go for a group: pods, each alone or with all of its own group.

A pod of a group has the priority of its PodGroup. If that says ``disruptionMode: {all: {}}``, its pods go together or not at
all. The more important come first: those of higher priority, those of groups, larger ones, older ones.
Source: getCrossNodesVictims, GetPodPriority, MoreImportantVictim and FilterVictimsWithPDBViolation, Kubernetes 1.37.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.kube.objects import PodGroup
from restow.scheduling.framework.scheduling_groups import GroupKey
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.preemption.candidates import starts
from restow.scheduling.preemption.victims import VictimBudgets, in_scheduling_group

#: Pods that go together, or not at all.
Unit = tuple[int, ...]


def priority_of(schedulers: Schedulers, pod: int) -> int:
    """The priority of a pod as a victim."""
    group = _group(schedulers, pod)
    return int(schedulers.cluster.pods.priority[pod]) if group is None else group[1].spec.priority


def lower_units(schedulers: Schedulers, priority: int) -> list[Unit]:
    """All victims of less than a priority, the more important first."""
    state, pods = schedulers.context.state, schedulers.cluster.pods
    placed = np.flatnonzero(state.holds_resources() & (state.node >= 0))
    grouped = in_scheduling_group(pods, placed)
    alone = placed[~grouped]
    units: list[Unit] = [(pod,) for pod in alone[pods.priority[alone] < priority].tolist()]
    units += [unit for unit in _grouped(schedulers, placed[grouped]) if priority_of(schedulers, unit[0]) < priority]
    return by_importance(schedulers, units)


def by_importance(schedulers: Schedulers, units: Sequence[Unit]) -> list[Unit]:
    """Victims, the more important first; equals by name."""
    pods = schedulers.cluster.pods
    first: IntArray = np.array([unit[0] for unit in units], dtype=np.int64)
    grouped, sizes = in_scheduling_group(pods, first), np.array(list(map(len, units)), dtype=np.int64)
    priority: IntArray = pods.priority[first].astype(np.int64)
    start, rank = starts(pods, first), pods.rank[first]
    for at in np.flatnonzero(grouped).tolist():
        together = np.array(units[at], dtype=np.int64)
        priority[at] = priority_of(schedulers, units[at][0])
        start[at] = starts(pods, together).min()
    keys: list[npt.NDArray[Any]] = [rank, start, -sizes, ~grouped, -priority]
    return [units[at] for at in np.lexsort(keys).tolist()]


def as_reprieved(schedulers: Schedulers, units: Sequence[Unit]) -> list[Unit]:
    """The same in the order in which they are reprieved: first those of which a budget protects some pod."""
    budgets = schedulers.context.shared(VictimBudgets)
    budgets.catch_up()
    pods = np.array([pod for unit in units for pod in unit], dtype=np.int64)
    violating = set(pods[budgets.violating(pods, np.zeros(len(pods), dtype=np.int64))].tolist())
    return sorted(units, key=violating.isdisjoint)


def _grouped(schedulers: Schedulers, pods: IntArray) -> Iterator[Unit]:
    """Pods of groups: all of a group together, where they have to go together."""
    together: dict[GroupKey, list[int]] = {}
    for pod in pods.tolist():
        found = _group(schedulers, pod)
        if found is None or not found[1].spec.goes_together:
            yield (pod,)
        else:
            together.setdefault(found[0], []).append(pod)
    yield from map(tuple, together.values())


def _group(schedulers: Schedulers, pod: int) -> tuple[GroupKey, PodGroup] | None:
    """The group of a pod, if its PodGroup is there."""
    key = schedulers.groups.of(pod)
    found = None if key is None else schedulers.groups.pod_group(key)
    return None if key is None or found is None else (key, found)
