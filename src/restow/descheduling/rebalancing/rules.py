"""The scheduler's rules as the search core knows them: classes with a mask of nodes, and limits for each workload.

The core knows fewer rules than kube-scheduler. What it does not know is made stricter here, so that most of what it
finds can be proven: a pod with required affinity or anti-affinity about a topology domain, or a claim in a zone, stays in
the domain where it is, and so does one with a hard spread constraint that is no rule of the search (``spread_rules``). Rules between
different workloads on one node are left to the proof, and what that refuses the planner forbids (``plugins.rebalance``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np

from restow.cluster.interning import BoolArray, IdArray, IntArray, combine
from restow.cluster.nodes import NO_LABEL
from restow.cluster.pod_values import Flag, PlacementRules, PodTables
from restow.descheduling.framework import View
from restow.descheduling.node_fit import required_anti_affinity
from restow.descheduling.protections import flagged
from restow.descheduling.rebalancing.topology_keys import (
    HOSTNAME,
    ZONE,
    affinity_terms,
    hard,
    spreading_keys,
    tying_keys,
)
from restow.kube.labels import selector_from
from restow.kube.objects import LabelSelector
from restow.optimizing.problem import Services

#: Not bound to a domain of a key, and bound to be in any domain.
_FREE, _LABELLED = -2, -3
_NONE: Final[Mapping[str, BoolArray]] = MappingProxyType({})


def bound_to_node(view: View, pods: IntArray) -> BoolArray:
    """Which pods required podAffinity keeps on their very node (topologyKey kubernetes.io/hostname), bool[len(pods)]."""
    bound = [any(term.topology_key == HOSTNAME for term in affinity_terms(rules)) for rules in view.pods.tables.rules]
    return np.array(bound, dtype=bool)[view.pods.rules[pods]]


def classes(
    view: View, pods: IntArray, nodes: IntArray, free: Mapping[str, BoolArray] = _NONE
) -> tuple[IdArray, BoolArray]:
    """The class of each pod, int32[len(pods)], and on which of the nodes a class may be put, bool[class, len(nodes)].

    ``free`` are the pods that may change their domain of a topology key in spite of a spread constraint, bool[len(pods)].
    """
    fit = np.fromiter(map(view.fit.classes.values.__getitem__, pods.tolist()), dtype=np.int64, count=len(pods))
    bindings = list(_bindings(view, pods, free))
    class_of, rows = combine(fit, *(codes for _, codes in bindings))
    first = np.unique(class_of, return_index=True)[1] if len(pods) else np.zeros(0, dtype=np.int64)
    allowed = np.zeros((len(rows), len(nodes)), dtype=bool)
    is_open = ~view.closed[nodes]
    for number, (pod, row) in enumerate(zip(pods[first].tolist(), rows, strict=True)):
        allowed[number] = view.fit.static(pod)[nodes] & is_open
        for (key, _), code in zip(bindings, row[1:].tolist(), strict=True):
            allowed[number] &= _in_domain(view.state.cluster.nodes.label_column(key).codes[nodes], code)
    return class_of, allowed


def _in_domain(codes: IdArray, code: int) -> BoolArray:
    """Which nodes a binding allows, by their domains."""
    if code == _FREE:
        return np.ones(len(codes), dtype=bool)
    allowed: BoolArray = codes != NO_LABEL if code == _LABELLED else codes == code
    return allowed


def _bindings(view: View, pods: IntArray, free: Mapping[str, BoolArray]) -> Iterator[tuple[str, IntArray]]:
    """Each topology key to which some pods are bound, and the code of each pod's domain, ``_LABELLED`` or ``_FREE``."""
    tables, nodes = view.pods.tables, view.state.cluster.nodes
    pair_of, pairs = combine(view.pods.rules[pods], view.pods.spread[pods])
    keys_of = [
        tying_keys(tables.rules[rules]) | spreading_keys(tables.spread[spread]) for rules, spread in pairs.tolist()
    ]
    claims = flagged(view.pods, Flag.CLAIMS).of(pods)
    none = np.zeros(len(pods), dtype=bool)
    for key in sorted({ZONE}.union(*keys_of)):
        claimed = claims & (key == ZONE)
        bound = np.array([key in keys for keys in keys_of], dtype=bool)[pair_of] | claimed
        if bound.any():
            here = view.state.node[pods]
            codes = np.where(free.get(key, none) & ~claimed, _LABELLED, nodes.label_column(key).codes[here])
            yield key, np.where(bound & (here >= 0), codes, _FREE)


def services(view: View, pods: IntArray, others: IntArray, machine: IntArray) -> tuple[IdArray, Services]:
    """The service of each pod, int32[len(pods)], and how many pods of each service may be on a machine.

    Pods of a service are of one namespace and have the same labels and rules. ``others`` are pods that stay; they count.
    ``machine`` is that of each node.
    """
    both = np.concatenate((pods, others))
    columns = view.pods
    keys = (getattr(columns, name)[both] for name in ("namespace", "labels", "rules", "ports", "spread"))
    service_of, rows = combine(*keys)
    sizes = np.bincount(service_of, minlength=len(rows)).tolist()
    nodes = max(len(view.compared), 1)
    limits = [_limit(columns.tables, row, size // nodes) for row, size in zip(rows.tolist(), sizes, strict=True)]
    limit = np.array(limits, dtype=np.int32)
    place = machine[view.state.node[both]]
    counted = np.flatnonzero(limit[service_of]) if len(both) else np.zeros(0, np.int64)
    staying = counted[counted >= len(pods)]
    there = _counts(service_of[staying], place[staying]).astype(np.int32)
    return service_of[: len(pods)], replace(Services.without_rules(len(limit)), limit=limit, staying=there)


def _limit(tables: PodTables, row: Sequence[int], share: int) -> int:
    """How many pods of a service a node may have, 0 without a limit; ``share`` is how many each node has if all have as many.

    One for pods with a hostPort and for those whose required podAntiAffinity for the hostname matches themselves;
    for a spread constraint of the hostname that says DoNotSchedule, its skew more than the fewest on any node.
    """
    namespace, labels, rules, ports, spread = row
    own = tables.labels[labels]
    if tables.ports[ports] or _repels_itself(tables.namespaces[namespace], own, tables.rules[rules]):
        return 1
    by_node = [each for each in hard(tables.spread[spread]) if each.topology_key == HOSTNAME]
    return min((share + each.max_skew for each in by_node if _selects(each.label_selector, own)), default=0)


def _counts(service: IdArray, place: IntArray) -> IntArray:
    """How many of each service are on each machine: rows of service, machine and number."""
    pairs, counts = np.unique(np.stack([service.astype(np.int64), place]), axis=1, return_counts=True)
    found: IntArray = np.column_stack([pairs.T, counts]) if len(service) else np.zeros((0, 3), np.int64)
    return found


def _repels_itself(namespace: str, labels: Mapping[str, str], rules: PlacementRules) -> bool:
    return any(
        term.topology_key == HOSTNAME
        and namespace in (term.namespaces or (namespace,))
        and _selects(term.label_selector, labels)
        for term in required_anti_affinity(rules)
    )


def _selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether a labelSelector matches; one that does not compile matches nothing."""
    try:
        return selector is not None and selector_from(selector).matches(labels)
    except ValueError:
        return False
