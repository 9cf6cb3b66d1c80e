"""Which nodes a plan fences, so that no replacement lands there.

A fence is a taint of restow's own on a node for as long as the plan is carried out. All strategies run once on the cluster as
it is. A node is fenced if no suggestion of some strategy accepts it as a better place: the overused nodes for
LowNodeUtilization, the nodes to be emptied for HighNodeUtilization, the full domains for topology spread. Nodes that the
policy leaves out and cordoned ones are not fenced, and never more than the policy's share. The plan is then proven on the
fenced cluster like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import CPU, MEMORY
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import Arbiter
from restow.descheduling.cycle import StrategyRunner
from restow.descheduling.evictor import Reason
from restow.descheduling.framework import Suggestion
from restow.descheduling.landings import accepted
from restow.descheduling.limits import Limits
from restow.descheduling.placement import Landing, Obstacle, PluginRef
from restow.descheduling.vetoes import Vetoes
from restow.policies.codes import PlacementConstraint, RefusalCode, Stage
from restow.policies.restow_section import share_of

#: How many suggestions of one strategy for one node are looked at: pods of a node accept about the same nodes.
_ASKED: Final = 8
#: The refusal of every move; it is never shown.
_NOT_NOW: Reason = (Stage.PLACEMENT, RefusalCode.NO_GAIN, "nothing is moved here")


def fenced_nodes(runner: StrategyRunner, share: int | str) -> IntArray:
    """The nodes to fence, at most a share of those that the policy is about; in the order of their names."""
    state = runner.state
    survey = _Survey(state, runner.nodes[~state.cluster.nodes.unschedulable[runner.nodes]], runner.vetoes)
    runner.run(Arbiter(state, Limits(), survey))
    unwanted = survey.unwanted()
    # If there are too many: first the nodes that pods leave, and of them those that the scheduler would score best.
    order = np.lexsort((_fullness(state)[unwanted], ~survey.gives[unwanted]))
    return np.sort(unwanted[order][: share_of(share, len(runner.nodes))])


class _Survey:
    """A placement that refuses every move and notes on which nodes the strategies want no pods."""

    def __init__(self, state: ClusterState, nodes: IntArray, vetoes: Vetoes) -> None:
        self._state = state
        self._nodes = nodes
        self._vetoes = vetoes
        #: The nodes from which pods should move to a better place.
        self.gives: BoolArray = np.zeros(len(state.cluster.nodes), dtype=bool)
        #: Of each strategy, the nodes that none of its suggestions has accepted so far.
        self._left: dict[PluginRef, IntArray] = {}
        self._asked: Counter[tuple[PluginRef, int]] = Counter()

    def move(self, ref: PluginRef, suggestions: Sequence[Suggestion]) -> tuple[Landing, ...] | Obstacle:
        """Note on which nodes the replacements should not land, and refuse the moves."""
        for each in suggestions:
            self._note(ref, each)
        return Obstacle(0, _NOT_NOW)

    def _note(self, ref: PluginRef, suggestion: Suggestion) -> None:
        source = int(self._state.node[suggestion.pod])
        if suggestion.constraint is PlacementConstraint.BETTER and self._asked[ref, source] < _ASKED:
            self._asked[ref, source] += 1
            self.gives[source] = True
            left = self._left.get(ref, self._nodes)
            self._left[ref] = left[~accepted(suggestion, source, left, self._vetoes)]

    def unwanted(self) -> IntArray:
        """The nodes on which some strategy wants none of its pods."""
        found = [*self._left.values()]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _fullness(state: ClusterState) -> npt.NDArray[np.float64]:
    """The larger share of CPU and memory that is requested of each node."""
    rows = [CPU, MEMORY]
    allocatable = np.maximum(state.cluster.nodes.allocatable[rows], 1)
    fullness: npt.NDArray[np.float64] = (state.requested[rows] / allocatable).max(axis=0)
    return fullness
