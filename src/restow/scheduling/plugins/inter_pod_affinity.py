"""InterPodAffinity: pods attract and repel one another, within a node, a zone or any other topology domain.

Required terms filter: the incoming pod's own in both directions, and the anti-affinity of the pods that are there.
Preferred terms score, those of the pods that are there as well as the incoming pod's own; required affinity of a pod
that is there counts as a preference of a fixed weight. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.scheduling.affinity_terms import AffinityTerm, PodTerms, compile_terms, incoming_namespaces
from restow.scheduling.carried_terms import CarriedTerm, CarriedTerms, CarrierGroups, Carriers
from restow.scheduling.context import Context
from restow.scheduling.framework import (
    MAX_SCORE,
    PASSES,
    PROCEED,
    SKIP,
    Judgement,
    Outcome,
    PreFiltered,
    Scores,
)
from restow.scheduling.selected_pods import Selection, selected
from restow.scheduling.topology import NO_DOMAIN, Topologies

NAME = "InterPodAffinity"

Counts = npt.NDArray[np.int64]

_OUTCOMES = (
    Outcome(("node(s) didn't match pod affinity rules",), unresolvable=True),
    Outcome(("node(s) didn't match pod anti-affinity rules",)),
    Outcome(("node(s) didn't satisfy existing pods anti-affinity rules",)),
)
_NOT_ATTRACTED, _REPELS, _REPELLED = range(len(_OUTCOMES))


@dataclass(slots=True, frozen=True)
class _Target:
    """The pods that a term of an incoming pod means, and over which topology."""

    topology_key: str
    pods: Selection
    weight: int

    def means(self, namespace: int, labels: Mapping[str, str]) -> bool:
        selector, namespaces = self.pods
        return (namespaces is None or namespace in namespaces) and selector.matches(labels)


@dataclass(slots=True, frozen=True)
class _Incoming:
    """The terms of an incoming pod."""

    affinity: tuple[_Target, ...]
    anti_affinity: tuple[_Target, ...]
    preferred: tuple[_Target, ...]
    problem: str | None

    @property
    def affinity_keys(self) -> dict[str, None]:
        return dict.fromkeys(target.topology_key for target in self.affinity)


class InterPodAffinity:
    """Filter and score."""

    name = NAME
    local = False

    def __init__(self, context: Context, *, hard_weight: int = 1, ignore_preferred_of_existing: bool = False) -> None:
        self._context = context
        self._pods = context.state.cluster.pods
        self._ignores_existing = ignore_preferred_of_existing
        self._topologies = Topologies(context.state.cluster.nodes)
        self._namespace_ids = {name: identifier for identifier, name in enumerate(self._pods.tables.namespaces)}
        self._incoming: dict[tuple[int, int], _Incoming] = {}
        groups = CarrierGroups(self._pods)
        terms = [self._compile(*each) for each in groups.table]
        self._repelling = CarriedTerms(context, _repelling(terms), groups)
        self._pulling = CarriedTerms(context, _pulling(terms, hard_weight), groups)

    def prefilter(self, pod: int) -> PreFiltered:
        """Skip pods without required terms that no existing pod repels."""
        incoming = self._terms(pod)
        if incoming.problem is not None:
            return PreFiltered(failure=Outcome((f"parsing pod: {incoming.problem}",), unresolvable=True))
        if incoming.affinity or incoming.anti_affinity:
            return PROCEED
        return PROCEED if any(map(self._takes_effect, self._repelling.meaning(pod))) else SKIP

    def judge(self, pod: int, nodes: IntArray) -> Judgement:
        """Reject nodes by the pod's affinity first, then its anti-affinity, then that of existing pods."""
        incoming = self._terms(pod)
        category = np.full(len(nodes), PASSES)
        for carriers in self._repelling.meaning(pod):
            category[self._near(carriers.topology_key, self._present(carriers), nodes)] = _REPELLED
        for target in incoming.anti_affinity:
            category[self._near(target.topology_key, self._count(target.pods), nodes)] = _REPELS
        if incoming.affinity:
            category[~self._attracted(pod, incoming, nodes)] = _NOT_ATTRACTED
        return Judgement(category, _OUTCOMES)

    def score(self, pod: int, nodes: IntArray) -> Scores | None:
        """More weight of the terms that pull there is better; None where no term has any effect."""
        preferred = self._terms(pod).preferred
        if len(nodes) == 0 or (self._ignores_existing and not preferred):
            return None
        takes_effect = False
        pull: dict[str, Counts] = {}
        for topology_key, weight, present in self._pulls(pod, preferred):
            takes_effect = takes_effect or self._topologies.domains(topology_key).any_inside(present)
            pull[topology_key] = pull.get(topology_key, 0) + weight * present
        if not takes_effect:
            return None
        raw = np.zeros(len(nodes), dtype=np.int64)
        for topology_key, per_node in pull.items():
            domains = self._topologies.domains(topology_key)
            raw += domains.totals(per_node)[domains.of_node[nodes]]
        return _normalised(raw)

    def _attracted(self, pod: int, incoming: _Incoming, nodes: IntArray) -> BoolArray:
        """Nodes near pods that match all affinity terms, or anywhere if there is no such pod yet and this is the first."""
        present = self._count(*(target.pods for target in incoming.affinity))
        keys = incoming.affinity_keys
        attracted = np.ones(len(nodes), dtype=bool)
        if self._is_first(pod, incoming, present):
            for key in keys:
                attracted &= self._topologies.domains(key).of_node[nodes] != NO_DOMAIN
        else:
            for key in keys:
                attracted &= self._near(key, present, nodes)
        return attracted

    def _is_first(self, pod: int, incoming: _Incoming, present: Counts) -> bool:
        namespace, labels = int(self._pods.namespace[pod]), self._pods.tables.labels[self._pods.labels[pod]]
        if not all(target.means(namespace, labels) for target in incoming.affinity):
            return False
        return not any(self._topologies.domains(key).any_inside(present) for key in incoming.affinity_keys)

    def _near(self, topology_key: str, present: Counts, nodes: IntArray) -> BoolArray:
        """Which of some nodes share a domain with pods that are counted."""
        domains = self._topologies.domains(topology_key)
        near: BoolArray = (domains.totals(present) > 0)[domains.of_node[nodes]]
        return near

    def _pulls(self, pod: int, preferred: tuple[_Target, ...]) -> Iterator[tuple[str, int, Counts]]:
        """Topology key, weight and presence of everything that pulls a pod."""
        for target in preferred:
            yield target.topology_key, target.weight, self._count(target.pods)
        for carriers in self._pulling.meaning(pod):
            yield carriers.topology_key, carriers.weight, self._present(carriers)

    def _takes_effect(self, carriers: Carriers) -> bool:
        return self._topologies.domains(carriers.topology_key).any_inside(self._present(carriers))

    def _present(self, carriers: Carriers) -> Counts:
        return self._context.counts.tracker(carriers, lambda: carriers.pods).present

    def _count(self, *pods: Selection) -> Counts:
        return selected(self._context, *pods).present

    def _terms(self, pod: int) -> _Incoming:
        key = int(self._pods.rules[pod]), int(self._pods.namespace[pod])
        known = self._incoming.get(key)
        if known is None:
            known = self._incoming[key] = self._resolve(self._compile(*key))
        return known

    def _compile(self, rules: int, namespace: int) -> PodTerms:
        return compile_terms(self._pods.tables.rules[rules], self._pods.tables.namespaces[namespace])

    def _resolve(self, terms: PodTerms) -> _Incoming:
        return _Incoming(
            affinity=tuple(self._target(each) for each in terms.affinity),
            anti_affinity=tuple(self._target(each) for each in terms.anti_affinity),
            preferred=tuple(self._target(each.term, each.weight) for each in terms.preferred),
            problem=terms.problem,
        )

    def _target(self, term: AffinityTerm, weight: int = 0) -> _Target:
        names = incoming_namespaces(term, self._context.namespaces)
        if names is None:
            return _Target(term.topology_key, (term.selector, None), weight)
        known = frozenset(self._namespace_ids[name] for name in names if name in self._namespace_ids)
        return _Target(term.topology_key, (term.selector, known), weight)


def _repelling(groups: list[PodTerms]) -> list[CarriedTerm]:
    return [CarriedTerm(term, 0, group) for group, terms in enumerate(groups) for term in terms.anti_affinity]


def _pulling(groups: list[PodTerms], hard_weight: int) -> list[CarriedTerm]:
    """Preferences of existing pods, and their required affinity where that has a weight."""
    hard = [CarriedTerm(term, hard_weight, group) for group, terms in enumerate(groups) for term in terms.affinity]
    soft = [CarriedTerm(e.term, e.weight, group) for group, terms in enumerate(groups) for e in terms.preferred]
    return [*hard, *soft] if hard_weight > 0 else soft


def _normalised(raw: Scores) -> Scores:
    """From 0 for the lowest to 100 for the highest; 0 for all where they are equal. Source: floats, truncated."""
    lowest, highest = int(raw.min()), int(raw.max())
    if lowest == highest:
        return np.zeros_like(raw)
    return (MAX_SCORE * ((raw - lowest) / (highest - lowest))).astype(np.int64)
