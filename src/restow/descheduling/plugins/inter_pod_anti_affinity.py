"""RemovePodsViolatingInterPodAntiAffinity: pods that share a topology domain with a pod that their anti-affinity excludes.

Source: descheduler v0.36, pkg/framework/plugins/removepodsviolatinginterpodantiaffinity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from restow.cluster.interning import BoolArray, IdArray
from restow.cluster.nodes import NO_LABEL, Nodes
from restow.descheduling.framework import PendingFilters, Strategy, Suggestion, Suggestions, Verdict, View, low_to_high
from restow.descheduling.node_fit import required_anti_affinity
from restow.kube.labels import Selector, selector_from
from restow.kube.objects import PodAffinityTerm
from restow.policies.arguments import PodSelectionArgs, check_pod_selection
from restow.policies.codes import PlacementConstraint
from restow.policies.schema import PluginSchema


class RemovePodsViolatingInterPodAntiAffinityArgs(
    PodSelectionArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True
):
    """``pluginConfig[].args`` of RemovePodsViolatingInterPodAntiAffinity."""


# For every distinct term - selector, namespaces, topology key - the pods that it matches are listed once, by topology
# domain. A pod's anti-affinity is violated while the list of its domain contains a pod of another name that has not
# left. Pods that left are removed from the end of a list when it is read, so each entry is removed once, however many
# pods ask. Source: Descheduler 0.36, CheckPodsWithAntiAffinityExist.
#
# Exactly upstream's rules: only the pod's own terms count; a pod of the same name never violates them, not even one
# of another namespace; on the same node the topology label is not needed; namespaceSelector and matchLabelKeys are
# not read; the first term whose selector cannot be compiled ends the search.
class RepulsionDomains(Struct, frozen=True):
    """The domains of one topology key; a node without the label is a domain of its own."""

    key: str
    #: The domain of each node.
    of_node: list[int]
    #: The label's value by domain; domains of nodes without the label have none.
    values: tuple[str, ...]

    @staticmethod
    def of(nodes: Nodes, key: str) -> RepulsionDomains:
        """The domains that the nodes form."""
        column = nodes.label_column(key)
        alone = len(column.values) + np.arange(len(nodes))
        return RepulsionDomains(key, np.where(column.codes == NO_LABEL, alone, column.codes).tolist(), column.values)

    def text(self, domain: int) -> str:
        """The domain for people: ``in zone=a``, or ``on its node``."""
        return f"in {self.key}={self.values[domain]}" if domain < len(self.values) else "on its node"


class Term(Struct, frozen=True):
    """One distinct term with the pods that it matches, by domain."""

    domains: RepulsionDomains
    matching: dict[int, list[int]]


class Repulsion:
    """Which of the given pods violate each other's anti-affinity. Call ``leave`` for each that leaves."""

    def __init__(self, view: View, present: BoolArray) -> None:
        self._view = view
        self._present = present
        pods = view.pods
        self._pods = pods
        #: Where each pod was at first.
        self._node: IdArray = view.state.node.copy()
        self._namespace_ids = {name: identifier for identifier, name in enumerate(pods.tables.namespaces)}
        self._left: set[int] = set()
        self._domains: dict[str, RepulsionDomains] = {}
        self._terms: dict[tuple[Selector, tuple[int, ...], str], Term] = {}
        self._terms_of: dict[tuple[int, int], tuple[Term, ...]] = {}

    def carriers(self) -> BoolArray:
        """Pods that have required anti-affinity, bool[pod]."""
        pods = self._view.pods
        carries = np.array([required_anti_affinity(rules) != () for rules in pods.tables.rules], dtype=bool)
        carriers: BoolArray = self._present & carries[pods.rules]
        return carriers

    def leave(self, pod: int) -> None:
        """The pod is gone and violates nothing any more."""
        self._left.add(pod)

    def offence(self, pod: int) -> str | None:
        """A sentence about a pod that this one repels and that shares its domain; None if there is none."""
        node = self._node.item(pod)
        for term in self._terms_for(pod):
            domain = term.domains.of_node[node]
            other = self._other(term.matching.get(domain), self._pods.names[pod])
            if other is not None:
                return f"repels {self._view.pods.full_name(other)}, also {term.domains.text(domain)}"
        return None

    def _other(self, matching: list[int] | None, name: str) -> int | None:
        """The last pod of another name that has not left."""
        while matching and matching[-1] in self._left:
            matching.pop()
        still_there = (pod for pod in reversed(matching or ()) if pod not in self._left)
        return next((pod for pod in still_there if self._pods.names[pod] != name), None)

    def _terms_for(self, pod: int) -> tuple[Term, ...]:
        key = int(self._pods.rules[pod]), int(self._pods.namespace[pod])
        terms = self._terms_of.get(key)
        if terms is None:
            terms = self._terms_of[key] = tuple(self._compiled(*key))
        return terms

    def _compiled(self, rules: int, namespace: int) -> Iterator[Term]:
        for wire in required_anti_affinity(self._view.pods.tables.rules[rules]):
            try:
                selector = selector_from(wire.label_selector)
            except ValueError:
                return
            yield self._term(selector, self._namespaces(wire, namespace), wire.topology_key)

    def _namespaces(self, wire: PodAffinityTerm, own: int) -> tuple[int, ...]:
        if not wire.namespaces:
            return (own,)
        known = {self._namespace_ids[name] for name in wire.namespaces if name in self._namespace_ids}
        return tuple(sorted(known))

    def _term(self, selector: Selector, namespaces: tuple[int, ...], topology_key: str) -> Term:
        key = selector, namespaces, topology_key
        term = self._terms.get(key)
        if term is None:
            term = self._terms[key] = Term(self._domains_of(topology_key), {})
            self._fill(term, selector, namespaces)
        return term

    def _fill(self, term: Term, selector: Selector, namespaces: tuple[int, ...]) -> None:
        found = self._view.labels.matching(selector, namespaces)
        # Replacements that were made since are not among the pods given.
        found = self._pods.in_order(found[found < len(self._present)])
        of_node, matching = term.domains.of_node, defaultdict[int, list[int]](list)
        for pod in found[self._present[found]].tolist():
            matching[of_node[self._node[pod]]].append(pod)
        term.matching.update(matching)

    def _domains_of(self, key: str) -> RepulsionDomains:
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = RepulsionDomains.of(self._view.state.cluster.nodes, key)
        return domains


SCHEMA = PluginSchema(
    name="RemovePodsViolatingInterPodAntiAffinity",
    extension_points=("deschedule",),
    args=RemovePodsViolatingInterPodAntiAffinityArgs,
    validate=check_pod_selection,
)


def suggest(view: View, args: RemovePodsViolatingInterPodAntiAffinityArgs) -> Suggestions:
    """Pods of each node, lowest priority first, whose own required anti-affinity a pod that has not left violates.

    The evictor's filters run only when a pod is about to be suggested, so pods that may not be evicted are counterparts too.
    """
    repulsion = Repulsion(view, view.running_pods(args.namespaces, args.label_selector))
    for _, pods in view.by_node(repulsion.carriers() & view.is_due()):
        for pod in low_to_high(view.pods, pods).tolist():
            reason = repulsion.offence(pod)
            if reason is None:
                continue
            verdict = yield Suggestion(pod, reason, PlacementConstraint.ELSEWHERE, PendingFilters.ALL)
            if verdict is Verdict.TOTAL_LIMIT:
                return
            if verdict is Verdict.NODE_LIMIT:
                break
            if verdict is Verdict.EVICTED:
                repulsion.leave(pod)


STRATEGY = Strategy(SCHEMA, suggest)
