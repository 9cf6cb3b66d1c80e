"""Moves pods from source nodes towards destination nodes until enough have moved or nothing more fits.

What the destinations can still take is one sum for each resource, shared by all sources; it counts every tracked
resource, also those without a threshold, so one that is exhausted (memory full, no pod slot left) ends everything.
Which destination a pod reaches is not decided here; only that it tolerates the taints of some destination. Source:
Descheduler 0.36, plugins/nodeutilization.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.usage import Amounts
from restow.descheduling.framework import PendingFilters, Suggestion, Suggestions, Verdict, View
from restow.descheduling.node_utilization.headroom import Figures
from restow.descheduling.node_utilization.usage import Usage
from restow.descheduling.node_walk import low_to_high
from restow.kube.taints import all_tolerated
from restow.policies.arguments import Namespaces
from restow.policies.codes import PlacementConstraint


@dataclass(slots=True, frozen=True)
class Transfer:
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
    for node in task.sources:
        if not has_room(task):
            return
        if task.why(node) is None:
            continue
        pods = view.state.pods_on(node)
        pods = view.removable(pods[task.movable.of(pods) & accepts[view.pods.tolerations[pods]]])
        if (yield from relieve(view, task, node, low_to_high(view.pods, pods))):
            return


def relieve(view: View, task: Transfer, node: int, pods: IntArray) -> Generator[Suggestion, Verdict, bool]:
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
                lower_room(task, used, 1)
                add(task.usage, view.landing_of(pod), used, 1)
                reason = task.why(node)
    return False


def has_room(task: Transfer) -> bool:
    """Whether the destinations have something left of every resource."""
    return all(amount > 0 for amount in task.room.values())


def lower_room(task: Transfer, used: Mapping[str, int], times: int) -> None:
    """Subtract a pod's usage from what the destinations can take; with -1, add it again."""
    for name in task.usage.names:
        task.room[name] -= times * used[name]


def add(usage: Usage, node: int, used: Mapping[str, int], times: int) -> None:
    """Count a pod that comes to a node, or leaves it (-1); ignored if the usage of the node is unknown."""
    amounts = usage.by_node.get(node)
    if amounts is not None:
        for name in usage.names:
            amounts[name] += times * used[name]
        usage.changes.append(node)


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
