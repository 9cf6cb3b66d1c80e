"""Empties nodes completely, if a plan chooses where replacements land.

A node that keeps one of its pods cannot be taken away, so moving the others would gain nothing. The pods of DaemonSets and
of the kubelet itself (mirror and static pods) go with their node, and terminating pods go anyway, so they do not count,
nor do pods that the strategy's own arguments leave out. Everything else on the node must go: one pod that the evictor
protects, that a budget or a limit holds back, or that has no place on the nodes that take pods, keeps all the others.

Three kinds of nodes take pods: those that the strategy fills; those that are to be emptied and keep a protected pod, so that
they are there to stay; and, of the nodes that have pods for which none of these has a place, the fuller ones. So nodes
that are alike and hardly used, with GPUs for example, are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_columns import PodColumn
from restow.cluster.pod_values import Flag
from restow.cluster.usage import Amounts
from restow.descheduling.framework import PendingFilters, Proposal, Suggestion, Suggestions, Verdict, View
from restow.descheduling.node_utilization.eviction import Transfer, add, has_room, lower_room, relieve, room_on
from restow.descheduling.node_utilization.headroom import Figures
from restow.descheduling.node_walk import low_to_high
from restow.descheduling.protections import flagged, of_daemon_sets
from restow.policies.codes import PlacementConstraint

#: Which of some pods something is true of, bool[len(pods)].
_PodTest = Callable[[IntArray], BoolArray]
#: The decisions on the proposals about one node.
_Asking = Generator[Suggestion | Proposal, Verdict, Verdict]


def staying(view: View, movable: PodColumn[np.bool_], sources: Sequence[int]) -> list[int]:
    """The sources that take pods and cannot be emptied, since the evictor protects a pod there that would have to go."""
    state, nodes = view.state, view.state.cluster.nodes
    pods = np.flatnonzero(state.holds_resources() & np.isin(state.node, sources))
    pods = pods[movable.of(pods) & ~_apart(view)(pods)]
    found: IntArray = np.unique(state.node[pods[~view.evictable(pods)]])
    open_nodes: list[int] = found[~nodes.unschedulable[found] & ~view.closed[found]].tolist()
    return open_nodes


def empty(view: View, task: Transfer, ceilings: dict[int, Amounts]) -> Suggestions:
    """Propose for each source in turn that all of its pods move, then for those whose pods have no place that they merge.

    ``ceilings`` are those of the sources and the destinations.
    """
    apart = _apart(view)
    crowded: list[int] = []
    for node in task.sources:
        if not has_room(task):
            break
        verdict = yield from _empty_one(view, task, apart, node)
        if verdict is Verdict.TOTAL_LIMIT:
            return
        if verdict is Verdict.NO_PLACE:
            crowded.append(node)
    room = room_on((*task.destinations, *crowded), task.usage, ceilings)
    yield from _merge(view, replace(task, sources=crowded, room=room), apart)


def _merge(view: View, task: Transfer, apart: _PodTest) -> Suggestions:
    """Propose for each source in turn that its pods move to the destinations and to sources at least as full that are left.

    Fuller ones do not give to emptier ones, so no later plan moves a pod back.
    """
    left = np.isin(np.arange(len(view.is_listed)), task.sources)
    fuller = np.zeros_like(left)
    merging = replace(task, takes=lambda used, nodes: task.takes(used, nodes) | fuller[nodes])
    for node in task.sources:
        others = np.flatnonzero(left)
        fuller[:] = False
        fuller[others[~task.worse(node, others)]] = True
        verdict = yield from _empty_one(view, merging, apart, node)
        if verdict is Verdict.TOTAL_LIMIT:
            return
        left[node] = verdict is not Verdict.EVICTED


def _empty_one(view: View, task: Transfer, apart: _PodTest, node: int) -> _Asking:
    """Propose that all pods of a node move; if they do, suggest those that do not count one by one."""
    pods = view.state.pods_on(node)
    pods = pods[task.movable.of(pods)]
    stays_out = apart(pods)
    going = low_to_high(view.pods, pods[~stays_out])
    verdict = Verdict.EVICTED
    if len(going):
        underway = _Underway(view, task, node, going)
        verdict = yield underway.proposal()
        underway.catch_up()
    if verdict is Verdict.EVICTED and (yield from relieve(view, task, node, view.removable(pods[stays_out]))):
        return Verdict.TOTAL_LIMIT
    return verdict


def _apart(view: View) -> _PodTest:
    """Which of some pods do not count when it is asked whether a node is empty."""
    of_daemon_set = of_daemon_sets(view.state.cluster)
    flagged_apart = flagged(view.pods, Flag.MIRROR | Flag.STATIC | Flag.TERMINATING)
    return lambda pods: of_daemon_set.of(pods) | flagged_apart.of(pods)


class _Underway:
    """The pods of one node while it is found out whether all of them can move.

    Each pod counts where it is at that moment. So the next one finds the fullest node on the state that those before it
    leave, and nothing has changed if one of them cannot move.
    """

    def __init__(self, view: View, task: Transfer, node: int, pods: IntArray) -> None:
        self._view = view
        self._task = task
        self._source = node
        #: What each pod uses, and the node that it is counted on.
        self._used = {pod: task.usage.of_pod(pod) if task.usage.of_pod else None for pod in pods.tolist()}
        self._counted = dict.fromkeys(self._used, node)

    def proposal(self) -> Proposal:
        """The proposal that all pods move."""
        reason = self._task.why(self._source) or ""
        wanted = (
            Suggestion(
                pod,
                reason,
                PlacementConstraint.BETTER,
                PendingFilters.ALL,
                partial(self._task.takes, used),
                partial(self._task.worse, self._source),
                partial(self._cost, used),
            )
            for pod, used in self._used.items()
        )
        return Proposal(tuple(wanted), f"empty {self._view.state.cluster.nodes.names[self._source]}")

    def catch_up(self) -> None:
        """Count every pod, or its replacement, where it is now."""
        for pod, used in self._used.items():
            before, now = self._counted[pod], self._now(pod)
            if used is not None and before != now:
                self._counted[pod] = now
                add(self._task.usage, before, used, -1)
                add(self._task.usage, now, used, 1)
                if self._source in (before, now):
                    lower_room(self._task, used, 1 if before == self._source else -1)

    def _now(self, pod: int) -> int:
        state = self._view.state
        return int(state.node[pod if state.exists[pod] else state.cluster.pods.replaced_by[pod]])

    def _cost(self, used: Mapping[str, int] | None, nodes: IntArray) -> Figures:
        self.catch_up()
        return self._task.cost(used, nodes)
