"""Inter-pod affinity terms, compiled: which pods a term means and over which topology.

A term belongs to a pod and is read in two directions: it is asked about the pods that are there when its own pod comes,
and about each pod that comes when its own pod is there. Upstream looks at namespaces a little differently then, see
``incoming_namespaces``. Fields ``matchLabelKeys`` and ``mismatchLabelKeys`` are merged into the selector by the API server
and not read here. Source: AffinityTerm and NewPodInfo, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from restow.cluster.pods import Rules
from restow.kube.field_errors import aggregate
from restow.kube.labels import Selector, selector_from
from restow.kube.objects import PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm


@dataclass(slots=True, frozen=True)
class AffinityTerm:
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


@dataclass(slots=True, frozen=True)
class WeightedTerm:
    """A preferred term; anti-affinity has a negative weight."""

    term: AffinityTerm
    weight: int


@dataclass(slots=True, frozen=True)
class PodTerms:
    """All terms of one pod."""

    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred: tuple[WeightedTerm, ...] = ()
    #: Why terms cannot be read: such a pod is not scheduled, and the list that holds the bad term counts as empty.
    problems: tuple[str, ...] = ()

    @property
    def problem(self) -> str | None:
        """All problems as one text, or None."""
        return aggregate(self.problems) if self.problems else None


def compile_terms(rules: Rules, namespace: str) -> PodTerms:
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


def incoming_namespaces(term: AffinityTerm, known: Mapping[str, Mapping[str, str]]) -> frozenset[str] | None:
    """The namespaces that the term of an incoming pod means, given the labels of the known ones; None for all.

    Upstream turns the namespace selector into names, but keeps the selector and goes on asking it about a namespace
    without labels: one that only excludes (NotIn, DoesNotExist) therefore means every namespace.
    """
    if term.namespace_selector.matches({}):
        return None
    return term.namespaces | {name for name, labels in known.items() if term.namespace_selector.matches(labels)}


def _signed(wire: Iterable[WeightedPodAffinityTerm] | None, sign: int) -> list[tuple[PodAffinityTerm, int]]:
    return [(each.pod_affinity_term, sign * each.weight) for each in wire or ()]


def _readable(
    name: str, wire: Iterable[tuple[PodAffinityTerm, int]], namespace: str, problems: list[str]
) -> tuple[WeightedTerm, ...]:
    """The compiled list; empty, with a problem noted, where one of its terms cannot be read."""
    try:
        return tuple(WeightedTerm(_compile(term, namespace), weight) for term, weight in wire)
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
