"""InterPodAffinity: pods attract and repel one another, within a node, a zone or any other topology domain.

Required terms filter: the incoming pod's own in both directions, and the anti-affinity of the pods that are there.
Preferred terms score, those of the pods that are there as well as the incoming pod's own; required affinity of a pod
that is there counts as a preference of a fixed weight. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import reduce

import numpy as np
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_values import PlacementRules
from restow.documents.findings import Issue
from restow.kube.objects import Int32
from restow.scheduling.framework.context import Context, Selection, selected
from restow.scheduling.framework.declaration import SchedulerPlugin, SchedulerPluginArgs, out_of_range
from restow.scheduling.framework.extension_points import (
    MAX_SCORE,
    NO_PODS,
    PASSES,
    PROCEED,
    SKIP,
    CycleError,
    FilterResult,
    Outcome,
    PreFiltered,
    Scores,
)
from restow.scheduling.framework.minors import NAMESPACE_SELECTOR_DROPPED, NAMESPACE_SELECTOR_KEPT, holds
from restow.scheduling.framework.pod_counts import NO_DOMAIN, Counts, Topologies, Tracker
from restow.scheduling.plugins.affinity_terms import (
    INTERESTS,
    AffinityTerm,
    CarriedTerm,
    CarriedTerms,
    Carriers,
    PodTerms,
    compile_terms,
    incoming_namespaces,
)
from restow.scheduling.sampling.relative_scores import Ranged, RelativeScores

NAME = "InterPodAffinity"

_OUTCOMES = (
    Outcome(("node(s) didn't match pod affinity rules",), unresolvable=True),
    Outcome(("node(s) didn't match pod anti-affinity rules",)),
    Outcome(("node(s) didn't satisfy existing pods anti-affinity rules",)),
)
_NOT_ATTRACTED, _REPELS, _REPELLED = range(len(_OUTCOMES))


class InterPodAffinityArgs(SchedulerPluginArgs, frozen=True):
    """What the terms of existing pods are worth."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


def check(args: InterPodAffinityArgs) -> list[Issue]:
    """A weight of 0 to 100."""
    return out_of_range(("hardPodAffinityWeight",), args.hard_pod_affinity_weight, 0, 100)


class _Target(Struct, frozen=True):
    """The pods that a term of an incoming pod means, and over which topology."""

    topology_key: str
    pods: Selection
    weight: int

    def means(self, namespace: int, labels: Mapping[str, str]) -> bool:
        selector, namespaces = self.pods
        return (namespaces is None or namespace in namespaces) and selector.matches(labels)


class _Incoming(Struct, frozen=True):
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

    def __init__(self, context: Context, *, hard_weight: int = 1, ignore_preferred_of_existing: bool = False) -> None:
        self._context = context
        cluster = context.state.cluster
        self._pods = cluster.pods
        self._keeps_selector = holds(NAMESPACE_SELECTOR_KEPT, cluster) and not holds(
            NAMESPACE_SELECTOR_DROPPED, cluster
        )
        self._ignores_existing = ignore_preferred_of_existing
        self._topologies = Topologies(context.state.cluster.nodes)
        self._hard_weight = hard_weight
        self._incoming: dict[tuple[int, int], _Incoming] = {}
        #: The terms of each group of carriers that has any, and how many groups there were then.
        self._carried: dict[int, PodTerms] = {}
        self._groups = 0
        self._repelling = self._pulling = CarriedTerms(context, ())
        self._index_new_groups()

    def applies_to(self, pod: int) -> bool:
        """Pods with required terms, and pods that terms of other pods repel, on any node."""
        self._index_new_groups()
        terms = self._terms(pod)
        own = terms.problem is not None or terms.affinity or terms.anti_affinity
        return bool(own) or bool(self._repelling.meaning(pod))

    def prefilter(self, pod: int) -> PreFiltered:
        """Skip pods without required terms that no existing pod repels."""
        incoming = self._terms(pod)
        if incoming.problem is not None:
            return PreFiltered(failure=Outcome((f"parsing pod: {incoming.problem}",), unresolvable=True))
        if incoming.affinity or incoming.anti_affinity:
            return PROCEED
        return PROCEED if any(map(self._takes_effect, self._repelling.meaning(pod))) else SKIP

    def affecting_pods(self, pod: int) -> IntArray:
        """Pods that its required terms mean, and those whose terms repel it."""
        incoming = self._terms(pod)
        meant = [self._meant(target.pods).members for target in incoming.anti_affinity]
        if incoming.affinity:
            meant.append(self._meant(*(target.pods for target in incoming.affinity)).members)
        return np.concatenate(
            [NO_PODS, *meant, *(self._carrying(each).members for each in self._repelling.meaning(pod))]
        )

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes by the pod's affinity first, then its anti-affinity, then that of existing pods."""
        incoming = self._terms(pod)
        category = np.full(len(nodes), PASSES)
        for carriers in self._repelling.meaning(pod):
            category[self._near(carriers.topology_key, self._carrying(carriers), nodes)] = _REPELLED
        for target in incoming.anti_affinity:
            category[self._near(target.topology_key, self._meant(target.pods), nodes)] = _REPELS
        if incoming.affinity:
            category[~self._attracted(pod, incoming, nodes)] = _NOT_ATTRACTED
        return FilterResult(category, _OUTCOMES)

    def signature(self, pod: int) -> Hashable:
        """Who carries terms that mean a pod; of a pod with terms of its own, whose it is."""
        self._index_new_groups()
        rules = self._pods.tables.rules[self._pods.rules[pod]]
        if rules.pod_affinity is not None or rules.pod_anti_affinity is not None:
            return int(self._pods.namespace[pod]), int(self._pods.labels[pod])
        return self._repelling.meaning(pod), self._pulling.meaning(pod)

    def score(self, pod: int, nodes: IntArray) -> Scores | int | None:
        """More weight of the terms that pull there is better; None where no term has any effect."""
        raw = self._raw(pod)
        if raw is None or len(nodes) == 0:
            return None
        some = raw[nodes]
        lowest, highest = int(some.min()), int(some.max())
        return 0 if lowest == highest else _normalised(some, lowest, highest)

    def score_all(self, pod: int, feasible: BoolArray) -> Scores | int | None:
        """The scores of all nodes."""
        raw = self._raw(pod)
        if raw is None:
            return None
        some = raw if feasible.all() else raw[feasible]
        lowest, highest = int(some.min()), int(some.max())
        if lowest == highest:
            return 0
        if highest - lowest >= len(raw):
            return _normalised(raw, lowest, highest)
        # Each value once; what is beyond them is not feasible.
        scores = _normalised(np.arange(lowest, highest + 1), lowest, highest).astype(np.int16)
        return scores.take(raw - lowest, mode="clip")

    def relative(self, pod: int, nodes: IntArray) -> RelativeScores | None:
        """The scores in windows of the nodes."""
        raw = self._raw(pod)
        return None if raw is None else Ranged.of(raw[nodes], _normalised)

    def _raw(self, pod: int) -> Scores | None:
        """The summed weight of the terms that pull to each node; None where none pulls anywhere."""
        self._index_new_groups()
        terms = self._terms(pod)
        preferred = terms.preferred
        if self._ignores_existing and not preferred:
            return None
        if terms.problem is not None:
            raise CycleError(f'running PreScore plugin "{NAME}": failed to parse pod: {terms.problem}')
        pull: dict[str, Scores] = {}
        for topology_key, weight, pods in self._pulls(pod, preferred):
            present = self._present(topology_key, pods)
            if present.any():
                weighted = np.multiply(present, weight, dtype=np.int64)
                pull[topology_key] = weighted + pull[topology_key] if topology_key in pull else weighted
        if not pull:
            return None
        by_key = [each[self._topologies.domains(topology_key).of_node] for topology_key, each in pull.items()]
        return reduce(np.add, by_key)

    def _attracted(self, pod: int, incoming: _Incoming, nodes: IntArray) -> BoolArray:
        """Nodes near pods that match all affinity terms, or anywhere if there is no such pod yet and this is the first."""
        pods = self._meant(*(target.pods for target in incoming.affinity))
        keys = incoming.affinity_keys
        attracted = np.ones(len(nodes), dtype=bool)
        if self._is_first(pod, incoming, pods):
            for key in keys:
                attracted &= self._topologies.domains(key).of_node[nodes] != NO_DOMAIN
        else:
            for key in keys:
                attracted &= self._near(key, pods, nodes)
        return attracted

    def _is_first(self, pod: int, incoming: _Incoming, pods: Tracker) -> bool:
        namespace, labels = int(self._pods.namespace[pod]), self._pods.tables.labels[self._pods.labels[pod]]
        if not all(target.means(namespace, labels) for target in incoming.affinity):
            return False
        return not any(self._present(key, pods).any() for key in incoming.affinity_keys)

    def _near(self, topology_key: str, pods: Tracker, nodes: IntArray) -> BoolArray:
        """Which of some nodes share a domain with pods that are counted."""
        present = self._present(topology_key, pods) > 0
        near: BoolArray = present[self._topologies.domains(topology_key).of_node[nodes]]
        return near

    def _pulls(self, pod: int, preferred: tuple[_Target, ...]) -> Iterator[tuple[str, int, Tracker]]:
        """Topology key, weight and pods of everything that pulls a pod."""
        for target in preferred:
            yield target.topology_key, target.weight, self._meant(target.pods)
        for carriers in self._pulling.meaning(pod):
            yield carriers.topology_key, carriers.weight, self._carrying(carriers)

    def _takes_effect(self, carriers: Carriers) -> bool:
        return bool(self._present(carriers.topology_key, self._carrying(carriers)).any())

    def _present(self, topology_key: str, pods: Tracker) -> Counts:
        """How many of the pods each domain has."""
        return self._context.counts.count(pods, self._topologies.domains(topology_key)).present

    def _carrying(self, carriers: Carriers) -> Tracker:
        groups = carriers.groups
        return self._context.counts.tracker(
            carriers, self._context.carriers, lambda: sorted(groups), groups.__contains__
        )

    def _meant(self, *pods: Selection) -> Tracker:
        return selected(self._context, *pods)

    def _terms(self, pod: int) -> _Incoming:
        key = int(self._pods.rules[pod]), int(self._pods.namespace[pod])
        known = self._incoming.get(key)
        if known is None:
            known = self._incoming[key] = self._resolve(self._compile(*key))
        return known

    def _index_new_groups(self) -> None:
        """Index the terms of new groups of pods."""
        groups, known = self._context.carriers, self._groups
        if groups.values and len(groups.table) == known:
            return
        self._groups = len(groups.table)
        found = {
            group: self._compile(*groups.table[group])
            for group in range(known, self._groups)
            if _has_terms(self._pods.tables.rules[groups.table[group][0]])
        }
        if found:
            self._carried |= found
            self._repelling = CarriedTerms(self._context, _repelling(self._carried))
            self._pulling = CarriedTerms(self._context, _pulling(self._carried, self._hard_weight))

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
        names = incoming_namespaces(term, self._context.namespaces, keeps_selector=self._keeps_selector)
        if names is None:
            return _Target(term.topology_key, (term.selector, None), weight)
        known = frozenset(identifier for identifier, name in enumerate(self._pods.tables.namespaces) if name in names)
        return _Target(term.topology_key, (term.selector, known), weight)


def _has_terms(rules: PlacementRules) -> bool:
    return (rules.pod_affinity or rules.pod_anti_affinity) is not None


def _repelling(groups: Mapping[int, PodTerms]) -> list[CarriedTerm]:
    return [CarriedTerm(term, 0, group) for group, terms in groups.items() for term in terms.anti_affinity]


def _pulling(groups: Mapping[int, PodTerms], hard_weight: int) -> list[CarriedTerm]:
    """Preferences of existing pods, and their required affinity where that has a weight."""
    hard = [CarriedTerm(term, hard_weight, group) for group, terms in groups.items() for term in terms.affinity]
    soft = [CarriedTerm(e.term, e.weight, group) for group, terms in groups.items() for e in terms.preferred]
    return [*hard, *soft] if hard_weight > 0 else soft


def _normalised(raw: Scores, lowest: int, highest: int) -> Scores:
    """From 0 for the lowest to 100 for the highest; 0 for all where they are equal. Source: floats, truncated."""
    if lowest == highest:
        return np.zeros_like(raw)
    return (MAX_SCORE * ((raw - lowest) / (highest - lowest))).astype(np.int64)


def _make(context: Context, args: InterPodAffinityArgs) -> InterPodAffinity:
    return InterPodAffinity(
        context,
        hard_weight=args.hard_pod_affinity_weight,
        ignore_preferred_of_existing=args.ignore_preferred_terms_of_existing_pods,
    )


PLUGIN = SchedulerPlugin(
    NAME,
    ("preFilter", "filter", "preScore", "score"),
    _make,
    args=InterPodAffinityArgs,
    check=check,
    weight=2,
    dependent=("filter", "score"),
    interests=INTERESTS,
)
