"""The pods that a more important pod may push aside, node by node.

All pods of lower priority on a node are potential victims. They are *reprieved* one by one: first those that a budget
protects, then the others, each time the more important before the less important, where an older pod is more important
among equals. Source: SelectVictimsOnNode and MoreImportantPod, Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pods import NO_TIME, Pods
from restow.cluster.state import ClusterState
from restow.scheduling.disruption import Disruption

#: A pod that has not started counts as one that starts now: later than all others.
_NOW = np.iinfo(np.int64).max


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


def starts(pods: Pods) -> IntArray:
    """When each pod started, nanoseconds since the epoch."""
    return np.where(pods.started == NO_TIME, _NOW, pods.started)


def importance(pods: Pods) -> IntArray:
    """The place of each pod among all, the most important first; equals in order of their names."""
    order = np.lexsort((np.arange(len(pods)), starts(pods), -pods.priority))
    place = np.empty(len(pods), dtype=np.int64)
    place[order] = np.arange(len(pods))
    return place


def potential_victims(
    state: ClusterState, pod: int, nodes: IntArray, place: IntArray, disruption: Disruption
) -> PotentialVictims:
    """The pods of lower priority on some nodes (in order of their names)."""
    priority = state.cluster.pods.priority
    position = np.full(len(state.cluster.nodes) + 1, -1)
    position[nodes] = np.arange(len(nodes))
    lower = np.flatnonzero((priority < priority[pod]) & (state.node >= 0) & state.holds_resources())
    lower = lower[position[state.node[lower]] >= 0]
    lower = lower[np.lexsort((place[lower], position[state.node[lower]]))]
    group = position[state.node[lower]]
    violating = disruption.violating(lower, group)
    spared = np.lexsort((place[lower], ~violating, group))
    first = np.searchsorted(group, np.arange(len(nodes) + 1))
    return PotentialVictims(nodes, first, lower[spared], violating[spared])
