"""Which pods keep another pod off a node, by anti-affinity in either direction or by a host port."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.state import ClusterState
from restow.kube.labels import NOTHING
from restow.scheduling.plugins.affinity.terms import AffinityTerm, PodTerms, compile_terms

_ANY_ADDRESS = "0.0.0.0"  # noqa: S104  the wildcard of the rule, nothing is bound


class InTheWay:
    """Answers about one incoming pod on one state."""

    def __init__(self, state: ClusterState, incoming: int) -> None:
        self._state = state
        self._pods = state.cluster.pods
        self._nodes = state.cluster.nodes
        self._incoming = incoming
        self._namespaces = state.cluster.namespace_labels()
        self._terms: dict[tuple[int, int], PodTerms] = {}

    def repelling(self, node: int) -> list[int]:
        """The pods that repel the incoming one from a node, or that it repels itself."""
        found = [*self._repelled(node), *self._repellers(node)]
        in_order: list[int] = self._pods.in_order(np.array(found, dtype=np.int64)).tolist()
        return list(dict.fromkeys(in_order))

    def holding_ports(self, node: int) -> list[int]:
        """The pods on a node that hold a host port which the incoming pod wants."""
        wanted = self._pods.tables.ports[self._pods.ports[self._incoming]]
        return [
            pod
            for pod in self._state.pods_on(node).tolist()
            if any(
                (held.protocol, held.port) == (port.protocol, port.port)
                and (held.ip == port.ip or _ANY_ADDRESS in {held.ip, port.ip})
                for held in self._pods.tables.ports[self._pods.ports[pod]]
                for port in wanted
            )
        ]

    def _repelled(self, node: int) -> Iterator[int]:
        for term in self._terms_of(self._incoming).anti_affinity:
            for pod in np.flatnonzero(self._beside(term, node)).tolist():
                if self._means(term, pod):
                    yield pod

    def _repellers(self, node: int) -> Iterator[int]:
        carrying = [rules.pod_anti_affinity is not None for rules in self._pods.tables.rules]
        carriers = np.array(carrying, dtype=bool)[self._pods.rules] & self._state.holds_resources()
        for pod in np.flatnonzero(carriers & (self._state.node >= 0)).tolist():
            for term in self._terms_of(pod).anti_affinity:
                if self._means(term, self._incoming) and self._beside(term, node)[pod]:
                    yield pod

    def _beside(self, term: AffinityTerm, node: int) -> BoolArray:
        """The pods in the same domain of a term's topology as a node, bool[pod]."""
        codes = self._nodes.label_column(term.topology_key).codes
        if codes[node] < 0:
            return np.zeros(len(self._pods), dtype=bool)
        domain = np.append(codes == codes[node], [False, False])
        beside: BoolArray = domain[self._state.node] & self._state.holds_resources()
        return beside

    def _means(self, term: AffinityTerm, pod: int) -> bool:
        namespace = self._pods.tables.namespaces[self._pods.namespace[pod]]
        selects = term.namespace_selector != NOTHING
        admitted = (
            term.admits(namespace, self._namespaces.get(namespace, {})) if selects else (namespace in term.namespaces)
        )
        return admitted and term.selector.matches(self._pods.tables.labels[self._pods.labels[pod]])

    def _terms_of(self, pod: int) -> PodTerms:
        key = int(self._pods.rules[pod]), int(self._pods.namespace[pod])
        if key not in self._terms:
            rules, namespace = self._pods.tables.rules[key[0]], self._pods.tables.namespaces[key[1]]
            self._terms[key] = compile_terms(rules, namespace)
        return self._terms[key]
