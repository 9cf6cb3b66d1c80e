"""The choice among the nodes where preemption would help.

Each criterion leaves the nodes that have the best of it: the fewest violations of budgets; the least important most
important victim; the smallest sum of priorities (shifted to be positive, so that fewer victims nearly always win); the
fewest victims; the victim of the highest priority that started first started last. Each pod counts with its own priority,
also where several go together, on other nodes too. Among the nodes left then kube-scheduler takes any.
Source: pickOneNodeForPreemption, Kubernetes 1.36 and 1.37.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pods import Pods
from restow.scheduling.framework.extension_points import NO_PODS
from restow.scheduling.framework.post_filtering import Candidate, FoundCandidates
from restow.scheduling.preemption.victim_units import NOW, starts

#: How many criteria there are.
CRITERIA = 5
#: One column a candidate, the criteria in turn; less is better.
Criteria = npt.NDArray[np.int64]

_SHIFT = 2**31

_NONE = -1


@dataclass(slots=True, frozen=True)
class Candidates:
    """Several of them: the victims on ``nodes[i]`` are ``victims[first[i]:first[i + 1]]``, at least one."""

    #: In order of their names.
    nodes: IntArray
    first: IntArray
    #: On each node the most important first.
    victims: IntArray
    violations: IntArray
    #: Which have victims on other nodes.
    elsewhere: BoolArray

    def at(self, position: int) -> Candidate:
        """The candidate at a position."""
        victims = self.victims[self.first[position] : self.first[position + 1]]
        violations, elsewhere = int(self.violations[position]), bool(self.elsewhere[position])
        return Candidate(int(self.nodes[position]), tuple(victims.tolist()), violations, elsewhere)

    def criteria(self, pods: Pods) -> Criteria:
        """What they are compared by, int64[criterion, candidate]."""
        begins, counted = self.first[:-1], np.diff(self.first)
        priority = pods.priority[self.victims].astype(np.int64)
        highest = np.repeat(np.maximum.reduceat(priority, begins), counted)
        start = np.where(priority == highest, starts(pods, self.victims), NOW)
        return np.stack(
            (
                self.violations,
                priority[begins],
                np.add.reduceat(priority, begins) + _SHIFT * counted,
                counted,
                -np.minimum.reduceat(start, begins),
            )
        )


NO_CANDIDATES = Candidates(NO_PODS, np.zeros(1, dtype=np.int64), NO_PODS, NO_PODS, np.zeros(0, dtype=bool))


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


# When some nodes change, those among the best that have not changed are as good as one another; comparing one of them
# with what is new gives the best of all. Only if none is left, everything is compared again.
class RankedCandidates:
    """The candidates among all nodes of one cluster; before ``replace`` there are none.

    ``known`` is where candidates are written down, those of the past among them: what is found looks there.
    """

    def __init__(self, pods: Pods, nodes: int, known: KnownCandidates) -> None:
        self._pods = pods
        self._known = known
        #: Where the candidate of each node is in ``known``, or _NONE.
        self._number: IntArray = np.full(nodes, _NONE)
        self._criteria: Criteria = np.zeros((CRITERIA, nodes), dtype=np.int64)
        #: The best of all candidates.
        self._best: BoolArray = np.zeros(nodes, dtype=bool)

    def replace(self, nodes: IntArray, found: Candidates) -> None:
        """From now on these are the candidates among some nodes."""
        self._number[nodes] = _NONE
        self._best[nodes] = False
        if len(found.nodes):
            self._number[found.nodes] = self._known.add(found)
            self._criteria[:, found.nodes] = found.criteria(self._pods)
        self._compare(found.nodes)

    def among(self, wanted: BoolArray) -> FoundCandidates:
        """The candidates among some nodes, bool[node]; it does not change."""
        candidates = np.not_equal(self._number, _NONE) & wanted
        best = self._best & wanted
        if not best.any():
            best[least(self._criteria, np.flatnonzero(candidates))] = True
        return FoundCandidates(candidates, best, _candidate(self._known, self._number.copy()))

    def validate(self) -> None:
        """AssertionError where the best of all are not those that a comparison of all finds."""
        best = least(self._criteria, np.flatnonzero(np.not_equal(self._number, _NONE)))
        assert np.flatnonzero(self._best).tolist() == best.tolist(), "the best candidates differ"

    def _compare(self, arrived: IntArray) -> None:
        """Find the best of all: nothing has changed but that some candidates are gone, and some have arrived."""
        staying = int(self._best.argmax())
        if not self._best[staying]:
            best = least(self._criteria, np.flatnonzero(np.not_equal(self._number, _NONE)))
        elif len(arrived):
            best = least(self._criteria, np.append(arrived, staying))
            if best[-1] != staying:
                self._best[:] = False
        else:
            return
        self._best[best] = True


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


def _candidate(known: KnownCandidates, number: IntArray) -> Callable[[int], Candidate]:
    return lambda node: known[int(number[node])]
