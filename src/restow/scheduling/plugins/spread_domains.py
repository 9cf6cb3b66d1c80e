"""Where a spread constraint counts pods: the nodes that have all topology keys and that its policies admit.

The policies are ``nodeAffinityPolicy`` and ``nodeTaintsPolicy``. The answer depends on the keys, the pod's node
selection and its tolerations, of which there are few distinct ones; it is worked out once for each combination. Source:
matchNodeInclusionPolicies, Kubernetes 1.36.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray, Interner
from restow.cluster.node_matching import matches
from restow.cluster.nodes import NodePart
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.node_selection import NodeSelection
from restow.scheduling.framework.caches import LruCache
from restow.scheduling.framework.pod_counts import NO_DOMAIN, Domains, PodCounts, Topologies
from restow.scheduling.plugins.spread_terms import SpreadTerm
from restow.scheduling.plugins.taint_toleration import tolerates_hard_taints


class CountedDomains(Struct, frozen=True):
    """The domains of one constraint for one kind of pod."""

    domains: Domains
    #: The domains that have a node that counts, even without pods.
    existing: IntArray


class _Question(NamedTuple):
    topology_key: str
    #: Keys that a node must have to count; empty where nodes count without them.
    required_keys: tuple[str, ...]
    #: By number; None where the constraint does not honour affinity.
    selection: int | None
    #: None where the constraint does not honour taints.
    tolerations: int | None


class DomainCounter:
    """The counted domains of one cluster's pods."""

    def __init__(self, cluster: ClusterSnapshot, topologies: Topologies, counts: PodCounts) -> None:
        self._nodes = cluster.nodes
        self._pods = cluster.pods
        self._topologies = topologies
        self._counts = counts
        #: The distinct node selections of pods, and which of them each set of rules has.
        self._selections: Interner[NodeSelection] = Interner()
        self._selection_of: list[int] = []
        self._forget()
        self._nodes.follow(NodePart.POSITION | NodePart.ASKED_LABELS, self._forget)
        self._nodes.follow(NodePart.TAINTS, self._forget_tainted)

    def _forget(self) -> None:
        self._known: LruCache[_Question, CountedDomains] = LruCache()
        #: Those that depend on taints.
        self._tainted: LruCache[_Question, CountedDomains] = LruCache()
        self._with_all: dict[tuple[str, ...], BoolArray] = {}
        self._everywhere: dict[str, bool] = {}

    def _forget_tainted(self) -> None:
        self._counts.forget({known.domains for known in self._tainted.values()})
        self._tainted = LruCache()

    def counted(self, pod: int, term: SpreadTerm, required_keys: tuple[str, ...]) -> CountedDomains:
        """Where a constraint of a pod counts. Without required keys an absent label is like an empty one."""
        question = _Question(
            term.topology_key,
            required_keys,
            self._selection(int(self._pods.rules[pod])) if term.honors_affinity else None,
            int(self._pods.tolerations[pod]) if term.honors_taints else None,
        )
        kept = self._known if question.tolerations is None else self._tainted
        known = kept.get(question)
        if known is None:
            known = self._count(question)
            kept.put(question, known)
        return known

    def _selection(self, rules: int) -> int:
        if rules >= len(self._selection_of):
            new = self._pods.tables.rules[len(self._selection_of) :]
            self._selection_of += self._selections.ids(each.selection for each in new)
        return self._selection_of[rules]

    def with_all(self, keys: tuple[str, ...]) -> BoolArray:
        """The nodes that have every one of some labels, bool[node]; not to be changed by the caller."""
        known = self._with_all.get(keys)
        if known is None:
            labelled = (self._topologies.domains(key).of_node != NO_DOMAIN for key in keys)
            known = self._with_all[keys] = reduce(np.logical_and, labelled, np.ones(len(self._nodes), dtype=bool))
        return known

    def everywhere(self, key: str) -> bool:
        """Whether all nodes have a label."""
        known = self._everywhere.get(key)
        if known is None:
            known = self._everywhere[key] = bool(self.with_all((key,)).all())
        return known

    def _count(self, question: _Question) -> CountedDomains:
        counts = self.with_all(question.required_keys)
        if question.selection is not None:
            counts = counts & matches(self._selections.keys()[question.selection], self._nodes)
        if question.tolerations is not None:
            counts = counts & self._tolerated(question.tolerations)
        topology = self._topologies.domains if question.required_keys else self._topologies.complete
        domains = topology(question.topology_key).only(counts)
        return CountedDomains(domains, domains.existing())

    def _tolerated(self, tolerations: int) -> BoolArray:
        known = self._pods.tables.tolerations[tolerations]
        tolerated = [tolerates_hard_taints(known, taints) for taints in self._nodes.taint_sets]
        return np.array(tolerated, dtype=bool)[self._nodes.taints]
