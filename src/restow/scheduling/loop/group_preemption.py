"""What a whole group would preempt: the pods of lower priority, in all of the cluster, that have to go for it.

All such pods leave. If the group finds its nodes then, they are reprieved one by one, or with those that they have to go
with: first those that a budget protects, then the others, each time the more important first (``victim_units``). One is
spared if every pod of the group still passes on its node.
Source: PodGroupEvaluator, newDomainForWorkloadPreemption and FilterVictimsWithPDBViolation, Kubernetes 1.37.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from restow.cluster.pod_values import Flag
from restow.cluster.pods import PENDING
from restow.kube.objects import PodGroup
from restow.scheduling.framework.prefiltering import PreFilterResult
from restow.scheduling.framework.scheduling_groups import topology_of
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.plugins.default_preemption import NAME as PREEMPTION
from restow.scheduling.plugins.dynamic_resources import NAME as DYNAMIC_RESOURCES
from restow.scheduling.preemption.victim_units import Unit, VictimUnits, one_each, separated
from restow.scheduling.preemption.victims import VictimBudgets, leaves_for_others

#: Pods, and the node where each is assumed.
Placements = list[tuple[int, int]]

#: The plugins to ask about a pod, and the node where it is.
_Asked = tuple[PreFilterResult, int]

_PREFIX: Final = "pod group preemption: "
#: What DynamicResources says of a group that need not share a domain, whatever claims its pods have.
_CLAIMS: Final = "deallocation and deletion of ResourceClaims completed"


@dataclass(slots=True, frozen=True)
class GroupPreemption:
    """What preemption can do for a group."""

    #: What the group is told of it; empty where its scheduler does not preempt.
    message: str = ""
    #: Whether it can be scheduled once the victims are gone.
    helps: bool = False
    #: The nodes that are kept for its pods until then.
    nominated: Mapping[int, int] = field(default_factory=dict)
    #: The pods that have to go, the most important first.
    victims: tuple[int, ...] = ()


def preempt(
    schedulers: Schedulers, group: PodGroup, pods: Sequence[int], place: Callable[[], tuple[Placements, str]]
) -> GroupPreemption:
    """What a group can preempt for its pods, one at least; the state is the same afterwards.

    ``place`` says where the pods go on the state as it is, on which it may leave them, or why the group gets no nodes.
    """
    state, asked_last = schedulers.context.state, schedulers.scheduler_of(pods[0]).asked_last
    priority = group.spec.priority
    before = _CLAIMS if DYNAMIC_RESOURCES in asked_last and not topology_of(group) else ""
    if PREEMPTION not in asked_last:
        return GroupPreemption(before)
    if state.cluster.pods.carries(pods[0], Flag.NEVER_PREEMPTS):
        return _in_vain(before, "not eligible due to preemptionPolicy=Never.")
    nominated = {pod: schedulers.nominations.node(pod) for pod in pods}
    if any(_is_being_cleared(schedulers, node, priority) for node in {*nominated.values()} - {PENDING}):
        return GroupPreemption(f"{_PREFIX}ongoing preemption on nominated nodes", True, nominated)
    lower = _lower_units(schedulers, priority)
    if not lower:
        return _in_vain("", "No preemption victims found for incoming preemptor")
    found, why = _found(schedulers, lower, place)
    return _in_vain(before, why) if why else found


def _in_vain(before: str, why: str) -> GroupPreemption:
    """Preemption that does not help, with what the plugin before it said."""
    return GroupPreemption(", ".join(filter(None, (before, f"{_PREFIX}{why}"))))


def _is_being_cleared(schedulers: Schedulers, node: int, priority: int) -> bool:
    """Whether pods of less than a priority leave a node because others preempted them."""
    state = schedulers.context.state
    leaving = (each for each in state.pods_on(node).tolist() if leaves_for_others(state, each))
    return any(_priority_of(schedulers, each) < priority for each in leaving)


def _priority_of(schedulers: Schedulers, pod: int) -> int:
    """The priority of a pod as a victim."""
    return int(schedulers.context.shared(VictimUnits).priorities(np.array([pod]))[0])


def _lower_units(schedulers: Schedulers, priority: int) -> list[Unit]:
    """All victims of less than a priority, the more important first; equals by name."""
    state, known = schedulers.context.state, schedulers.context.shared(VictimUnits)
    placed = np.flatnonzero(state.holds_resources() & (state.node >= 0))
    lower = placed[known.priorities(placed) < priority]
    units, everywhere = known.of(lower), np.zeros(len(lower), dtype=np.int64)
    lower, everywhere = one_each(lower, everywhere, units)
    lower = lower[known.by_importance(lower, everywhere, units)]
    return separated(lower, units)


def _as_reprieved(schedulers: Schedulers, units: Sequence[Unit]) -> list[Unit]:
    """The same in the order in which they are reprieved: first those of which a budget protects some pod."""
    budgets = schedulers.context.shared(VictimBudgets)
    budgets.catch_up()
    pods = np.array([pod for unit in units for pod in unit], dtype=np.int64)
    violating = set(pods[budgets.violating(pods, np.zeros(len(pods), dtype=np.int64))].tolist())
    return sorted(units, key=violating.isdisjoint)


def _found(
    schedulers: Schedulers, lower: Sequence[Unit], place: Callable[[], tuple[Placements, str]]
) -> tuple[GroupPreemption, str]:
    """Who has to go, or why nobody helps by that."""
    state, order = schedulers.context.state, _as_reprieved(schedulers, lower)
    homes = {pod: int(state.node[pod]) for unit in order for pod in unit}
    with schedulers.taken_back():
        for pod in homes:
            state.remove(pod)
        with schedulers.taken_back():
            placements, why = place()
        if why:
            return GroupPreemption(), why
        asked = _asked(schedulers, placements)
        is_local = all(schedulers.scheduler_of(plugins.pod).is_local(plugins) for plugins, _ in asked)
        by_node = _by_node(asked) if is_local else None
        going = {
            unit for unit in order if not _is_spared(schedulers, unit, homes, _concerned(asked, by_node, unit, homes))
        }
    victims = tuple(pod for unit in lower if unit in going for pod in unit)
    found = f"{_PREFIX}found a placement for podgroup, preempting {len(victims)} victims"
    return GroupPreemption(found, True, dict(placements), victims), ""


def _concerned(
    asked: Sequence[_Asked], by_node: Mapping[int, Sequence[_Asked]] | None, unit: Unit, homes: Mapping[int, int]
) -> Sequence[_Asked]:
    """Whom to ask when some pods come back: all, or where only their own nodes matter (``by_node``), those that are there."""
    nodes = {homes[pod] for pod in unit}
    if by_node is None:
        return asked
    return by_node[nodes.pop()] if len(nodes) == 1 else [each for each in asked if each[1] in nodes]


def _by_node(asked: Sequence[_Asked]) -> Mapping[int, Sequence[_Asked]]:
    by_node: defaultdict[int, list[_Asked]] = defaultdict(list)
    for each in asked:
        by_node[each[1]].append(each)
    return by_node


# What a plugin found to have nothing to say of while all potential victims were away, it is not asked about when they
# come back, although a pod's terms about others may matter again then. So it is in Kubernetes 1.37.
def _asked(schedulers: Schedulers, placements: Placements) -> list[_Asked]:
    """The plugins to ask about each pod on its node, which have something to say of it now."""
    asked: list[_Asked] = []
    with schedulers.taken_back():
        for pod, node in placements:
            asked.append((schedulers.scheduler_of(pod).prefilter(pod), node))
            schedulers.assume(pod, node)
    return asked


def _is_spared(schedulers: Schedulers, unit: Unit, homes: Mapping[int, int], asked: Sequence[_Asked]) -> bool:
    """Whether the pods of the group that it concerns still pass with these back on their nodes, where they stay if they do."""
    state = schedulers.context.state
    before = state.checkpoint()
    for pod in unit:
        state.place(pod, homes[pod])
    if not asked:
        return True
    with schedulers.taken_back():
        fits = all(_passes(schedulers, plugins, target) for plugins, target in asked)
    if not fits:
        state.undo(before)
    return fits


def _passes(schedulers: Schedulers, asked: PreFilterResult, node: int) -> bool:
    """Whether a pod passes on a node; it is assumed there then, for the pods that come after it."""
    passes = schedulers.scheduler_of(asked.pod).passes(asked, node)
    if passes:
        schedulers.assume(asked.pod, node)
    return passes
