"""Reprieve in arithmetic, on many nodes at once: who has to go where nothing but room is at stake.

All potential victims leave, and in each turn one of each node comes back if the pod still fits beside it.
Source: SelectVictimsOnNode, Kubernetes 1.36.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.state import ClusterState
from restow.scheduling.framework.extension_points import UsagePlugin
from restow.scheduling.preemption.victims import PotentialVictims

#: How many pods run on some nodes, int64[node], and what they request, int64[resource, node].
Usage = tuple[IntArray, npt.NDArray[np.int64]]


def without(state: ClusterState, potential: PotentialVictims, usage: Usage) -> Usage:
    """The usage of the nodes without their potential victims; ``usage`` is used up."""
    running, requested = usage
    counted = np.diff(potential.first)
    vectors = state.request_vectors()[state.held[potential.pods]].T
    group = np.repeat(np.arange(len(potential.nodes)), counted)
    running -= counted
    for row in range(len(requested)):
        np.subtract.at(requested[row], group, vectors[row])
    return running, requested


def reprieved(
    state: ClusterState, plugin: UsagePlugin, pod: int, potential: PotentialVictims, usage: Usage
) -> BoolArray:
    """Which of the potential victims have to go; none where the pod does not fit without all of them.

    ``usage`` is that without them; it is used up.
    """
    running, requested = usage
    nodes, counted = potential.nodes, np.diff(potential.first)
    fits = plugin.fits(pod, nodes, running, requested)
    vectors = state.request_vectors()[state.held[potential.pods]].T
    victims = np.zeros(len(potential.pods), dtype=bool)
    left = np.flatnonzero(fits & (counted > 0))
    for turn in range(int(counted.max(initial=0))):
        left = left[counted[left] > turn]
        position = potential.first[left] + turn
        running[left] += 1
        requested[:, left] += vectors[:, position]
        over = ~plugin.fits(pod, nodes[left], running[left], requested[:, left])
        victims[position[over]] = True
        running[left[over]] -= 1
        requested[:, left[over]] -= vectors[:, position[over]]
    return victims
