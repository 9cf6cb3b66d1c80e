"""The choice among the nodes where preemption would help.

Each criterion leaves the nodes that have the best of it: the fewest violations of budgets; the least important most
important victim; the smallest sum of priorities (shifted to be positive, so that fewer victims nearly always win); the
fewest victims; the victim of the highest priority that started first started last. Among the nodes left then
kube-scheduler takes any. Source: pickOneNodeForPreemption, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from restow.cluster.interning import IntArray
from restow.cluster.pods import Pods
from restow.scheduling.victims import starts

_SHIFT = 2**31


@dataclass(slots=True, frozen=True)
class Candidate:
    """A node where a pod would fit without these pods."""

    node: int
    #: The most important first.
    victims: tuple[int, ...]
    violations: int


def best_candidates(candidates: Sequence[Candidate], pods: Pods) -> tuple[Candidate, ...]:
    """The candidates among which preemption may choose, in the order given."""
    left = tuple(candidates)
    for criterion in _criteria(pods, starts(pods)):
        if len(left) <= 1:
            break
        values = [criterion(each) for each in left]
        least = min(values)
        left = tuple(each for each, value in zip(left, values, strict=True) if value == least)
    return left


def _criteria(pods: Pods, started: IntArray) -> tuple[Callable[[Candidate], int], ...]:
    """What is compared, one after the other; less is better."""
    priority = pods.priority

    def first_start(candidate: Candidate) -> int:
        highest = priority[candidate.victims[0]]
        return -min(int(started[pod]) for pod in candidate.victims if priority[pod] == highest)

    return (
        lambda candidate: candidate.violations,
        lambda candidate: int(priority[candidate.victims[0]]),
        lambda candidate: sum(int(priority[pod]) + _SHIFT for pod in candidate.victims),
        lambda candidate: len(candidate.victims),
        first_start,
    )
