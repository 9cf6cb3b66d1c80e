"""Moves pods from source nodes towards destination nodes: one by one until enough have moved, or a whole node at a time.

``transfer`` is upstream's way. What the destinations can still take is one sum for each resource, shared by all sources; it
counts every tracked resource, also those without a threshold, so one that is exhausted (memory full, no pod slot left) ends
everything. Which destination a pod reaches is not decided here. Source: Descheduler 0.36, plugins/nodeutilization.

``empty`` is for plans that choose where replacements land. A node that keeps one of its pods cannot be taken away, so moving
the others would gain nothing. The pods of DaemonSets and of the kubelet itself (mirror and static pods) go with their
node, and terminating pods go anyway, so they do not count, nor do pods that the strategy's own arguments leave out.
Everything else on the node must go: one pod that the evictor protects, that a budget or a limit holds back, or that has no
place on the nodes that take pods, keeps all the others.

Three kinds of nodes take pods: those that the strategy fills; those that are to be emptied and keep a protected pod, so that
they are there to stay; and, of the nodes that have pods for which none of these has a place, the fuller ones. So nodes
that are alike and hardly used, with GPUs for example, are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct, structs

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.pod_values import Flag
from restow.descheduling.framework import (
    PendingFilters,
    PodTest,
    Proposal,
    Suggestion,
    Suggestions,
    Verdict,
    View,
    low_to_high,
)
from restow.descheduling.node_utilization.thresholds import Figures
from restow.descheduling.node_utilization.usage import Usage, add
from restow.descheduling.protections import flagged, of_daemon_sets
from restow.kube.taints import all_tolerated
from restow.policies.arguments import Namespaces
from restow.policies.codes import PlacementConstraint
from restow.usage.measured import Amounts


class Transfer(Struct, frozen=True):
    """Which pods move from where to where, and within which bounds."""

    usage: Usage
    #: In the order in which they give up pods.
    sources: Sequence[int]
    destinations: Sequence[int]
    #: What the destinations can still take, in nano-units; lowered as pods go.
    room: Amounts
    #: Why a source must still give up pods; None if it need not.
    why: Callable[[int], str | None]
    #: Which pods may be suggested at all.
    movable: PodColumn[np.bool_]
    #: Which of some nodes are accepted as landing places for a pod with this usage (None if its usage is not known).
    takes: Callable[[Mapping[str, int] | None, IntArray], BoolArray]
    #: On which of some nodes a pod of a source would do harm, because they are fuller than the source was.
    worse: Callable[[int, IntArray], BoolArray]
    #: The cost of one more pod on each of some nodes: the strategy prefers the lowest.
    cost: Callable[[Mapping[str, int] | None, IntArray], Figures]
    #: Evictions from one source, unlimited if None.
    limit: int | None = None


def room_on(destinations: Iterable[int], usage: Usage, ceilings: dict[int, Amounts]) -> Amounts:
    """What these nodes together can take until they reach their ceilings; negative if they exceed them."""
    room = dict.fromkeys(usage.names, 0)
    for node in destinations:
        used, ceiling = usage.by_node[node], ceilings[node]
        for name in usage.names:
            room[name] += ceiling[name] - used[name]
    return room


def evictable_in(view: View, namespaces: Namespaces | None) -> PodColumn[np.bool_]:
    """Which pods are outside the namespaces that a policy excludes; those that it includes are ignored, as upstream does."""
    excluded = frozenset(namespaces.exclude if namespaces else ())
    return by_value(view.pods, "namespace", "namespaces", lambda names: [name not in excluded for name in names])


def transfer(view: View, task: Transfer) -> Suggestions:
    """Suggest pods of each source in turn."""
    accepts = _tolerating(view, task.destinations)
    exhausted = [name for name, amount in task.room.items() if amount <= 0]
    if exhausted:
        view.note(f"the nodes that could take pods have no {', '.join(exhausted)} left up to their ceilings")
    due = view.due_nodes()
    for node in task.sources:
        if due is not None and node not in due:
            continue
        if not has_room(task):
            return
        if task.why(node) is None:
            continue
        pods = view.due(view.state.pods_on(node))
        pods = view.removable(pods[task.movable.of(pods) & accepts[view.pods.tolerations[pods]]])
        if (yield from _relieve(view, task, node, low_to_high(view.pods, pods))):
            return
        due = view.due_nodes()


def _relieve(view: View, task: Transfer, node: int, pods: IntArray) -> Generator[Suggestion, Verdict, bool]:
    """Suggest pods of one source while it needs relief; returns whether the limit of the cycle is reached."""
    evicted = view.moved_from(node)
    reason = task.why(node)
    for pod in pods.tolist():
        if reason is None or not has_room(task) or (task.limit is not None and evicted >= task.limit):
            break
        used = task.usage.of_pod(pod) if task.usage.of_pod else None
        if used is None and task.usage.of_pod:
            continue
        where = partial(task.takes, used), partial(task.worse, node), partial(task.cost, used)
        measured = used if task.usage.origins else None
        pending = PendingFilters.PRE_EVICTION
        verdict = yield Suggestion(pod, reason, PlacementConstraint.BETTER, pending, *where, used=measured)
        if verdict is Verdict.TOTAL_LIMIT:
            return True
        if verdict is Verdict.NODE_LIMIT:
            break
        if verdict is Verdict.EVICTED:
            evicted += 1
            if used is not None:
                add(task.usage, node, used, -1)
                # What the destinations can take is lowered when a pod goes, no matter where it lands.
                _lower_room(task, used, 1)
                add(task.usage, view.landing_of(pod), used, 1)
                reason = task.why(node)
    return False


def has_room(task: Transfer) -> bool:
    """Whether the destinations have something left of every resource."""
    return all(amount > 0 for amount in task.room.values())


def _lower_room(task: Transfer, used: Mapping[str, int], times: int) -> None:
    """Subtract a pod's usage from what the destinations can take; with -1, add it again."""
    for name in task.usage.names:
        task.room[name] -= times * used[name]


def _tolerating(view: View, destinations: Iterable[int]) -> BoolArray:
    """Which toleration lists could land on some destination, bool[tolerations].

    Two quirks of upstream: taints of every effect count, and a list shorter than a node's taints never tolerates them,
    even if it is one that matches everything.
    """
    nodes = view.state.cluster.nodes
    lasting = nodes.lasting_taint_sets()
    taint_sets = [lasting[identifier] for identifier in {int(nodes.taints[node]) for node in destinations}]
    accepts = [
        any(len(patterns) >= len(taints) and all_tolerated(patterns, taints) for taints in taint_sets)
        for patterns in view.pods.tables.tolerations
    ]
    return np.array(accepts, dtype=bool)


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
    yield from _merge(view, structs.replace(task, sources=crowded, room=room), apart)


def _merge(view: View, task: Transfer, apart: PodTest) -> Suggestions:
    """Propose for each source in turn that its pods move to the destinations and to sources at least as full that are left.

    Fuller ones do not give to emptier ones, so no later plan moves a pod back.
    """
    left = np.isin(np.arange(len(view.is_listed)), task.sources)
    fuller = np.zeros_like(left)
    merging = structs.replace(task, takes=lambda used, nodes: task.takes(used, nodes) | fuller[nodes])
    for node in task.sources:
        others = np.flatnonzero(left)
        fuller[:] = False
        fuller[others[~task.worse(node, others)]] = True
        verdict = yield from _empty_one(view, merging, apart, node)
        if verdict is Verdict.TOTAL_LIMIT:
            return
        left[node] = verdict is not Verdict.EVICTED


def _empty_one(view: View, task: Transfer, apart: PodTest, node: int) -> _Asking:
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
    if verdict is Verdict.EVICTED and (yield from _relieve(view, task, node, view.removable(pods[stays_out]))):
        return Verdict.TOTAL_LIMIT
    return verdict


def _apart(view: View) -> PodTest:
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
                    _lower_room(self._task, used, 1 if before == self._source else -1)

    def _now(self, pod: int) -> int:
        state = self._view.state
        return int(state.node[pod if state.exists[pod] else state.cluster.pods.replaced_by[pod]])

    def _cost(self, used: Mapping[str, int] | None, nodes: IntArray) -> Figures:
        self.catch_up()
        return self._task.cost(used, nodes)
