"""The pods that a more important pod may push aside, node by node.

All pods of lower priority on a node are potential victims. They are *reprieved* one by one: first those that a budget
protects, then the others, each time the more important before the less important (``victim_units``). Since 1.37 pods may
be one victim together, with pods on other nodes. Source: SelectVictimsOnNode, Kubernetes 1.36 and 1.37.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from restow.cluster.budgets import covered_groups
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.state import ClusterState
from restow.kube.objects import Condition, LabelSelector, PodDisruptionBudget
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.extension_points import NO_PODS, UsagePlugin
from restow.scheduling.preemption.candidates import NO_CANDIDATES, Candidates
from restow.scheduling.preemption.victim_units import Units, VictimUnits, expanded, one_each

_BUDGET: Final = "PodDisruptionBudget"
_NO_NODES: Final[IntArray] = np.zeros(0, dtype=np.int64)
#: On up to this many nodes, pods are looked up node by node.
_FEW = 64

#: How many pods run on some nodes, int64[node], and what they request, int64[resource, node].
Usage = tuple[IntArray, npt.NDArray[np.int64]]


@dataclass(slots=True, frozen=True)
class PotentialVictims:
    """Potential victims on some nodes: those of ``nodes[i]`` are ``pods[first[i]:first[i + 1]]``."""

    nodes: IntArray
    first: IntArray
    #: One of each victim, on the node, in the order in which they are reprieved.
    pods: IntArray
    #: How many pods of each victim exceed a budget.
    violations: IntArray
    #: All pods that go with some of them.
    units: Units

    def of(self, position: int) -> slice:
        """Where the pods of ``nodes[position]`` are."""
        return slice(int(self.first[position]), int(self.first[position + 1]))

    def on(self, wanted: BoolArray) -> PotentialVictims:
        """Those on some of the nodes, bool[len(nodes)]."""
        counted = np.diff(self.first)
        kept = np.repeat(wanted, counted)
        first = np.concatenate([[0], np.cumsum(counted[wanted])])
        return PotentialVictims(self.nodes[wanted], first, self.pods[kept], self.violations[kept], self.units)


# A budget counts in the pod's namespace if its selector asks for something and matches; a pod without labels is under
# no budget, and neither is one whose disruption the budget knows already. That is not how evictions read a budget.
# Pods that would exceed what the status of a budget allows are *violating*: they are spared first, but not at any price.
# Source: filterPodsWithPDBViolation, Kubernetes 1.36.
class VictimBudgets:
    """The budgets of one state, by pod."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pods = context.state.cluster.pods
        #: The version of the budgets below; they are none before they are first looked at.
        self._version = -1
        self._counting: list[PodDisruptionBudget] = []
        #: How many pods of each budget may go.
        self._allowed: IntArray = np.zeros(0, dtype=np.int64)
        #: Budgets by group of pods that are labelled alike.
        self._of_group: defaultdict[int, list[int]] = defaultdict(list)
        self._known_groups = 0

    def catch_up(self) -> IntArray:
        """Go by the budgets as they are now; returns the nodes with pods for which that makes a difference."""
        state = self._context.state
        if state.version(_BUDGET) == self._version:
            return _NO_NODES
        self._version = state.version(_BUDGET)
        before, budgets = self._counting, state.cluster.kind(_BUDGET).values()
        self._counting = [each for each in budgets if _asks_for_something(each.spec.selector)]
        self._allowed = np.array([each.status.disruptions_allowed for each in self._counting], dtype=np.int64)
        if list(map(_selection, before)) != list(map(_selection, self._counting)):
            self._of_group.clear()
            self._known_groups = 0
            return np.arange(len(state.cluster.nodes))
        pairs = enumerate(zip(before, self._counting, strict=True))
        return self._nodes_under({number for number, (old, new) in pairs if _said(old) != _said(new)})

    def violating(self, pods: IntArray, group: IntArray) -> BoolArray:
        """Which pods exceed a budget if all of their group go, in this order; groups are numbered in ascending order."""
        violating = np.zeros(len(pods), dtype=bool)
        if len(self._allowed) == 0:
            return violating
        self._meet_groups()
        # One entry for each pod and each of its budgets, in order of the pods.
        entries = [(at, each) for at, pod in enumerate(pods.tolist()) for each in self._budgets_of(pod)]
        if not entries:
            return violating
        place, budget = np.array(entries, dtype=np.int64).T
        order = np.lexsort((place, group[place], budget))
        place, budget = place[order], budget[order]
        begins = np.flatnonzero(np.diff(budget, prepend=-1) | np.diff(group[place], prepend=-1))
        before = np.arange(len(place)) - np.repeat(begins, np.diff(begins, append=len(place)))
        violating[place[before >= self._allowed[budget]]] = True
        return violating

    def _nodes_under(self, budgets: set[int]) -> IntArray:
        """The nodes with pods that count in some budgets."""
        groups = [group for group, numbers in self._of_group.items() if not budgets.isdisjoint(numbers)]
        pods = self._context.labels.groups.of_groups(groups)
        nodes = self._context.state.node[pods[self._context.state.exists[pods]]]
        return np.unique(nodes[nodes >= 0])

    def _budgets_of(self, pod: int) -> Iterator[int]:
        """The budgets that a pod counts in."""
        for each in self._of_group.get(self._context.labels.groups.values[pod], ()):
            if self._pods.names[pod] not in (self._counting[each].status.disrupted_pods or {}):
                yield each

    def _meet_groups(self) -> None:
        """Find the budgets of new groups."""
        labels, known = self._context.labels, self._known_groups
        self._known_groups = len(labels.groups)
        if known == self._known_groups:
            return
        for number, budget in enumerate(self._counting):
            for group in covered_groups(budget, self._context.state.cluster, labels):
                if group >= known and labels.labels(group):
                    self._of_group[group].append(number)


def leaves_for_others(state: ClusterState, pod: int) -> bool:
    """Whether a pod is on its way out because another one preempted it."""
    pods = state.cluster.pods
    conditions = pods.tables.conditions[pods.conditions[pod]]
    return bool(state.terminating[pod]) and any(map(_shows_preemption, conditions))


def _shows_preemption(condition: Condition) -> bool:
    shown = (condition.type, condition.status, condition.reason)
    return shown == ("DisruptionTarget", "True", "PreemptionByScheduler")


class VictimSearch:
    """Finds the potential victims on one state, by its budgets at each moment."""

    def __init__(self, context: Context) -> None:
        self._state = context.state
        self._disruption = VictimBudgets(context)
        #: Which pods go together.
        self.units = VictimUnits(context)
        self._followers: list[Callable[[IntArray], object]] = []

    def follow(self, follower: Callable[[IntArray], object]) -> None:
        """Call ``follower`` after budgets or groups changed, with the nodes where victims are others or violate others."""
        self._followers.append(follower)

    def catch_up(self) -> None:
        """Check whether budgets changed, or what goes together, and call the followers."""
        nodes = self._disruption.catch_up()
        if self.units:
            nodes = np.union1d(self.units.reach(nodes), self.units.catch_up())
        if len(nodes):
            for follower in self._followers:
                follower(nodes)

    def potential(self, priority: int, nodes: IntArray) -> PotentialVictims:
        """The victims of less than a priority on some nodes (in order of their names)."""
        self.catch_up()
        lower, group = self._below(priority, nodes)
        units = self.units.of(lower)
        lower, group = one_each(lower, group, units)
        order = self.units.by_importance(lower, group, units)
        lower, group = lower[order], group[order]
        pods, owner = expanded(lower, units)
        violations = np.bincount(owner[self._disruption.violating(pods, group[owner])], minlength=len(lower))
        if violations.any():
            spared = np.lexsort((violations == 0, group))
            lower, violations = lower[spared], violations[spared]
        first = np.searchsorted(group, np.arange(len(nodes) + 1))
        return PotentialVictims(nodes, first, lower, violations, units)

    def candidates(self, potential: PotentialVictims, victims: BoolArray) -> Candidates:
        """The nodes that have victims."""
        if not victims.any():
            return NO_CANDIDATES
        chosen = np.flatnonzero(victims)
        group = np.searchsorted(potential.first, chosen, side="right") - 1
        order = self.units.by_importance(potential.pods[chosen], group, potential.units)
        chosen, group = chosen[order], group[order]
        pods, owner = expanded(potential.pods[chosen], potential.units)
        home, count = group[owner], len(potential.nodes)
        counted = np.bincount(home, minlength=count)
        having = np.flatnonzero(counted)
        violations = np.bincount(np.repeat(group, potential.violations[chosen]), minlength=count)
        elsewhere = np.bincount(home[self._state.node[pods] != potential.nodes[home]], minlength=count) > 0
        return Candidates(
            nodes=potential.nodes[having],
            first=np.concatenate(([0], np.cumsum(counted[having]))),
            victims=pods,
            violations=violations[having],
            elsewhere=elsewhere[having],
        )

    def _below(self, priority: int, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """The pods of a lower priority on some nodes, and for each the place of its node among them."""
        state = self._state
        if len(nodes) <= _FEW:
            residents = [state.pods_on(node) for node in nodes.tolist()]
            pods = np.concatenate([NO_PODS, *residents])
            group = np.repeat(np.arange(len(nodes)), [len(each) for each in residents])
            below = self.units.priorities(pods) < priority
            return pods[below], group[below]
        position = np.full(len(state.cluster.nodes), -1)
        position[nodes] = np.arange(len(nodes))
        pods = np.flatnonzero((state.node >= 0) & state.holds_resources())
        pods = pods[self.units.priorities(pods) < priority]
        group = position[state.node[pods]]
        return pods[group >= 0], group[group >= 0]


def _asks_for_something(selector: LabelSelector | None) -> bool:
    return selector is not None and bool(selector.match_labels or selector.match_expressions)


def _selection(budget: PodDisruptionBudget) -> tuple[str, LabelSelector | None]:
    """What says which pods count in a budget."""
    return budget.metadata.namespace, budget.spec.selector


def _said(budget: PodDisruptionBudget) -> tuple[int, Mapping[str, object]]:
    """A budget's state now: how many disruptions it allows, and ``disruptedPods``."""
    return budget.status.disruptions_allowed, budget.status.disrupted_pods or {}


def _held(state: ClusterState, potential: PotentialVictims) -> Usage:
    """How many pods each potential victim has on its node, int64[victim], and what they hold, int64[resource, victim]."""
    vectors = state.request_vectors()
    if not potential.units:
        return np.ones(len(potential.pods), dtype=np.int64), vectors[state.held[potential.pods]].T
    pods, owner = expanded(potential.pods, potential.units)
    here = state.node[pods] == np.repeat(potential.nodes, np.diff(potential.first))[owner]
    pods, owner = pods[here], owner[here]
    held = np.zeros((len(potential.pods), vectors.shape[1]), dtype=np.int64)
    np.add.at(held, owner, vectors[state.held[pods]])
    return np.bincount(owner, minlength=len(potential.pods)), held.T


# All potential victims leave, and in each turn one of each node returns if the pod still fits next to it. Source:
# SelectVictimsOnNode, Kubernetes 1.36 and 1.37.
def without(state: ClusterState, potential: PotentialVictims, usage: Usage) -> Usage:
    """The usage of the nodes without their potential victims; ``usage`` is used up."""
    running, requested = usage
    sizes, vectors = _held(state, potential)
    group = np.repeat(np.arange(len(potential.nodes)), np.diff(potential.first))
    np.subtract.at(running, group, sizes)
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
    sizes, vectors = _held(state, potential)
    victims = np.zeros(len(potential.pods), dtype=bool)
    left = np.flatnonzero(fits & (counted > 0))
    for turn in range(int(counted.max(initial=0))):
        left = left[counted[left] > turn]
        position = potential.first[left] + turn
        running[left] += sizes[position]
        requested[:, left] += vectors[:, position]
        over = ~plugin.fits(pod, nodes[left], running[left], requested[:, left])
        victims[position[over]] = True
        running[left[over]] -= sizes[position[over]]
        requested[:, left[over]] -= vectors[:, position[over]]
    return victims
