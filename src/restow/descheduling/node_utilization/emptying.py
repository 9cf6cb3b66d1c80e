"""Empties nodes if the plan chooses the targets: all pods of a node move together, or none of them.

A node that keeps one of its pods cannot be taken away, so moving the others would gain nothing. The pods of DaemonSets and
of the kubelet itself (mirror and static pods) go with their node, and terminating pods go anyway, so they do not count, nor
do pods that the strategy's own arguments leave out. Everything else on the node must go: one pod that the evictor protects, that a budget or a limit holds
back, or that has no place on the nodes that take pods, keeps all the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from restow.cluster.interning import IntArray
from restow.cluster.pods import Flag
from restow.descheduling.eviction_order import low_to_high
from restow.descheduling.framework import PendingFilters, Proposal, Suggestion, Suggestions, Verdict, View
from restow.descheduling.node_utilization.eviction import Transfer, add, has_room, lower_room, relieve
from restow.descheduling.node_utilization.headroom import Figures
from restow.descheduling.protections import flagged, of_daemon_sets
from restow.policies.codes import PlacementConstraint


def empty(view: View, task: Transfer) -> Suggestions:
    """Propose for each source in turn that all of its pods move; then suggest those that do not count one by one."""
    of_daemon_set = of_daemon_sets(view.state.cluster)
    flagged_apart = flagged(view.pods, Flag.MIRROR | Flag.STATIC | Flag.TERMINATING)
    for node in task.sources:
        if not has_room(task):
            return
        pods = view.state.pods_on(node)
        pods = pods[task.movable.of(pods)]
        apart = of_daemon_set.of(pods) | flagged_apart.of(pods)
        going = low_to_high(view.pods, pods[~apart])
        if len(going):
            underway = _Underway(view, task, node, going)
            verdict = yield underway.proposal()
            underway.catch_up()
            if verdict is Verdict.TOTAL_LIMIT:
                return
            if verdict is not Verdict.EVICTED:
                continue
        if (yield from relieve(view, task, node, view.removable(pods[apart]))):
            return


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
