"""Dry runs of preemption where nothing but resources is at stake: kept by node, for all pods of one size and priority.

What a node would have to let go depends on that node alone then. So the nodes are tried out once, all together and in
arithmetic, and again only where a pod or a nomination came or went.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.state import ClusterState
from restow.scheduling.candidates import Candidate, Found, criteria_of, least
from restow.scheduling.framework import PASSES, Categories, Judgement
from restow.scheduling.kept_nodes import KeptNodes
from restow.scheduling.per_node import PerNode
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit
from restow.scheduling.verdicts import Objection
from restow.scheduling.victims import PotentialVictims, VictimSearch

#: Priority and resources of a pod.
Size = tuple[int, int]
Table = npt.NDArray[np.int64]

#: Rows of a table: how the trial of a node ended, what candidates are compared by, and the number of the candidate.
_END, _CRITERIA, _NUMBER = 0, slice(1, 6), 6
_ROWS = 7
#: Ends beside the categories of objections.
_CANDIDATE, _NO_VICTIMS, _FITS = -1, -2, -3
#: With more candidates than this, those of the past among them, everything begins anew.
_CAPACITY = 500_000
#: For so many sizes of pods the trials are kept.
_SIZES = 64


class ResourceTrials:
    """The trials on one state."""

    def __init__(
        self,
        state: ClusterState,
        kept_nodes: KeptNodes,
        search: VictimSearch,
        number: Callable[[NodeResourcesFit, Judgement], Categories],
    ) -> None:
        self._state = state
        self._kept_nodes = kept_nodes
        self._search = search
        self._number = number
        self._sample: dict[Size, tuple[NodeResourcesFit, int]] = {}
        self._candidates: list[Candidate] = []
        self._tables = PerNode(kept_nodes, self._try_out, _SIZES)

    def run(self, fit: NodeResourcesFit, pod: int, nodes: IntArray) -> tuple[Found, IntArray]:
        """The candidates among some nodes, and how the trials of the others ended."""
        size = int(self._state.cluster.pods.priority[pod]), fit.key(pod)
        self._sample.setdefault(size, (fit, pod))
        if len(self._candidates) > _CAPACITY:
            self._candidates, self._tables = [], PerNode(self._kept_nodes, self._try_out, _SIZES)
        table = self._tables.of(size)
        ends = table[_END, nodes]
        is_candidate = ends == _CANDIDATE
        candidates = nodes[is_candidate]
        known, numbers = self._candidates, table[_NUMBER]
        found = Found(candidates, least(table[_CRITERIA], candidates), lambda node: known[numbers[node]])
        return found, ends[~is_candidate]

    def _try_out(self, size: Size, nodes: IntArray) -> Table:
        fit, pod = self._sample[size]
        potential = self._search.potential(size[0], nodes)
        usage = self._kept_nodes.with_nominated(size[0], nodes)
        victims, judgement = try_out_resources(self._state, fit, pod, potential, usage)
        ends = self._number(fit, judgement).astype(np.int64)
        table = np.zeros((_ROWS, len(nodes)), dtype=np.int64)
        table[_END] = np.where(ends == PASSES, _FITS, ends)
        table[_END, np.diff(potential.first) == 0] = _NO_VICTIMS
        for position, candidate in self._search.candidates(potential, victims):
            table[_END, position] = _CANDIDATE
            table[_CRITERIA, position] = criteria_of(candidate, self._state.cluster.pods)
            table[_NUMBER, position] = len(self._candidates)
            self._candidates.append(candidate)
        return table


def failures(ends: IntArray, objections: Sequence[Objection], no_victims: str) -> Counter[str]:
    """How many trials ended for which reason."""
    reasons: Counter[str] = Counter()
    for end, count in zip(*np.unique(ends, return_counts=True), strict=True):
        if end != _FITS:
            given = (no_victims,) if end == _NO_VICTIMS else objections[end].outcome.reasons
            for reason in given:
                reasons[reason] += int(count)
    return reasons


def try_out_resources(
    state: ClusterState,
    fit: NodeResourcesFit,
    pod: int,
    potential: PotentialVictims,
    usage: tuple[IntArray, Table],
) -> tuple[BoolArray, Judgement]:
    """Which of the potential victims have to go, and what is wrong even without all of them.

    ``usage`` is how many pods run on the nodes, with the victims, and what they request; both arrays are used up.
    """
    running, requested = usage
    nodes, counted = potential.nodes, np.diff(potential.first)
    vectors = state.request_vectors()[state.held[potential.pods]].T
    group = np.repeat(np.arange(len(nodes)), counted)
    running -= counted
    for row in range(len(requested)):
        np.subtract.at(requested[row], group, vectors[row])
    judgement = fit.judge_usage(pod, nodes, running, requested)
    victims = np.zeros(len(potential.pods), dtype=bool)
    left = np.flatnonzero(judgement.passes & (counted > 0))
    for turn in range(int(counted.max(initial=0))):
        left = left[counted[left] > turn]
        position = potential.first[left] + turn
        running[left] += 1
        requested[:, left] += vectors[:, position]
        over = ~fit.fits(pod, nodes[left], running[left], requested[:, left])
        victims[position[over]] = True
        running[left[over]] -= 1
        requested[:, left[over]] -= vectors[:, position[over]]
    return victims, judgement
