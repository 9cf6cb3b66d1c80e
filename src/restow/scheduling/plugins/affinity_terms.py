"""Inter-pod affinity terms, compiled: which pods a term means, over which topology, and which events help.

A term belongs to a pod and is read in two directions: it is asked about the pods that are there when its own pod comes,
and about each pod that comes when its own pod is there. Upstream looks at namespaces a little differently then, see
``incoming_namespaces``. Fields ``matchLabelKeys`` and ``mismatchLabelKeys`` are merged into the selector by the API server
and not read here. Source: AffinityTerm, NewPodInfo and InterPodAffinity's EventsToRegister, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from restow.cluster.pod_values import PlacementRules
from restow.kube.labels import NOTHING, Selector, selector_from
from restow.kube.objects import PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from restow.kube.validation import aggregate
from restow.scheduling.framework.caches import LruCache
from restow.scheduling.framework.context import Context, LabelledAs, ScopedSelector, SelectorIndex
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, NodeFacts, PodFacts, Resource

#: Kinds of pods that are remembered with who means them.
_KINDS = 16_384


class AffinityTerm(Struct, frozen=True):
    """One term of pod affinity or anti-affinity."""

    topology_key: str
    selector: Selector
    #: Names of the namespaces that it lists; its pod's own where it says nothing about namespaces.
    namespaces: frozenset[str]
    #: Selects further namespaces by their labels; NOTHING where absent.
    namespace_selector: Selector

    def admits(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether it means pods of a namespace with these labels of its own."""
        return namespace in self.namespaces or self.namespace_selector.matches(labels)


class WeightedPodTerm(Struct, frozen=True):
    """A preferred term; anti-affinity has a negative weight."""

    term: AffinityTerm
    weight: int


class PodTerms(Struct, frozen=True):
    """All terms of one pod."""

    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred: tuple[WeightedPodTerm, ...] = ()
    #: Why terms cannot be read: such a pod is not scheduled, and the list that holds the bad term counts as empty.
    problems: tuple[str, ...] = ()

    @property
    def problem(self) -> str | None:
        """All problems as one text, or None."""
        return aggregate(self.problems) if self.problems else None


# Pods with the same rules in the same namespace carry the same terms: they are a group of *carriers*. An incoming pod
# asks for the terms that mean it; the answer, found through an index and kept for every pod that is labelled alike,
# is cut down to sets of carriers by topology key and weight, whose presence on the nodes is then simply counted.
class CarriedTerm(Struct, frozen=True):
    """A term that every pod of a group carries."""

    term: AffinityTerm
    weight: int
    group: int


@dataclass(slots=True, frozen=True, eq=False)
class Carriers:
    """Pods whose terms pull (or push) an incoming pod over one topology; only ever equal to itself."""

    topology_key: str
    #: The sum over the terms of each pod.
    weight: int
    #: Groups of ``Context.carriers``.
    groups: frozenset[int]


class CarriedTerms:
    """Terms of existing pods, indexed by the pods that they select."""

    def __init__(self, context: Context, carried: Sequence[CarriedTerm]) -> None:
        self._pods = context.state.cluster.pods
        self._namespace_labels = context.namespaces
        self._carried = carried
        self._index = SelectorIndex([_scoped(each.term) for each in carried])
        #: By namespace and labels: several of them may be labelled alike.
        self._of_kind: LruCache[tuple[int, int], tuple[Carriers, ...]] = LruCache(_KINDS)
        self._of_pods: dict[LabelledAs, tuple[Carriers, ...]] = {}
        self._of_terms: dict[tuple[int, ...], tuple[Carriers, ...]] = {}

    def meaning(self, pod: int) -> tuple[Carriers, ...]:
        """Who carries terms that mean a pod."""
        kind = int(self._pods.namespace[pod]), int(self._pods.labels[pod])
        carriers = self._of_kind.get(kind)
        if carriers is None:
            carriers = self._meaning(pod)
            self._of_kind.put(kind, carriers)
        return carriers

    def _meaning(self, pod: int) -> tuple[Carriers, ...]:
        tables = self._pods.tables
        namespace = tables.namespaces[self._pods.namespace[pod]]
        labelled_as = self._index.labelled_as(namespace, tables.labels[self._pods.labels[pod]])
        known = self._of_pods.get(labelled_as)
        if known is None:
            known = self._of_pods[labelled_as] = self._find(labelled_as)
        return known

    def _find(self, pod: LabelledAs) -> tuple[Carriers, ...]:
        labels = self._namespace_labels.get(pod.namespace, {})
        matching = self._index.matching(pod)
        terms = tuple(each for each in matching if self._carried[each].term.admits(pod.namespace, labels))
        known = self._of_terms.get(terms)
        if known is None:
            known = self._of_terms[terms] = self._carriers(terms)
        return known

    def _carriers(self, terms: tuple[int, ...]) -> tuple[Carriers, ...]:
        weights: dict[tuple[str, int], int] = defaultdict(int)
        for each in terms:
            carried = self._carried[each]
            weights[carried.term.topology_key, carried.group] += carried.weight
        alike: dict[tuple[str, int], list[int]] = defaultdict(list)
        for (topology_key, group), weight in weights.items():
            alike[topology_key, weight].append(group)
        return tuple(Carriers(*each, frozenset(groups)) for each, groups in alike.items())


def compile_terms(rules: PlacementRules, namespace: str) -> PodTerms:
    """The terms of a pod with these rules in a namespace."""
    problems: list[str] = []
    affinity, anti_affinity = rules.pod_affinity or PodAffinity(), rules.pod_anti_affinity or PodAffinity()
    required = [
        _readable(name, [(each, 1) for each in wire.required or ()], namespace, problems)
        for name, wire in (("requiredAffinityTerms", affinity), ("requiredAntiAffinityTerms", anti_affinity))
    ]
    preferred = [
        _readable(name, _signed(wire.preferred, sign), namespace, problems)
        for name, wire, sign in (
            ("preferredAffinityTerms", affinity, 1),
            ("preferredAntiAffinityTerms", anti_affinity, -1),
        )
    ]
    return PodTerms(
        affinity=tuple(each.term for each in required[0]),
        anti_affinity=tuple(each.term for each in required[1]),
        preferred=(*preferred[0], *preferred[1]),
        problems=tuple(problems),
    )


def incoming_namespaces(
    term: AffinityTerm, known: Mapping[str, Mapping[str, str]], *, keeps_selector: bool
) -> frozenset[str] | None:
    """The namespaces that the term of an incoming pod means, given the labels of the known ones; None for all.

    Upstream turns the namespace selector into names. With ``keeps_selector`` it keeps the selector and still matches it
    against empty labels: one that only excludes (NotIn, DoesNotExist) therefore means every namespace.
    """
    selector = term.namespace_selector
    selects_all = selector.selectable and not selector.requirements
    if selects_all or (keeps_selector and selector.matches({})):
        return None
    return term.namespaces | {name for name, labels in known.items() if term.namespace_selector.matches(labels)}


def _signed(wire: Iterable[WeightedPodAffinityTerm] | None, sign: int) -> list[tuple[PodAffinityTerm, int]]:
    return [(each.pod_affinity_term, sign * each.weight) for each in wire or ()]


def _readable(
    name: str, wire: Iterable[tuple[PodAffinityTerm, int]], namespace: str, problems: list[str]
) -> tuple[WeightedPodTerm, ...]:
    """The compiled list; empty, with a problem noted, where one of its terms cannot be read."""
    try:
        return tuple(WeightedPodTerm(_compile(term, namespace), weight) for term, weight in wire)
    except ValueError as error:
        problems.append(f"{name}: {error}")
        return ()


def _compile(term: PodAffinityTerm, own: str) -> AffinityTerm:
    says_nothing = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        topology_key=term.topology_key,
        selector=selector_from(term.label_selector),
        namespaces=frozenset((own,) if says_nothing else term.namespaces or ()),
        namespace_selector=selector_from(term.namespace_selector),
    )


def _scoped(term: AffinityTerm) -> ScopedSelector:
    return ScopedSelector(term.selector, term.namespaces if term.namespace_selector == NOTHING else None)


def _has_partner(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: a partner came, a pod in the way left or changed, or the pod's own labels did."""
    old: PodFacts | None = event.old
    new: PodFacts | None = event.new
    if old is not None and new is not None and new.uid == pod.uid:
        return True
    if any(each is not None and not each.counts_somewhere for each in (old, new)):
        return False
    terms = pod.kept(_terms)
    if terms.problem is not None:
        return True
    became_partner = _all_mean(terms.affinity, new) and not _all_mean(terms.affinity, old)
    if old is None:
        return became_partner
    stood_in_the_way = _all_mean(terms.anti_affinity, old)
    if new is None:
        return stood_in_the_way or _all_mean(old.kept(_terms).anti_affinity, pod)
    return became_partner or (stood_in_the_way and not _all_mean(terms.anti_affinity, new))


def _has_place(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the node belongs to another domain than before, of a topology that the pod's terms are about."""
    old: NodeFacts | None = event.old
    new: NodeFacts = event.new
    terms = pod.kept(_terms)
    if terms.problem is not None:
        return True
    if old is None:
        return bool(terms.anti_affinity) or any(term.topology_key in new.labels for term in terms.affinity)
    joins = (term.topology_key for term in terms.affinity)
    leaves = (term.topology_key for term in terms.anti_affinity)
    return any(key in new.labels and old.labels.get(key) != new.labels[key] for key in joins) or any(
        key in old.labels and new.labels.get(key) != old.labels[key] for key in leaves
    )


def _all_mean(terms: Sequence[AffinityTerm], pod: PodFacts | None) -> bool:
    """Whether there are terms, and all of them mean a pod."""
    if pod is None or not terms:
        return False
    return all(_may_admit(term, pod.namespace) and term.selector.matches(pod.labels) for term in terms)


def _may_admit(term: AffinityTerm, namespace: str) -> bool:
    return namespace in term.namespaces or term.namespace_selector != NOTHING


def _terms(pod: PodFacts) -> PodTerms:
    return compile_terms(pod.rules, pod.namespace)


# A partner has to match all required terms of the pod, and so has a pod that it keeps away from: with several terms of
# anti-affinity, a pod that matches only some of them wakes no one. The labels of namespaces are not known here, so a
# selector of namespaces may match any of them: a pod is tried once too often rather than left for minutes. Upstream's hint
# takes namespaces to have no labels, and leaves it.
#: What helps a pod that InterPodAffinity rejected: partners that come, repelled pods that leave, nodes elsewhere.
INTERESTS: Final = (
    Interest(
        Resource.POD,
        Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE,
        _has_partner,
        "a pod comes that it wants to be near, or one goes that it must not be near",
    ),
    Interest(
        Resource.NODE,
        Action.ADD | Action.UPDATE_NODE_LABEL,
        _has_place,
        "a node is added to, or moved between, the domains that its pod affinity is about",
    ),
)
