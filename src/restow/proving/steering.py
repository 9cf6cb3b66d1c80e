"""How replacements are brought to nodes that the plan chooses: by nomination, or by a fence around all others.

Nominating holds a new pod back by a scheduling gate until it is nominated for its target. An admission policy or a webhook
gives the gate to new pods whose controller is named in advance by its uid, the first owner reference. So it must be known
which new pod is the replacement, and only that controller may create it. Not steered are pods without a controller, of a
DaemonSet (their node is given), of a Node (mirror pods), and of schedulers whose rules are not known.

A fence is a taint of restow's own on a node for as long as the plan is carried out. All strategies run once on the cluster as
it is. A node is fenced if no suggestion of some strategy accepts it as a better place: the overused nodes for
LowNodeUtilization, the nodes to be emptied for HighNodeUtilization, the full domains for topology spread. Nodes that the
policy leaves out and cordoned ones are not fenced, and never more than the policy's share. The plan is then proven on the
fenced cluster like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import CPU, MEMORY
from restow.cluster.pods import Pods
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import Arbiter
from restow.descheduling.cycle import StrategyRunner
from restow.descheduling.framework import Suggestion
from restow.descheduling.limits import Limits
from restow.descheduling.placement import NOT_NOW, Landing, Obstacle, PluginRef, accepted
from restow.descheduling.vetoes import Vetoes
from restow.kube.objects import OwnerReference
from restow.policies.codes import PlacementConstraint, RefusalCode, SteeringMode
from restow.policies.policy import share_of

#: Refusals for which the scheduler's choice is the reason, so that steering may answer them.
FOR_STEERING: Final = frozenset(
    {
        RefusalCode.NOT_CERTAIN,
        RefusalCode.HARMFUL,
        RefusalCode.NOT_ALIGNED,
        RefusalCode.NO_GAIN,
        RefusalCode.SAME_NODE,
        RefusalCode.LEAVING_NODE,
        RefusalCode.VIRTUAL_NODE,
    }
)

_LEFT_ALONE = frozenset({"DaemonSet", "Node"})
#: How many suggestions of one strategy for one node are looked at: pods of a node accept about the same nodes.
_ASKED: Final = 8


def can_be_steered(pods: Pods, pod: int, steering: SteeringMode) -> bool:
    """Whether the replacement of a pod can be brought to a node that the plan chooses."""
    return steering == SteeringMode.NOMINATE and can_be_named(pods.tables.owners[pods.owners[pod]])


def can_be_named(owners: Sequence[OwnerReference]) -> bool:
    """Whether the first owner is the controller, of a kind that creates pods for any node."""
    return bool(owners) and bool(owners[0].controller) and bool(owners[0].uid) and owners[0].kind not in _LEFT_ALONE


class FencedNodes(NamedTuple):
    """The nodes to fence, in the order of their names, and whether the policy's share (``restow.fenceShare``) is enough."""

    nodes: IntArray
    #: How many nodes should take no pods.
    wanted: int
    #: Of how many nodes.
    usable: int
    share: int | str

    def shortage(self) -> str | None:
        """Why too few nodes are fenced, and what to do; None if there are enough."""
        if len(self.nodes) == self.wanted:
            return None
        enough = -(-100 * self.wanted // self.usable)
        return (
            f"{self.wanted:,} of {self.usable:,} nodes should take no pods, and restow.fenceShare: {self.share} fences at "
            f"most {len(self.nodes):,}, so that replacements may land on the others and no move is certain enough: set "
            f"fenceShare: {enough}% or more, or let the cluster nominate (restow.steering: nominate)"
        )


def fenced_nodes(runner: StrategyRunner, share: int | str) -> FencedNodes:
    """The nodes to fence, at most a share of those that the policy is about."""
    state = runner.state
    survey = _Survey(state, runner.nodes[~state.cluster.nodes.unschedulable[runner.nodes]], runner.vetoes)
    runner.run(Arbiter(state, Limits(), survey))
    unwanted = survey.unwanted()
    # If there are too many: first the nodes that pods leave, and of them those that the scheduler would score best.
    order = np.lexsort((_fullness(state)[unwanted], ~survey.gives[unwanted]))
    nodes = np.sort(unwanted[order][: share_of(share, len(runner.nodes))])
    return FencedNodes(nodes, len(unwanted), len(runner.nodes), share)


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
        return Obstacle(0, NOT_NOW)

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
