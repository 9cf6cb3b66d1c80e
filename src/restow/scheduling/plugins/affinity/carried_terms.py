"""The terms that existing pods carry, and which of them mean an incoming pod.

Pods with the same rules in the same namespace carry the same terms: they are a group of *carriers*. An incoming pod
asks for the terms that mean it; the answer, found through an index and kept for every pod that is labelled alike, is
cut down to sets of carriers by topology key and weight, whose presence on the nodes is then simply counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from restow.kube.labels import NOTHING
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.recent import Recent
from restow.scheduling.framework.selector_index import LabelledAs, ScopedSelector, SelectorIndex
from restow.scheduling.plugins.affinity.terms import AffinityTerm


@dataclass(slots=True, frozen=True)
class CarriedTerm:
    """A term that every pod of a group carries."""

    term: AffinityTerm
    weight: int
    group: int


#: Kinds of pods that are remembered with who means them.
_KINDS = 16_384


@dataclass(slots=True, frozen=True, eq=False)
class Carriers:
    """Pods whose terms pull (or push) an incoming pod over one topology; only ever equal to itself."""

    topology_key: str
    #: The sum over the terms of each pod.
    weight: int
    #: Groups of ``Context.carriers``.
    groups: frozenset[int]


class CarriedTerms:
    """Terms of existing pods by whom they mean."""

    def __init__(self, context: Context, carried: Sequence[CarriedTerm]) -> None:
        self._pods = context.state.cluster.pods
        self._namespace_labels = context.namespaces
        self._carried = carried
        self._index = SelectorIndex([_scoped(each.term) for each in carried])
        #: By namespace and labels: several of them may be labelled alike.
        self._of_kind: Recent[tuple[int, int], tuple[Carriers, ...]] = Recent(_KINDS)
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


def _scoped(term: AffinityTerm) -> ScopedSelector:
    return ScopedSelector(term.selector, term.namespaces if term.namespace_selector == NOTHING else None)
