"""Dry runs of preemption: which pods a node would have to let go for another one.

A node is tried out without any of its potential victims; where the pod fits then, they come back one by one, and those
that do not fit beside it are the victims. In general that takes the real filters on the real state, taken back
afterwards. Where nothing but resources is at stake, all nodes are tried out at once, in arithmetic.
Source: SelectVictimsOnNode, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.nodes import PODS
from restow.cluster.state import Change, ClusterState
from restow.scheduling.context import Context
from restow.scheduling.filtering import Asked, Filters
from restow.scheduling.framework import PASSES
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit
from restow.scheduling.victims import PotentialVictims

#: Which of the potential victims have to go, and how many nodes fail for which reason even without them.
Result = tuple[BoolArray, Counter[str]]


def try_out(
    context: Context, filters: Filters, asked: Asked, fit: NodeResourcesFit | None, potential: PotentialVictims
) -> Result:
    """Try out each node with the filters; ``fit`` is the one among them that looks at resources."""
    filters.prime(asked, potential.nodes)
    victims = np.zeros(len(potential.pods), dtype=bool)
    reasons: Counter[str] = Counter()
    for position, node in enumerate(potential.nodes.tolist()):
        place = potential.of(position)
        trial = _Trial(context, filters, asked, fit, node)
        mask, category = trial.run(potential.pods[place].tolist())
        victims[place] = mask
        if category != PASSES:
            reasons.update(filters.objection(category).outcome.reasons)
    return victims, reasons


class _Trial:
    """One node under trial."""

    def __init__(
        self, context: Context, filters: Filters, asked: Asked, fit: NodeResourcesFit | None, node: int
    ) -> None:
        self._context = context
        self._state = context.state
        self._filters = filters
        self._asked = asked
        self._node = node
        self._is_kept = filters.is_kept(asked.pod, node)
        self._fit = fit
        wanted = context.state.requests_of(asked.pod) - context.state.cluster.nodes.allocatable[:, node]
        self._wanted = {row: int(wanted[row]) for row in (fit.filtered_rows(asked.pod) if fit else ())}

    def run(self, pods: list[int]) -> tuple[list[bool], int]:
        """Which pods have to go, and what is wrong even without all of them."""
        mark = self._state.checkpoint()
        for pod in pods:
            self._take(pod)
        category = self._filters.run_on(self._asked, self._node)
        victims = [category == PASSES and not self._is_reprieved(pod) for pod in pods]
        for pod in pods:
            if not self._state.exists[pod]:
                self._count_staying(pod, 1)
        self._state.undo(mark)
        return victims, category

    def _is_reprieved(self, pod: int) -> bool:
        if not self._has_room(pod):
            return False
        self._state.place(pod, self._node)
        self._count_staying(pod, 1)
        if self._only_takes_room(pod) or self._filters.run_on(self._asked, self._node) == PASSES:
            return True
        self._take(pod)
        return False

    def _has_room(self, pod: int) -> bool:
        """Whether a pod leaves the resources that are wanted; to find that it does not is cheaper than to ask."""
        back, requested = self._state.requests_of(pod), self._state.requested
        return all(wanted + requested[row, self._node] + back[row] <= 0 for row, wanted in self._wanted.items())

    def _only_takes_room(self, pod: int) -> bool:
        """Whether a pod cannot matter to anyone but those who look at resources, of which there are enough."""
        if self._fit is None or self._is_kept or self._context.counts.counts(pod):
            return False
        pods, nodes = self._state.cluster.pods, self._state.cluster.nodes
        if pods.tables.ports[pods.ports[pod]] or pods.tables.volumes[pods.volumes[pod]]:
            return False
        return int(self._state.running[self._node]) < int(nodes.allocatable[PODS, self._node])

    def _take(self, pod: int) -> None:
        self._state.remove(pod)
        self._count_staying(pod, -1)

    def _count_staying(self, pod: int, staying: int) -> None:
        """Count a pod that comes or goes among those that stay, even if it is on its way out.

        Spread ignores such pods but subtracts them when they are preempted. Source: PodTopologySpread, RemovePod.
        """
        if self._state.terminating[pod]:
            self._state.changes.append(Change(self._node, pod, 0, staying))


def try_out_resources(state: ClusterState, fit: NodeResourcesFit, pod: int, potential: PotentialVictims) -> Result:
    """The same as ``try_out`` where only resources can be wrong."""
    nodes, counted = potential.nodes, np.diff(potential.first)
    vectors = state.request_vectors()[state.cluster.pods.resources[potential.pods]].T
    group = np.repeat(np.arange(len(nodes)), counted)
    running, requested = state.running[nodes] - counted, state.requested[:, nodes]
    for row in range(len(requested)):
        np.subtract.at(requested[row], group, vectors[row])
    judgement = fit.judge_usage(pod, nodes, running, requested)
    reasons: Counter[str] = Counter()
    for category, count in zip(*np.unique(judgement.category, return_counts=True), strict=True):
        if category != PASSES:
            reasons.update(dict.fromkeys(judgement.outcomes[category].reasons, int(count)))
    victims = np.zeros(len(potential.pods), dtype=bool)
    left = np.flatnonzero(judgement.passes & (counted > 0))
    for turn in range(int(counted.max(initial=0))):
        left = left[counted[left] > turn]
        position = potential.first[left] + turn
        running[left] += 1
        requested[:, left] += vectors[:, position]
        over = ~fit.judge_usage(pod, nodes[left], running[left], requested[:, left]).passes
        victims[position[over]] = True
        running[left[over]] -= 1
        requested[:, left[over]] -= vectors[:, position[over]]
    return victims, reasons
