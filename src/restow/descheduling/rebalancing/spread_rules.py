"""Hard topology spread constraints as rules of the search, so that their pods may change their domain.

A pod may be placed in a domain that then has at most the allowed skew more than the emptiest one. The search has the same
rule (``Skews``), and keeps beyond it what the scheduler does not ask for: no move makes the skew of other domains too large.

A pod stays in its domain where the rule cannot hold: its constraint does not count the pod itself, no single move keeps it, or
there are too many domains. Source: PodTopologySpread, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from restow.cluster.interning import BoolArray, IdArray, IntArray, combine
from restow.cluster.nodes import NO_LABEL
from restow.descheduling.framework import View
from restow.descheduling.node_fit import OpenNodes
from restow.descheduling.rebalancing.topology_keys import spreading_keys, tying_keys
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import Toleration
from restow.optimizing.problem import Indices, Skews
from restow.scheduling.plugins.spread_terms import SpreadTerm, own_terms

#: Domains that a constraint may have.
_MOST_DOMAINS: Final = 64


@dataclass(frozen=True, slots=True)
class HeldSpreads:
    """Rules of the search, and for whom they stand."""

    skews: Skews
    #: By topology key, the pods that may change their domain since the rules hold all their constraints, bool[len(pods)].
    free: Mapping[str, BoolArray]


class _Place(NamedTuple):
    """Everything that decides in which domain a constraint counts the pods of a node."""

    topology_key: str
    #: Nodes without one of these labels do not count.
    keys: tuple[str, ...]
    #: None where the constraint does not honour them.
    selection: NodeSelection | None
    tolerations: tuple[Toleration, ...] | None


class _Constraint(NamedTuple):
    namespace: int
    term: SpreadTerm
    place: _Place


@dataclass(frozen=True, slots=True, eq=False)
class _Domains:
    """The domains of a place, and one more for nodes that do not count. Only ever equal to itself."""

    of_node: IntArray
    count: int

    def counts(self, nodes: IdArray) -> Indices:
        """How many of some nodes are in each domain; a node may be there more than once."""
        counts: Indices = np.bincount(self.of_node[nodes], minlength=self.count + 1)[: self.count].astype(np.int32)
        return counts


@dataclass(frozen=True, slots=True)
class _Counted:
    """A constraint with the pods that it counts, and how many each of its domains has now."""

    constraint: _Constraint
    domains: _Domains
    pods: IntArray
    counts: Indices

    @property
    def from_zero(self) -> bool:
        """Whether the emptiest domain counts as empty: there are fewer domains than the constraint wants."""
        return self.domains.count < self.constraint.term.min_domains

    @property
    def can_change(self) -> bool:
        """Whether some pod may go from one domain to another: from the fullest to the emptiest one, or from any."""
        counts, skew = self.counts, self.constraint.term.max_skew
        if len(counts) < 2 or not counts.any():
            return False
        if self.from_zero:
            return bool(((counts < skew) & (counts < counts.sum())).any())
        return skew > 1 or bool(counts.min() < counts.max())


def spread_rules(view: View, pods: IntArray, nodes: IntArray, service_of: IdArray, services: int) -> HeldSpreads:
    """Return rules for the hard constraints of pods that may move.

    Machines are ``nodes``, ``service_of`` is the service of each pod, and there are so many ``services``.
    """
    group_of, _ = combine(service_of, view.pods.tolerations[pods])
    first = np.unique(group_of, return_index=True)[1] if len(pods) else np.zeros(0, dtype=np.int64)
    constraining, held = _Constraining(view), dict[_Constraint, _Counted]()
    free_keys: list[frozenset[str]] = []
    for pod in pods[first].tolist():
        rules = constraining.rules(pod)
        held |= {each: counted for each, counted in rules.items() if counted is not None}
        tied = {each.place.topology_key for each, counted in rules.items() if counted is None or not counted.can_change}
        tied |= tying_keys(view.pods.tables.rules[view.pods.rules[pod]])
        free_keys.append(frozenset(each.place.topology_key for each in rules) - tied)
    keys = sorted(frozenset[str]().union(*free_keys))
    free = {key: np.array([key in some for some in free_keys], dtype=bool)[group_of] for key in keys}
    return _held(view, list(held.values()), free, _Machines(pods, nodes, service_of, services))


class _Constraining:
    """The constraints of one cluster's pods."""

    def __init__(self, view: View) -> None:
        self._view, self._nodes = view, view.state.cluster.nodes
        self._open = OpenNodes(self._nodes)
        self._domains, self._counted = cache(self._find_domains), cache(self._count)
        self._alike: dict[bytes, _Domains] = {}

    def rules(self, pod: int) -> dict[_Constraint, _Counted | None]:
        """The hard constraints of a pod whose domains hold more than one node, as things are; None if no rule can hold it."""
        labels = self._view.pods.tables.labels[self._view.pods.labels[pod]]
        return {
            each: self._counted(each)
            if each.term.selector.requirements and each.term.selector.matches(labels)
            else None
            for each in self._constraints(pod)
        }

    def _constraints(self, pod: int) -> tuple[_Constraint, ...]:
        """The constraints of a pod; none if they cannot be read."""
        pods, tables = self._view.pods, self._view.pods.tables
        constraints = tables.spread[pods.spread[pod]]
        if not (wanted := spreading_keys(constraints)):
            return ()
        terms = own_terms(constraints, tables.labels[pods.labels[pod]]).hard
        keys = tuple(sorted({each.topology_key for each in terms}))
        return tuple(self._constraint(pod, each, keys) for each in terms if each.topology_key in wanted)

    def _constraint(self, pod: int, term: SpreadTerm, keys: tuple[str, ...]) -> _Constraint:
        pods, tables = self._view.pods, self._view.pods.tables
        selection = tables.rules[pods.rules[pod]].selection if term.honors_affinity else None
        tolerations = tables.tolerations[pods.tolerations[pod]] if term.honors_taints else None
        place = _Place(term.topology_key, keys, selection, tolerations)
        return _Constraint(int(pods.namespace[pod]), term, place)

    def _count(self, constraint: _Constraint) -> _Counted | None:
        state, domains = self._view.state, self._domains(constraint.place)
        if not 0 < domains.count <= _MOST_DOMAINS:
            return None
        pods = self._view.labels.matching(constraint.term.selector, (constraint.namespace,))
        pods = pods[state.holding(pods) & ~state.terminating[pods] & (state.node[pods] >= 0)]
        return _Counted(constraint, domains, pods, domains.counts(state.node[pods]))

    def _find_domains(self, place: _Place) -> _Domains:
        """The domains that have a node which counts, in the order of their codes."""
        counts = np.ones(len(self._nodes), dtype=bool)
        for key in place.keys:
            counts &= self._nodes.label_column(key).codes != NO_LABEL
        if place.selection is not None:
            counts &= self._open.selected(place.selection)
        if place.tolerations is not None:
            counts &= self._open.tolerated(place.tolerations)
        codes = self._nodes.label_column(place.topology_key).codes
        known, number = np.unique(codes[counts], return_inverse=True)
        of_node = np.full(len(self._nodes), len(known), dtype=np.int64)
        of_node[counts] = number
        return self._alike.setdefault(of_node.tobytes(), _Domains(of_node, len(known)))


@dataclass(frozen=True, slots=True)
class _Machines:
    """The pods that may move, the nodes that they may be on, the service of each pod, and how many services there are."""

    pods: IntArray
    nodes: IntArray
    service_of: IdArray
    services: int


def _held(view: View, held: Sequence[_Counted], free: Mapping[str, BoolArray], machines: _Machines) -> HeldSpreads:
    if not held:
        return HeldSpreads(Skews(), free)
    process = np.full(len(view.pods), -1)
    process[machines.pods] = np.arange(len(machines.pods))
    members = [found[found >= 0] for found in (process[each.pods] for each in held)]
    divisions = list(dict.fromkeys(each.domains for each in held))
    row_of = {domains: row for row, domains in enumerate(divisions)}
    staying = np.zeros((len(held), max(each.count for each in divisions) + 1), dtype=np.int32)
    for row, each in zip(staying, held, strict=True):
        row[: each.domains.count] = each.domains.counts(view.state.node[each.pods[process[each.pods] < 0]])
    skews = Skews(
        of_service=_of_service(members, machines),
        location=np.array([each.of_node[machines.nodes] for each in divisions], dtype=np.int32),
        division=np.array([row_of[each.domains] for each in held], dtype=np.int32),
        locations=np.array([each.domains.count for each in held], dtype=np.int32),
        staying=staying,
        most=np.array([each.constraint.term.max_skew for each in held], dtype=np.int32),
        from_zero=np.array([each.from_zero for each in held], dtype=np.int32),
    )
    return HeldSpreads(skews, free)


def _of_service(members: Sequence[IntArray], machines: _Machines) -> tuple[tuple[int, ...], ...]:
    """The rules of each service: its pods have the same labels, so they count for the same ones."""
    found: list[list[int]] = [[] for _ in range(machines.services)]
    for rule, processes in enumerate(members):
        for service in np.unique(machines.service_of[processes]).tolist():
            found[service].append(rule)
    return tuple(map(tuple, found))
