"""The pods that a more important pod may push aside, node by node.

All pods of lower priority on a node are potential victims. They are *reprieved* one by one: first those that a budget
protects, then the others, each time the more important before the less important, where an older pod is more important
among equals. Source: SelectVictimsOnNode and MoreImportantPod, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pods import Pods
from restow.scheduling.candidates import Candidate, starts
from restow.scheduling.context import Context
from restow.scheduling.disruption import Disruption

#: The pods of so many nodes are looked up node by node.
_FEW = 64


@dataclass(slots=True, frozen=True)
class PotentialVictims:
    """Potential victims on some nodes: those of ``nodes[i]`` are ``pods[first[i]:first[i + 1]]``."""

    nodes: IntArray
    first: IntArray
    #: In the order in which they are reprieved.
    pods: IntArray
    violating: BoolArray

    def of(self, position: int) -> slice:
        """Where the pods of ``nodes[position]`` are."""
        return slice(int(self.first[position]), int(self.first[position + 1]))

    def on(self, wanted: BoolArray) -> PotentialVictims:
        """Those on some of the nodes, bool[len(nodes)]."""
        counted = np.diff(self.first)
        kept = np.repeat(wanted, counted)
        first = np.concatenate([[0], np.cumsum(counted[wanted])])
        return PotentialVictims(self.nodes[wanted], first, self.pods[kept], self.violating[kept])


def importance(pods: Pods) -> IntArray:
    """The place of each pod among all, the most important first; equals in order of their names."""
    order = np.lexsort((np.arange(len(pods)), starts(pods), -pods.priority))
    place = np.empty(len(pods), dtype=np.int64)
    place[order] = np.arange(len(pods))
    return place


class VictimSearch:
    """Finds the potential victims on one state."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._state = context.state
        self._pods = context.state.cluster.pods

    @cached_property
    def importance(self) -> IntArray:
        """The place of each pod among all."""
        return importance(self._pods)

    @cached_property
    def _disruption(self) -> Disruption:
        return Disruption(self._context)

    def potential(self, priority: int, nodes: IntArray) -> PotentialVictims:
        """The pods of less than a priority on some nodes (in order of their names)."""
        place, on = self.importance, self._state.node
        position = np.full(len(self._state.cluster.nodes) + 1, -1)
        position[nodes] = np.arange(len(nodes))
        lower = self._below(priority, nodes)
        lower = lower[position[on[lower]] >= 0]
        lower = lower[np.lexsort((place[lower], position[on[lower]]))]
        group = position[on[lower]]
        violating = self._disruption.violating(lower, group)
        spared = np.lexsort((place[lower], ~violating, group))
        first = np.searchsorted(group, np.arange(len(nodes) + 1))
        return PotentialVictims(nodes, first, lower[spared], violating[spared])

    def candidates(self, potential: PotentialVictims, victims: BoolArray) -> Iterator[tuple[int, Candidate]]:
        """A candidate for each node with victims, and the position of the node."""
        group = np.repeat(np.arange(len(potential.nodes)), np.diff(potential.first))
        for position in np.unique(group[victims]).tolist():
            place = potential.of(position)
            chosen = potential.pods[place][victims[place]]
            yield (
                position,
                Candidate(
                    node=int(potential.nodes[position]),
                    victims=tuple(chosen[np.argsort(self.importance[chosen])].tolist()),
                    violations=int(np.count_nonzero(potential.violating[place] & victims[place])),
                ),
            )

    def _below(self, priority: int, nodes: IntArray) -> IntArray:
        """Pods of a lower priority; all that are on some nodes are among them."""
        state, priorities = self._state, self._pods.priority
        if len(nodes) > _FEW:
            return np.flatnonzero((priorities < priority) & (state.node >= 0) & state.holds_resources())
        pods = np.concatenate([np.zeros(0, dtype=np.int64), *map(state.pods_on, nodes.tolist())])
        below: IntArray = pods[priorities[pods] < priority]
        return below
