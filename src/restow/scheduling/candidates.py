"""The choice among the nodes where preemption would help.

Each criterion leaves the nodes that have the best of it: the fewest violations of budgets; the least important most
important victim; the smallest sum of priorities (shifted to be positive, so that fewer victims nearly always win); the
fewest victims; the victim of the highest priority that started first started last. Among the nodes left then
kube-scheduler takes any. Source: pickOneNodeForPreemption, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.cluster.pods import NO_TIME, Pods

_SHIFT = 2**31
#: A pod that has not started counts as one that starts now: later than all others.
_NOW = np.iinfo(np.int64).max


@dataclass(slots=True, frozen=True)
class Candidate:
    """A node where a pod would fit without these pods."""

    node: int
    #: The most important first.
    victims: tuple[int, ...]
    violations: int


@dataclass(frozen=True)
class Found:
    """The candidates for one pod, each made when it is asked for."""

    #: In order of their names.
    nodes: IntArray
    #: Those among which preemption may choose; the first is chosen.
    best: IntArray
    #: The candidate of a node; what it looks at must not change.
    candidate: Callable[[int], Candidate]

    @staticmethod
    def of(candidates: Sequence[Candidate], pods: Pods) -> Found:
        """Candidates that are at hand."""
        by_node = {each.node: each for each in sorted(candidates, key=lambda each: each.node)}
        nodes: IntArray = np.array(list(by_node), dtype=np.int64)
        criteria = np.array([criteria_of(each, pods) for each in by_node.values()], dtype=np.int64).reshape(-1, 5).T
        return Found(nodes, nodes[least(criteria, np.arange(len(nodes)))], by_node.__getitem__)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All of them."""
        return tuple(map(self.candidate, self.nodes.tolist()))

    @cached_property
    def best_candidates(self) -> tuple[Candidate, ...]:
        """The best of them."""
        return tuple(map(self.candidate, self.best.tolist()))


_NONE: IntArray = np.zeros(0, dtype=np.int64)
_NOWHERE: Mapping[int, Candidate] = {}
NOTHING_FOUND = Found(_NONE, _NONE, _NOWHERE.__getitem__)


def starts(pods: Pods) -> IntArray:
    """When each pod started, nanoseconds since the epoch."""
    return np.where(pods.started == NO_TIME, _NOW, pods.started)


def criteria_of(candidate: Candidate, pods: Pods) -> tuple[int, int, int, int, int]:
    """What a candidate is compared by, one after the other; less is better."""
    victims = list(candidate.victims)
    priorities, started = pods.priority[victims].tolist(), pods.started[victims].tolist()
    highest = priorities[0]
    first_start = min(
        _NOW if start == NO_TIME else start
        for start, priority in zip(started, priorities, strict=True)
        if priority == highest
    )
    return candidate.violations, highest, sum(priorities) + _SHIFT * len(priorities), len(priorities), -first_start


def least(criteria: npt.NDArray[np.int64], columns: IntArray) -> IntArray:
    """Those of some columns that have the least of each criterion in turn, int64[criterion, column]."""
    for row in criteria:
        if len(columns) < 2:
            break
        values = row[columns]
        is_least = values == values.min()
        if not is_least.all():
            columns = columns[is_least]
    return columns
