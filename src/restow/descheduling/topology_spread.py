"""Uneven topology domains: the distinct ``topologySpreadConstraints`` of a cluster, and which pods should leave a domain.

Two constraints are the same if they agree in namespace, skew, topology key, selector, and - if their policies honour
them - node selection and tolerations of the pod that carries them. Whether they are hard or soft does not count, nor
does the least number of domains.

A domain is a value of the topology label. It exists if an eligible node carries it, or if a counted pod is on a node
that does, eligible or not. All constraints are balanced on the same, unchanged state, so what depends on the nodes
alone is kept from one constraint to the next, and domains without pods are only counted: with 15,000 workloads that have
a constraint each, and 5,000 nodes that are a domain each, there is no time to look at every domain. Source: Descheduler 0.36,
plugins/removepodsviolatingtopologyspreadconstraint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray, combine
from restow.cluster.nodes import NO_LABEL, LabelColumn
from restow.cluster.pod_values import Flag
from restow.cluster.pods import Pods
from restow.descheduling.framework import PendingFilters, Suggestion, View
from restow.descheduling.node_fit import OpenNodes
from restow.kube.labels import Requirement, Selector, selector_from
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import Toleration, TopologySpreadConstraint
from restow.policies.codes import PlacementConstraint

_HONOR = "Honor"


class SpreadConstraint(Struct, frozen=True):
    """One constraint on the pods of one namespace."""

    #: Identifier of the namespace.
    namespace: int
    max_skew: int
    topology_key: str
    #: The pods that are counted.
    selector: Selector
    #: Nodes that count must match this, None for any.
    selection: NodeSelection | None
    #: The taints of nodes that count must be tolerated by these, None for any.
    tolerations: tuple[Toleration, ...] | None


class _Carrier(NamedTuple):
    """What a constraint may take from its pod, as identifiers: pods with the same ones have the same constraints."""

    namespace: int
    spread: int
    #: 0 if no constraint of the pod reads its labels.
    labels: int
    rules: int
    tolerations: int


def spread_constraints(pods: Pods, chosen: IntArray, actions: Collection[str]) -> list[SpreadConstraint]:
    """The distinct constraints of these pods whose ``whenUnsatisfiable`` is among the actions.

    They come by namespace, in the order of the first pods that have them. A constraint whose selector cannot be compiled is
    left out, as upstream does.
    """
    identifiers, position = np.unique(pods.spread[chosen], return_inverse=True)
    listed = map(pods.tables.spread.__getitem__, identifiers.tolist())
    relevant = [[each for each in some if each.when_unsatisfiable in actions] for some in listed]
    carries = np.array([bool(each) for each in relevant], dtype=bool)[position]
    chosen, position = chosen[carries], position[carries]
    by_labels = np.array([any(each.match_label_keys for each in some) for some in relevant], dtype=bool)
    labels = np.where(by_labels[position], pods.labels[chosen], 0)
    spread = pods.spread[chosen]
    row_of, rows = combine(pods.namespace[chosen], spread, labels, pods.rules[chosen], pods.tolerations[chosen])
    compiled = {each: list(_compiled(some)) for each, some in zip(identifiers.tolist(), relevant, strict=True)}
    _, first = np.unique(row_of, return_index=True)
    carriers = [_Carrier(*row) for row in rows[np.lexsort((first, rows[:, 0]))].tolist()]
    found = (_constraint(pods, each, *wire) for each in carriers for wire in compiled[each.spread])
    return list(dict.fromkeys(found))


def _compiled(listed: list[TopologySpreadConstraint]) -> Iterator[tuple[TopologySpreadConstraint, Selector]]:
    for wire in listed:
        try:
            yield wire, selector_from(wire.label_selector)
        except ValueError:
            continue


def _constraint(pods: Pods, carrier: _Carrier, wire: TopologySpreadConstraint, selector: Selector) -> SpreadConstraint:
    affinity_counts = (wire.node_affinity_policy or _HONOR) == _HONOR
    taints_count = wire.node_taints_policy == _HONOR
    return SpreadConstraint(
        namespace=carrier.namespace,
        max_skew=wire.max_skew,
        topology_key=wire.topology_key,
        selector=_narrowed(selector, wire.match_label_keys or (), pods.tables.labels[carrier.labels]),
        selection=pods.tables.rules[carrier.rules].selection if affinity_counts else None,
        tolerations=pods.tables.tolerations[carrier.tolerations] if taints_count else None,
    )


def _narrowed(selector: Selector, keys: Collection[str], labels: Mapping[str, str]) -> Selector:
    """The selector, narrowed by the keys of labels to match: pods must also have the carrying pod's values of these labels."""
    same = [Requirement(key, "In", (labels[key],)) for key in keys if key in labels]
    if not same or not selector.selectable:
        return selector
    requirements = sorted((*same, *selector.requirements), key=lambda each: each.key)
    return Selector(tuple(requirements))


#: Everything that decides where a constraint counts: topology key, node selection and tolerations.
_Place = tuple[str, NodeSelection | None, tuple[Toleration, ...] | None]


class SpreadDomains(Struct, frozen=True):
    """The topology domains of a constraint before any pod is looked at."""

    column: LabelColumn
    #: The code of the domain of every pod, NO_LABEL where its node does not carry the key.
    of_pod: list[int]
    #: Listed nodes that the inclusion policies let count, bool[node].
    eligible: BoolArray
    #: Domains of eligible nodes; they exist even without pods.
    codes: frozenset[int]


class Balancer:
    """Balances one constraint after the other on the same, unchanged state."""

    def __init__(self, view: View, counted: IntArray, *, must_fit: bool) -> None:
        self._view = view
        self._must_fit = must_fit
        self._counted = np.zeros(len(view.pods), dtype=bool)
        self._counted[counted] = True
        self._counted &= ~view.pods.has(Flag.TERMINATING)
        self._open = OpenNodes(view.state.cluster.nodes)
        self._domains: dict[_Place, SpreadDomains] = {}
        self._of_pod: dict[str, list[int]] = {}

    @cached_property
    def _rank(self) -> list[int]:
        return _ranks(self._view)

    @cached_property
    def _ranked(self) -> list[int]:
        return _ranked(self._view)

    def leaving(self, constraint: SpreadConstraint) -> Iterator[Suggestion]:
        """The pods that must leave their domain, each with the reason and the nodes it should move to."""
        domains = self.domains_of(constraint)
        members = self.members(constraint, domains)
        empty = len(domains.codes) - sum(code in domains.codes for code in members)
        sizes = [len(pods) for pods in members.values()]
        if not sizes or max(sizes) - (0 if empty else min(sizes)) <= constraint.max_skew:
            return
        sizes = [0] * empty + sorted(sizes)
        fits = _Fits(self._view, self._below(domains, members, sum(sizes) / len(sizes)))
        values = domains.column.values
        pods = np.array([pod for of_domain in members.values() for pod in of_domain])
        accepts = partial(self._below_share, domains, pods, ceil(sum(sizes) / len(sizes)))
        cost = partial(self._cost, domains, pods)
        occupied = sorted(members, key=lambda code: (len(members[code]), values[code]))
        left: dict[int, list[int]] = {}
        for position, count in surrenders(sizes, constraint.max_skew):
            code = occupied[position - empty]
            if code not in left:
                left[code] = self._in_order_of_leaving(members[code], fits)
            reason = (
                f"{constraint.topology_key}={values[code]} has {len(members[code])} matching pods, "
                f"the emptiest domain {sizes[0]}, maxSkew {constraint.max_skew}"
            )
            for pod in left[code][-count:]:
                if fits(pod) or not self._must_fit:
                    worse = partial(self._has_as_many, domains, pods, pod, code)
                    yield Suggestion(pod, reason, PlacementConstraint.BETTER, PendingFilters.ALL, accepts, worse, cost)
            del left[code][-count:]

    def _in_order_of_leaving(self, pods: list[int], fits: _Fits) -> list[int]:
        """The pods of a domain with the first to leave at the end. Those that fit nowhere below the average leave last."""
        ranked = sorted(pods, key=self._rank.__getitem__)
        if self._view.proves:
            ranked = self._by_turns(ranked)
        return sorted(ranked, key=fits)

    def _by_turns(self, pods: list[int]) -> list[int]:
        """Rank pods so that, among equals, the fullest nodes give up pods first and nodes become even."""
        seen: Counter[int] = Counter()
        refs = {}
        for pod in pods:
            node = int(self._view.state.node[pod])
            refs[pod] = self._ranked[pod], seen[node]
            seen[node] += 1
        return sorted(pods, key=refs.__getitem__)

    def members(self, constraint: SpreadConstraint, domains: SpreadDomains) -> dict[int, list[int]]:
        """The counted pods of each domain that has any, including domains of nodes that are not eligible."""
        members: dict[int, list[int]] = {}
        for pod in self.matching(constraint).tolist():
            code = domains.of_pod[pod]
            if code != NO_LABEL:
                members.setdefault(code, []).append(pod)
        return members

    def matching(self, constraint: SpreadConstraint) -> IntArray:
        """The counted pods that a constraint is about, wherever they are."""
        matching = self._view.labels.matching(constraint.selector, (constraint.namespace,))
        found: IntArray = matching[self._counted[matching]]
        return found

    def _below(self, domains: SpreadDomains, members: dict[int, list[int]], average: float) -> BoolArray:
        """Eligible nodes of domains with fewer pods than the average, bool[node]."""
        below = np.ones(len(domains.column.values) + 1, dtype=bool)
        below[NO_LABEL] = False
        for code, pods in members.items():
            below[code] = len(pods) < average
        return domains.eligible & below[domains.column.codes]

    def _below_share(self, domains: SpreadDomains, pods: IntArray, share: int, nodes: IntArray) -> BoolArray:
        """Nodes of domains that would not exceed their share with one more of these pods, on the state as it is now."""
        codes = domains.column.codes[nodes]
        below: BoolArray = (codes != NO_LABEL) & (self._counts(domains, pods)[codes] < share)
        return below

    def _has_as_many(self, domains: SpreadDomains, pods: IntArray, pod: int, source: int, nodes: IntArray) -> BoolArray:
        """Nodes of domains with at least as many of these pods as the domain that a pod leaves: landing there worsens skew."""
        counts, codes = self._counts(domains, pods), domains.column.codes[nodes]
        leaving = not self._view.state.exists[pod]
        as_many: BoolArray = (codes != NO_LABEL) & (codes != source) & (counts[codes] >= counts[source] + leaving)
        return as_many

    def _cost(self, domains: SpreadDomains, pods: IntArray, nodes: IntArray) -> npt.NDArray[np.float64]:
        """The cost of one more pod on each node: how many of these pods its domain has."""
        return self._counts(domains, pods)[domains.column.codes[nodes]].astype(np.float64)

    def _counts(self, domains: SpreadDomains, pods: IntArray) -> IntArray:
        """How many of these pods and their replacements are in each domain now; the last entry is for nodes without one."""
        codes = domains.column.codes
        per_node = self._view.counts_on(pods, np.arange(len(codes)))
        labelled = codes != NO_LABEL
        counts: IntArray = np.zeros(len(domains.column.values) + 1, dtype=np.int64)
        np.add.at(counts, codes[labelled], per_node[labelled])
        return counts

    def domains_of(self, constraint: SpreadConstraint) -> SpreadDomains:
        """Where a constraint counts."""
        place = (constraint.topology_key, constraint.selection, constraint.tolerations)
        known = self._domains.get(place)
        if known is None:
            known = self._domains[place] = self._find_domains(*place)
        return known

    def _find_domains(
        self, key: str, selection: NodeSelection | None, tolerations: tuple[Toleration, ...] | None
    ) -> SpreadDomains:
        eligible = self._view.is_listed
        if selection is not None:
            eligible = eligible & self._open.selected(selection)
        if tolerations is not None:
            eligible = eligible & self._open.tolerated(tolerations)
        column = self._view.state.cluster.nodes.label_column(key)
        if key not in self._of_pod:
            self._of_pod[key] = np.append(column.codes, [NO_LABEL, NO_LABEL])[self._view.state.node].tolist()
        codes = frozenset(column.codes[eligible].tolist()) - {NO_LABEL}
        return SpreadDomains(column, self._of_pod[key], eligible, codes)


class _Fits:
    """Whether a pod fits some node below the average; found once for pods that are alike."""

    def __init__(self, view: View, below: BoolArray) -> None:
        self._view = view
        self._below = below
        self._class_of = view.fit.classes.values
        self._known: dict[int, bool] = {}

    def __call__(self, pod: int) -> bool:
        """Return whether some node fits; pods of full domains have no node of their own among them."""
        pods = self._view.pods
        if pods.tables.rules[pods.rules[pod]].pod_anti_affinity is not None:
            return self._view.fit.fits_any_other(pod, self._below)
        alike = self._class_of[pod]
        known = self._known.get(alike)
        if known is None:
            known = self._known[alike] = self._view.fit.fits_any_other(pod, self._below)
        return known


def _ranks(view: View) -> list[int]:
    """The rank of each pod in the order in which domains keep them: rank 0 is kept longest.

    Pods with a node selector or any node affinity stay before those without, then pods without priority, then those of
    low priority: the highest priority goes first. Ties in order of nodes and pods, as they are listed.
    """
    pods = view.pods
    ranks = np.empty(len(pods), dtype=np.int64)
    ranks[np.lexsort((pods.rank, view.state.node, pods.priority, pods.has_priority, _free(view)))] = np.arange(
        len(pods)
    )
    by_pod: list[int] = ranks.tolist()
    return by_pod


def _ranked(view: View) -> list[int]:
    """Ranks that are equal for pods that only differ in node and name."""
    pods = view.pods
    ranks: list[int] = combine(_free(view).view(np.int8), pods.has_priority.view(np.int8), pods.priority)[0].tolist()
    return ranks


def _free(view: View) -> BoolArray:
    """Pods without node selector and node affinity, bool[pod]."""
    bound = [rules.has_node_selector or rules.has_node_affinity for rules in view.pods.tables.rules]
    free: BoolArray = ~np.array(bound, dtype=bool)[view.pods.rules]
    return free


# Domains are sorted by size. One pointer goes from the emptiest upwards, one from the fullest downwards. The fuller domain
# gives the emptier one the least of three numbers of pods: what it has above the average, what the other lacks to the
# average, and half of what their difference exceeds the allowed skew by. Source: Descheduler 0.36,
# plugins/removepodsviolatingtopologyspreadconstraint, balanceDomains.
def surrenders(sizes: Sequence[int], max_skew: int) -> Iterator[tuple[int, int]]:
    """Return how many pods each domain gives up, in the order in which upstream finds them; ``sizes`` is ascending.

    Upstream continues until the pointers meet. Two conditions end it earlier with the same result: if the emptiest domain that
    has received nothing may receive nothing, no larger one may; and if no domain is above the average, none gives up pods.
    That matters if each of thousands of nodes is a domain.
    """
    counts = list(sizes)
    average = sum(counts) / len(counts)
    low, high = 0, len(counts) - 1
    while low < high:
        if counts[high] <= average:
            high -= 1
            if counts[high] <= average:
                return
        moved = _moved(counts[low], counts[high], average, max_skew)
        if moved > 0:
            counts[low] += moved
            counts[high] -= moved
            yield high, moved
        elif counts[low] == sizes[low]:
            return
        else:
            low += 1


def _moved(low: int, high: int, average: float, max_skew: int) -> int:
    skew = high - low
    if skew <= max_skew:
        return 0
    return min(ceil(high - average), ceil(average - low), ceil((skew - max_skew) / 2))
