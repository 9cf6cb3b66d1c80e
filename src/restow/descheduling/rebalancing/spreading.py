"""Restores the topology spread of workloads with the fewest moves, constraint by constraint.

A constraint is kept if each domain has at least ``low`` pods and at most its skew more. Of all such bounds those are
taken that need the fewest moves: the more of what stands above the upper bound and what lacks to the lower one. A
move is worth what it takes off that, over all constraints that count its pod, so a pod that is too many in its zone and
on its node goes where both are mended. The pods are counted as kube-scheduler counts them, whether they may move or not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IdArray, IntArray
from restow.cluster.nodes import NO_LABEL
from restow.cluster.pods import NO_POD
from restow.descheduling.framework import PendingFilters, Suggestion, Suggestions, Verdict, View, low_to_high
from restow.descheduling.plan import GoalResult
from restow.descheduling.rebalancing.arguments import RebalanceArgs
from restow.descheduling.topology_spread import Balancer, SpreadConstraint, spread_constraints
from restow.policies.codes import PlacementConstraint

#: What the value counts.
UNIT: Final = "pods beyond their topology spread"

_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
#: From so many nodes at a time a pod is looked for; those that have most too many come first.
_SOURCES: Final = 16
#: After so many refusals for want of a place, pods that are alike stay.
_PATIENCE: Final = 3


@dataclass(slots=True)
class _Spread:
    """A constraint, its bounds, and how many pods each of its domains has now."""

    constraint: SpreadConstraint
    #: The pods that it counts.
    pods: IntArray
    #: The domain of each node; the last one stands for nodes that do not count.
    domain: IntArray
    #: int64[domain + 1]; of the last one nothing is asked.
    counts: IntArray
    #: The names of domains.
    values: Sequence[str]
    #: Which domains exist, bool[domain + 1].
    exists: BoolArray
    low: int = 0
    high: int = 0

    def __post_init__(self) -> None:
        self.low = fewest(self.counts[self.exists], self.constraint.max_skew)
        self.high = self.low + self.constraint.max_skew

    def beyond(self) -> int:
        """The fewest moves that the constraint needs."""
        counts = self.counts[self.exists]
        return int(max(np.maximum(counts - self.high, 0).sum(), np.maximum(self.low - counts, 0).sum()))

    def worth_of_leaving(self) -> IntArray:
        """What one pod less in each domain takes off, int64[domain + 1]: -1, 0 or 1."""
        return np.where(self.exists, (self.counts > self.high).astype(np.int64) - (self.counts <= self.low), 0)

    def worth_of_arriving(self) -> IntArray:
        """What one pod more in each domain takes off, int64[domain + 1]."""
        return np.where(self.exists, (self.counts < self.low).astype(np.int64) - (self.counts >= self.high), 0)

    def move(self, source: int, target: int) -> None:
        """Count a pod on another node, or nowhere if that is not known."""
        self.counts[self.domain[source]] -= 1
        if target >= 0:
            self.counts[self.domain[target]] += 1

    def reason(self, node: int) -> str:
        """What is uneven, for people."""
        domain = int(self.domain[node])
        key, least = self.constraint.topology_key, int(self.counts[self.exists].min())
        where = f"{key}={self.values[domain]} has {self.counts[domain]} matching pods, " if self.exists[domain] else ""
        return f"{where}the emptiest domain of {key} has {least}, maxSkew {self.constraint.max_skew}"


def fewest(counts: IntArray, skew: int) -> int:
    """Return the lower bound that the fewest moves keep with a skew; the least of several.

    With it, a domain has at most ``skew`` more. The bounds must hold all pods: domains times the lower one are at most
    as many as there are, and domains times the upper one at least.
    """
    total, domains = int(counts.sum()), max(len(counts), 1)
    bounds = np.arange(max(-(-total // domains) - skew, 0), total // domains + 1)
    above = [np.maximum(counts - bound - skew, 0).sum() for bound in bounds.tolist()]
    below = [np.maximum(bound - counts, 0).sum() for bound in bounds.tolist()]
    return int(bounds[np.maximum(above, below).argmin()]) if len(bounds) else 0


def spread_pods(view: View, args: RebalanceArgs) -> Suggestions:
    """Suggest the moves that restore the spread of the chosen pods, those first that mend most."""
    spreading = _Spreading(view, args, _uneven(view, args))
    before = spreading.beyond()
    left = None if args.budget is None else args.budget - view.moves_made()
    bound = 0 if left is None else max(before - max(left, 0) * spreading.most_at_once(), 0)
    while (left is None or left > 0) and (pod := spreading.best()) is not None:
        verdict = yield spreading.suggestion(pod)
        if verdict is Verdict.TOTAL_LIMIT:
            break
        if verdict is Verdict.EVICTED:
            spreading.made(pod)
            left = None if left is None else left - 1
        else:
            spreading.refused(pod, verdict)
    after = spreading.beyond()
    view.report(GoalResult(args.goal, UNIT, float(before), float(after), float(bound), optimal=after <= bound))


def _uneven(view: View, args: RebalanceArgs) -> list[_Spread]:
    """The constraints of chosen pods that are not kept, and those that count some of the same pods."""
    running = view.pods.where(view.running_pods(None, None))
    chosen = view.pods.where(view.running_pods(args.namespaces, args.label_selector))
    balancer = Balancer(view, running, must_fit=False)
    found = [(each, *_counted(balancer, each)) for each in spread_constraints(view.pods, chosen, _ACTIONS)]
    touched = np.zeros(len(view.pods), dtype=bool)
    for each, pods, sizes in found:
        if max(sizes, default=0) - min(sizes, default=0) > each.max_skew:
            touched[pods] = True
    return [_spread(view, balancer, each, pods) for each, pods, _ in found if touched[pods].any()]


def _counted(balancer: Balancer, constraint: SpreadConstraint) -> tuple[IntArray, list[int]]:
    """The pods that count for a constraint, and how many each of its domains has."""
    domains = balancer.domains_of(constraint)
    members = balancer.members(constraint, domains)
    counted = {code: pods for code, pods in members.items() if code in domains.codes}
    sizes = [len(pods) for pods in counted.values()]
    sizes += [0] if len(domains.codes) > len(sizes) else []
    return np.array([pod for pods in counted.values() for pod in pods], dtype=np.int64), sizes


def _spread(view: View, balancer: Balancer, constraint: SpreadConstraint, pods: IntArray) -> _Spread:
    domains = balancer.domains_of(constraint)
    nowhere = len(domains.column.values)
    exists = np.zeros(nowhere + 1, dtype=bool)
    exists[list(domains.codes)] = True
    codes = domains.column.codes
    domain = np.where((codes != NO_LABEL) & exists[codes], codes, nowhere).astype(np.int64)
    counts = np.bincount(domain[view.state.node[pods]], minlength=nowhere + 1).astype(np.int64)
    return _Spread(constraint, pods, domain, counts, domains.column.values, exists)


@dataclass(slots=True)
class _Spreading:
    """The constraints while pods move, and which pods stay."""

    view: View
    args: RebalanceArgs
    spreads: list[_Spread]
    #: The constraints that count a pod, by position.
    of_pod: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    source: IdArray = field(init=False)
    free: BoolArray = field(init=False)
    refusals: Counter[tuple[int, ...]] = field(default_factory=Counter)
    #: Movable pods of a constraint, by its identity.
    groups: dict[int, list[list[int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.source = self.view.state.node.copy()
        for number, each in enumerate(self.spreads):
            for pod in each.pods.tolist():
                self.of_pod[pod].append(number)
        chosen = self.view.running_pods(self.args.namespaces, self.args.label_selector)
        pods = self.view.pods.where(chosen & (self.view.pods.replaces == NO_POD))
        self.free = np.zeros(len(self.view.pods), dtype=bool)
        self.free[pods[self.view.evictable(pods)]] = True

    def beyond(self) -> int:
        """The fewest moves that all constraints need, each by itself."""
        return sum(each.beyond() for each in self.spreads)

    def most_at_once(self) -> int:
        """For how many constraints one move can count."""
        return max(map(len, self.of_pod.values()), default=0)

    def best(self) -> int | None:
        """The next pod to move: one whose move mends most of the first constraint that needs a move; None if there is none."""
        for each in self.spreads:
            if each.beyond() and (pod := self._best_of(each)) is not None:
                return pod
        return None

    def _best_of(self, spread: _Spread) -> int | None:
        groups = [pods for pods in self._groups_of(spread) if self._next(pods)]
        worth = {of: self._worth_of_leaving(of) for of in {self._counting(pods[-1]) for pods in groups}}
        ranked = sorted(groups, key=lambda pods: -int(worth[self._counting(pods[-1])][self.source[pods[-1]]]))
        for block in (ranked[at : at + _SOURCES] for at in range(0, len(ranked), _SOURCES)):
            gains = [int(self._worth(pods[-1]).max(initial=0)) for pods in block]
            if max(gains) > 0:
                return block[gains.index(max(gains))][-1]
        return None

    def _groups_of(self, spread: _Spread) -> list[list[int]]:
        """The pods of a constraint in groups that count alike and are on the same node; the last of a group goes first."""
        known = self.groups.get(id(spread))
        if known is None:
            found: defaultdict[tuple[tuple[int, ...], int], list[int]] = defaultdict(list)
            for pod in low_to_high(self.view.pods, spread.pods[self.free[spread.pods]])[::-1].tolist():
                found[self._kind(pod), int(self.source[pod])].append(pod)
            known = self.groups[id(spread)] = list(found.values())
        return known

    def _next(self, pods: list[int]) -> bool:
        """Drop pods that stay from the end of a group; returns whether one is left."""
        while pods and not self.free[pods[-1]]:
            pods.pop()
        return bool(pods)

    def _kind(self, pod: int) -> tuple[int, ...]:
        return (int(self.view.fit.classes.values[pod]), *self.of_pod[pod])

    def _counting(self, pod: int) -> tuple[int, ...]:
        """The constraints that count a pod, by position."""
        return tuple(self.of_pod[pod])

    def _worth_of_leaving(self, counting: tuple[int, ...]) -> IntArray:
        """What it takes off if such a pod leaves each node, int64[node]."""
        worth = np.zeros(len(self.view.is_listed), np.int64)
        for each in (self.spreads[number] for number in counting):
            worth += each.worth_of_leaving()[each.domain]
        return worth

    def _worth(self, pod: int, nodes: IntArray | None = None) -> IntArray:
        """What the move of a pod to each node takes off, int64[len(nodes)]; nothing where it may not be."""
        nodes = self.view.compared if nodes is None else nodes
        source, worth = int(self.source[pod]), np.zeros(len(nodes), np.int64)
        for each in (self.spreads[number] for number in self.of_pod[pod]):
            here, there = each.domain[source], each.domain[nodes]
            gained = each.worth_of_leaving()[here] + each.worth_of_arriving()[there]
            worth += np.where(there == here, 0, gained)
        return np.where(self.view.fit.static(pod)[nodes] & ~self.view.closed[nodes], worth, 0)

    def suggestion(self, pod: int) -> Suggestion:
        """The suggestion to move a pod to a node where that mends something."""
        uneven = next(self.spreads[number] for number in self.of_pod[pod] if self.spreads[number].beyond())
        return Suggestion(
            pod,
            f"goal {self.args.goal}: {uneven.reason(int(self.source[pod]))}",
            PlacementConstraint.BETTER,
            PendingFilters.ALL,
            accepts=partial(self._mends, pod),
            worse=partial(self._harms, pod),
            cost=partial(self._cost, pod),
        )

    def _mends(self, pod: int, nodes: IntArray) -> BoolArray:
        return self._worth(pod, nodes) > 0

    def _harms(self, pod: int, nodes: IntArray) -> BoolArray:
        return self._worth(pod, nodes) < 0

    def _cost(self, pod: int, nodes: IntArray) -> npt.NDArray[np.float64]:
        return -self._worth(pod, nodes).astype(np.float64)

    def made(self, pod: int) -> None:
        """Count a pod where its replacement has landed."""
        self.free[pod] = False
        for number in self.of_pod[pod]:
            self.spreads[number].move(int(self.source[pod]), self.view.landing_of(pod))

    def refused(self, pod: int, verdict: Verdict) -> None:
        """The pod stays; so do others of its kind that find no place, after some."""
        self.free[pod] = False
        if verdict is Verdict.NODE_LIMIT:
            self.free[self.source == self.source[pod]] = False
        elif verdict is Verdict.NO_PLACE:
            kind = self._kind(pod)
            self.refusals[kind] += 1
            if self.refusals[kind] >= _PATIENCE:
                alike = [other for other in np.flatnonzero(self.free).tolist() if self._kind(other) == kind]
                self.free[alike] = False
