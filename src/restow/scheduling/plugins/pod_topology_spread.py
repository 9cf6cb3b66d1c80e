"""PodTopologySpread: pods of a kind are spread over zones, nodes or any other topology domains.

A hard constraint rejects nodes whose domain would get too far ahead of the emptiest one; soft constraints prefer nodes
in emptier domains, weighted so that topologies with few domains are not drowned out by those with many. Terminating
pods do not count. Source: Kubernetes 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.kube.objects import TopologySpreadConstraint
from restow.scheduling.context import Context
from restow.scheduling.framework import (
    MAX_SCORE,
    PASSES,
    PROCEED,
    SKIP,
    Categories,
    Judgement,
    Outcome,
    PreFiltered,
    Scores,
)
from restow.scheduling.selected_pods import selected
from restow.scheduling.spread_domains import SpreadDomains
from restow.scheduling.spread_terms import HOSTNAME, Defaulting, SpreadCompiler, SpreadTerm
from restow.scheduling.topology import NO_DOMAIN, Topologies

NAME = "PodTopologySpread"

Floats = npt.NDArray[np.float64]

_MISMATCH = "node(s) didn't match pod topology spread constraints"
_OUTCOMES = (Outcome((f"{_MISMATCH} (missing required label)",), unresolvable=True), Outcome((_MISMATCH,)))
_UNLABELLED, _SKEWED = range(len(_OUTCOMES))
#: The least number of pods in a domain where there is no domain.
_NO_MINIMUM = 2**31 - 1


class PodTopologySpread:
    """Filter and score."""

    name = NAME
    local = False

    def __init__(
        self,
        context: Context,
        defaulting: Defaulting = "System",
        default_constraints: Sequence[TopologySpreadConstraint] = (),
    ) -> None:
        self._context = context
        self._nodes = context.state.cluster.nodes
        self._pods = context.state.cluster.pods
        self._compiler = SpreadCompiler(context.state.cluster, defaulting, default_constraints)
        self._topologies = Topologies(self._nodes)
        self._domains = SpreadDomains(context.state.cluster, self._topologies)

    def prefilter(self, pod: int) -> PreFiltered:
        """Skip pods without hard constraints."""
        terms = self._compiler.terms(pod)
        if terms.problem is not None:
            return PreFiltered(failure=Outcome((f"get constraints from pod: {terms.problem}",), unresolvable=True))
        return PROCEED if terms.hard else SKIP

    def judge(self, pod: int, nodes: IntArray) -> Judgement:
        """Reject nodes by the first constraint, in the pod's order, that would be violated there."""
        hard = self._compiler.terms(pod).hard
        keys = tuple(term.topology_key for term in hard)
        category = np.full(len(nodes), PASSES)
        for term in hard:
            category = np.where(category == PASSES, self._violations(pod, term, keys, nodes), category)
        return Judgement(category, _OUTCOMES)

    def score(self, pod: int, nodes: IntArray) -> Scores | None:
        """Fewer pods in the domains of a node are better; nodes that lack a topology key get nothing."""
        terms = self._compiler.terms(pod)
        if not terms.soft or len(nodes) == 0:
            return None
        keys = tuple(term.topology_key for term in terms.soft) if terms.requires_all_keys else ()
        scored = self._domains.with_all(keys)[nodes]
        candidates = nodes[scored]
        crowd = np.zeros(len(candidates))
        for term in terms.soft:
            crowd += self._crowd(pod, term, keys, candidates)
        scores = np.zeros(len(nodes), dtype=np.int64)
        scores[scored] = _normalised(_rounded(crowd))
        return scores

    def _violations(self, pod: int, term: SpreadTerm, keys: tuple[str, ...], nodes: IntArray) -> Categories:
        counted = self._domains.counted(pod, term, keys)
        totals = counted.domains.totals(self._count(pod, term))
        minimum = 0
        if len(counted.existing) >= term.min_domains:
            minimum = int(totals[counted.existing].min(initial=_NO_MINIMUM))
        labels = self._pods.tables.labels[self._pods.labels[pod]]
        most = term.max_skew + minimum - int(term.selector.matches(labels))
        domain = self._topologies.domains(term.topology_key).of_node[nodes]
        return np.where(domain == NO_DOMAIN, _UNLABELLED, np.where(totals[domain] > most, _SKEWED, PASSES))

    def _crowd(self, pod: int, term: SpreadTerm, keys: tuple[str, ...], nodes: IntArray) -> Floats:
        """How much one constraint speaks against each node."""
        counts = self._count(pod, term)
        if term.topology_key == HOSTNAME:
            size, pods = len(nodes), counts[nodes]
        else:
            counted = self._domains.counted(pod, term, keys)
            domain = self._topologies.complete(term.topology_key).of_node[nodes]
            size = int(np.count_nonzero(np.bincount(domain)))
            pods = counted.domains.totals(counts)[domain]
        crowd: Floats = pods * np.float64(math.log(size + 2)) + (term.max_skew - 1)
        crowd[self._topologies.domains(term.topology_key).of_node[nodes] == NO_DOMAIN] = 0
        return crowd

    def _count(self, pod: int, term: SpreadTerm) -> npt.NDArray[np.int64]:
        """How many pods each node has that the constraint counts; a selector that asks for nothing counts nothing."""
        if not term.selector.requirements:
            return np.zeros(len(self._nodes), dtype=np.int64)
        namespaces = frozenset((int(self._pods.namespace[pod]),))
        return selected(self._context, (term.selector, namespaces)).staying


def _rounded(values: Floats) -> Scores:
    """To the nearest integer, halves away from zero, as Go does; NumPy would round them to even."""
    whole = np.trunc(values)
    return (whole + np.where(np.abs(values - whole) >= 0.5, np.sign(values), 0)).astype(np.int64)


def _normalised(raw: Scores) -> Scores:
    """100 for the emptiest, less for others in proportion to the fullest."""
    highest = int(raw.max(initial=0))
    if highest == 0:
        return np.full_like(raw, MAX_SCORE)
    scores: Scores = MAX_SCORE * (highest + raw.min() - raw) // highest
    return scores
