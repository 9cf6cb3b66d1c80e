"""How the candidates for pods of one kind compare: kept by node, and so is which of them are best.

When some nodes change, those among the best that have not changed are as good as one another; comparing one of them with
what is new tells the best of all. Only where none is left everything is compared anew.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pods import Pods
from restow.scheduling.framework.post_filtering import Candidate, FoundCandidates
from restow.scheduling.preemption.candidates import CRITERIA, Candidates, Criteria, KnownCandidates, least

_NONE = -1


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


def _candidate(known: KnownCandidates, number: IntArray) -> Callable[[int], Candidate]:
    return lambda node: known[int(number[node])]
