"""The choice among the nodes where preemption would help.

Each criterion leaves the nodes that have the best of it: the fewest violations of budgets; the least important most
important victim; the smallest sum of priorities (shifted to be positive, so that fewer victims nearly always win); the
fewest victims; the victim of the highest priority that started first started last. Among the nodes left then
kube-scheduler takes any. Source: pickOneNodeForPreemption, Kubernetes 1.36.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.cluster.pods import NO_TIME, Pods
from restow.scheduling.framework.extension_points import NO_PODS
from restow.scheduling.framework.post_filtering import Candidate

#: How many criteria there are.
CRITERIA = 5
#: One column a candidate, the criteria in turn; less is better.
Criteria = npt.NDArray[np.int64]

_SHIFT = 2**31
#: A pod that has not started counts as one that starts now: later than all others.
_NOW = np.iinfo(np.int64).max


@dataclass(slots=True, frozen=True)
class Candidates:
    """Several of them: the victims on ``nodes[i]`` are ``victims[first[i]:first[i + 1]]``, at least one."""

    #: In order of their names.
    nodes: IntArray
    first: IntArray
    #: On each node the most important first.
    victims: IntArray
    violations: IntArray

    def at(self, position: int) -> Candidate:
        """One of them."""
        victims = self.victims[self.first[position] : self.first[position + 1]]
        return Candidate(int(self.nodes[position]), tuple(victims.tolist()), int(self.violations[position]))

    def criteria(self, pods: Pods) -> Criteria:
        """What they are compared by, int64[criterion, candidate]."""
        begins, counted = self.first[:-1], np.diff(self.first)
        # The most important victim has the highest priority, and started before others that have it too.
        leading, priority = self.victims[begins], pods.priority[self.victims].astype(np.int64)
        return np.stack(
            (
                self.violations,
                priority[begins],
                np.add.reduceat(priority, begins) + _SHIFT * counted,
                counted,
                -starts(pods, leading),
            )
        )


NO_CANDIDATES = Candidates(NO_PODS, np.zeros(1, dtype=np.int64), NO_PODS, NO_PODS)


class KnownCandidates:
    """Candidates by number, in the order in which they were found; what is known of one does not change."""

    def __init__(self) -> None:
        self._found: list[Candidates] = []
        #: The number of the first of each of ``_found``.
        self._starts: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, found: Candidates) -> IntArray:
        """The numbers of some more."""
        self._found.append(found)
        self._starts.append(self._count)
        self._count += len(found.nodes)
        return np.arange(self._starts[-1], self._count)

    def __getitem__(self, number: int) -> Candidate:
        place = bisect_right(self._starts, number) - 1
        return self._found[place].at(number - self._starts[place])


def starts(pods: Pods, some: IntArray) -> IntArray:
    """When some pods started, nanoseconds since the epoch."""
    started = pods.started[some]
    return np.where(started == NO_TIME, _NOW, started)


def least(criteria: Criteria, columns: IntArray) -> IntArray:
    """Those of some columns that have the least of each criterion in turn."""
    for row in criteria:
        if len(columns) < 2:
            break
        values = row.take(columns)
        is_least = values == values.min()
        if not is_least.all():
            columns = columns[is_least]
    return columns
