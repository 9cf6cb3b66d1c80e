"""Upstream's nodeFit: could this pod run on another node, by the subset of rules that the Descheduler checks.

Checked: unschedulable, node selector and required node affinity, NoSchedule and NoExecute taints, the pod's own
required anti-affinity against pods on that very node, and requests. Not checked, as upstream: other pods' anti-affinity,
other nodes of the same topology domain, pod affinity, spread, ports, volumes. Nothing is reserved: each pod is checked
alone. Source: Descheduler 0.36, node.NodeFit.

Verdicts are kept per class of pods (requests, tolerations, node affinity) as bool[node]; when pods leave, only the nodes
that changed since are checked again. Anti-affinity depends on which pods are where, so it is counted each time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.node_matching import matches
from restow.cluster.nodes import BASIC_RESOURCES, NO_LABEL, PODS, Nodes
from restow.cluster.pod_classes import Aspect, LabelGroups, columns_of, pod_classes
from restow.cluster.pod_columns import PodColumn, PodGroups, PodIndex, by_value
from restow.cluster.pod_values import PlacementRules
from restow.cluster.state import ClusterState
from restow.kube.labels import selector_from
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import PodAffinityTerm, Toleration
from restow.kube.taints import HARD_EFFECTS, all_tolerated

#: The positions of these columns in a class.
_RESOURCES, _TOLERATIONS, _RULES = map(columns_of(Aspect.NODE_FIT).index, ("resources", "tolerations", "rules"))


@dataclass(slots=True)
class _ClassVerdict:
    """Which nodes fit a class of pods, and up to which entry of the state's change log that is known."""

    #: Unschedulable, selector and taints: these never change while a plan is made.
    static: BoolArray
    #: ``static`` and enough free resources.
    fits: BoolArray
    read: int
    #: A node that fitted the class when it was last asked, or -1. Evictions only make room, so it mostly still does,
    #: and checking one node is far cheaper than bringing ``fits`` up to date.
    witness: int = -1


class _Explanation(Struct, frozen=True):
    """For a class of pods: which rule each node fails first, as a position in ``reasons``."""

    reasons: tuple[str, ...]
    first: npt.NDArray[np.int64]
    read: int

    def text(self, among: BoolArray, own: int) -> str:
        counts = np.bincount(self.first[among], minlength=len(self.reasons) + 1)
        if own >= 0 and among[own]:
            counts[self.first[own]] -= 1
        ranked = sorted(zip((-counts[:-1]).tolist(), self.reasons, strict=True))
        return ", ".join(f"{-negative} {reason}" for negative, reason in ranked if negative)


class NodeFit:
    """Whether pods fit on nodes of one state, which may change between calls."""

    def __init__(self, state: ClusterState, labels: LabelGroups, apart: Collection[str] = ()) -> None:
        """``apart`` are resources that no node has to list."""
        self._state = state
        self._apart = apart
        self._labels = labels
        self._verdicts: dict[int, _ClassVerdict] = {}
        self._open = OpenNodes(state.cluster.nodes)
        self._explanations: dict[int, _Explanation] = {}

    def fits_any_other(self, pod: int, among: BoolArray) -> bool:
        """Whether some node of the mask other than the pod's own fits. Source: PodFitsAnyOtherNode."""
        own = int(self._state.node[pod])
        if self._fits_witness(pod, among, own):
            return True
        fits = self._fitting(pod) & among
        if own >= 0:
            fits[own] = False
        return self._remember(pod, fits)

    def fits_any(self, pod: int, among: BoolArray) -> bool:
        """Whether some node of the mask fits, the pod's own (without a check of resources) included.

        Source: PodFitsAnyNode.
        """
        own = int(self._state.node[pod])
        if self._fits_witness(pod, among, own):
            return True
        if own >= 0 and among[own] and self.static(pod)[own] and not self._repels(pod)[own]:
            return True
        return self._remember(pod, self._fitting(pod) & among)

    def _fits_witness(self, pod: int, among: BoolArray, own: int) -> bool:
        """Whether the node on which such a pod fitted last is in the mask, not the pod's own, and still has room."""
        verdict = self._verdicts.get(self.classes.values[pod])
        if verdict is None or self._has_terms.values[pod]:
            return False
        node = verdict.witness
        return node not in {-1, own} and bool(among[node]) and bool(self._has_room(self.classes.values[pod], node))

    def _remember(self, pod: int, fits: BoolArray) -> bool:
        node = int(fits.argmax())
        found = bool(fits[node])
        self._verdicts[self.classes.values[pod]].witness = node if found else -1
        return found

    def static(self, pod: int) -> BoolArray:
        """Nodes that fit by the rules that no move changes: unschedulable, selector, taints. bool[node]."""
        known = self._verdicts.get(self.classes.values[pod])
        return (known or self._verdict(self.classes.values[pod])).static

    def explain(self, pod: int, among: BoolArray) -> str:
        """Why no other node of the mask fits, counted by the first rule that fails.

        For example ``3 insufficient memory, 2 untolerated taint``; empty where there is no other node.
        """
        explanation = self._explanations.get(self.classes.values[pod])
        if explanation is None or explanation.read != self._now() or self._has_terms.values[pod]:
            explanation = self._explanations[self.classes.values[pod]] = self._explanation(pod)
        return explanation.text(among, int(self._state.node[pod]))

    def _explanation(self, pod: int) -> _Explanation:
        failures = self._failures(pod)
        first = np.full(len(self._state.cluster.nodes), len(failures), dtype=np.int64)
        for position, (_, failing) in reversed(list(enumerate(failures))):
            first[failing] = position
        return _Explanation(tuple(reason for reason, _ in failures), first, self._now())

    @cached_property
    def classes(self) -> PodGroups:
        """The classes of pods that nodeFit does not distinguish, except for their anti-affinity."""
        return pod_classes(self._state.cluster, Aspect.NODE_FIT)

    @cached_property
    def _has_terms(self) -> PodColumn[np.bool_]:
        return by_value(
            self._state.cluster.pods,
            "rules",
            "rules",
            lambda many: [required_anti_affinity(rules) != () for rules in many],
        )

    @cached_property
    def _namesakes(self) -> PodIndex[str]:
        pods = self._state.cluster.pods
        return PodIndex(pods, np.arange(pods.used), lambda rows: [(pods.names[each],) for each in rows])

    def _fitting(self, pod: int) -> BoolArray:
        fits = self._verdict(self.classes.values[pod]).fits
        if self._has_terms.values[pod]:
            return fits & ~self._repels(pod)
        return fits

    def _verdict(self, pod_class: int) -> _ClassVerdict:
        verdict = self._verdicts.get(pod_class)
        if verdict is None:
            static = self._static(pod_class)
            everywhere = np.arange(len(static))
            verdict = _ClassVerdict(static, static & self._has_room(pod_class, everywhere), self._now())
            self._verdicts[pod_class] = verdict
        elif verdict.read != self._now():
            changed = self._changed_since(verdict.read)
            verdict.fits[changed] = verdict.static[changed] & self._has_room(pod_class, changed)
            verdict.read = self._now()
        return verdict

    def _changed_since(self, read: int) -> IntArray:
        """The nodes that changed since an entry of the log; all nodes if that is faster than reading the log."""
        count = len(self._state.cluster.nodes)
        if self._now() - read >= count:
            return np.arange(count)
        return np.unique([change.node for change in self._state.changes[read:]])

    def _now(self) -> int:
        return len(self._state.changes)

    def _static(self, pod_class: int) -> BoolArray:
        schedulable = ~self._state.cluster.nodes.unschedulable
        return schedulable & self._selected(pod_class) & self._tolerated(pod_class)

    def _selected(self, pod_class: int) -> BoolArray:
        rules = self.classes.table[pod_class][_RULES]
        return self._open.selected(self._state.cluster.pods.tables.rules[rules].selection)

    def _tolerated(self, pod_class: int) -> BoolArray:
        tolerations = self.classes.table[pod_class][_TOLERATIONS]
        return self._open.tolerated(self._state.cluster.pods.tables.tolerations[tolerations])

    def _has_room(self, pod_class: int, nodes: IntArray | int) -> BoolArray:
        """Whether these nodes have enough of every requested resource and a free pod slot, bool[len(nodes)]."""
        lacking = self._lacking(pod_class, nodes)
        has_room: BoolArray = ~np.logical_or.reduce([failing for _, failing in lacking])
        return has_room

    def _lacking(self, pod_class: int, nodes: IntArray | int) -> list[tuple[str, BoolArray]]:
        cluster, state = self._state.cluster, self._state
        slots = cluster.nodes.allocatable[PODS, nodes] - state.running[nodes]
        lacking = [("insufficient pods", slots <= 0)]
        # A request of 0 counts too: it does not fit on a node with more requests than it has.
        for name, request in cluster.pods.tables.resources[self.classes.table[pod_class][_RESOURCES]].requests.items():
            if name in self._apart:
                continue
            row = cluster.nodes.resources.index(name)
            free = cluster.nodes.allocatable[row, nodes] - state.requested[row, nodes]
            unlisted = ~cluster.nodes.lists_allocatable[row, nodes] if name not in BASIC_RESOURCES else False
            lacking.append((f"insufficient {name}", request > np.where(unlisted, 0, free)))
        return lacking

    def _failures(self, pod: int) -> list[tuple[str, BoolArray]]:
        """Every rule in upstream's order with the nodes that fail it."""
        pod_class = self.classes.values[pod]
        everywhere = np.arange(len(self._state.cluster.nodes))
        return [
            ("unschedulable", self._state.cluster.nodes.unschedulable),
            ("node selector or affinity", ~self._selected(pod_class)),
            ("untolerated taint", ~self._tolerated(pod_class)),
            ("anti-affinity", self._repels(pod)),
            *self._lacking(pod_class, everywhere),
        ]

    def _repels(self, pod: int) -> BoolArray:
        """Nodes where a pod on that very node matches one of the pod's required anti-affinity terms."""
        cluster = self._state.cluster
        repels = np.zeros(len(cluster.nodes), dtype=bool)
        for term in required_anti_affinity(cluster.pods.tables.rules[cluster.pods.rules[pod]]):
            carries_key = cluster.nodes.label_column(term.topology_key).codes != NO_LABEL
            try:
                counterparts = self._counterparts(pod, term)
            except ValueError:
                # A selector that does not compile is an error upstream, and an error does not fit.
                return np.ones(len(cluster.nodes), dtype=bool)
            occupied = np.bincount(self._state.node[counterparts], minlength=len(cluster.nodes)) > 0
            repels |= carries_key & occupied
        return repels

    def _counterparts(self, pod: int, term: PodAffinityTerm) -> IntArray:
        """Pods that a term repels: placed, holding resources, and not the pod's namesakes (upstream compares names)."""
        pods = self._state.cluster.pods
        names = term.namespaces or (pods.tables.namespaces[pods.namespace[pod]],)
        identifiers = [i for i, name in enumerate(pods.tables.namespaces) if name in names]
        selector = selector_from(term.label_selector)
        found = self._labels.matching(selector, identifiers)
        found = found[self._state.holds_resources()[found] & (self._state.node[found] >= 0)]
        return found[~np.isin(found, self._namesakes.of(pods.names[pod]))]


def required_anti_affinity(rules: PlacementRules) -> tuple[PodAffinityTerm, ...]:
    """The terms of ``requiredDuringSchedulingIgnoredDuringExecution`` of a pod's own anti-affinity."""
    return (rules.pod_anti_affinity.required or ()) if rules.pod_anti_affinity else ()


# Nothing else is checked: the node may be full, cordoned or not among those handed to strategies.
class OpenNodes:
    """Which nodes of one cluster are open to a pod; kept for further pods with the same rules."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._tolerated: dict[tuple[Toleration, ...], BoolArray] = {}
        self._selected: dict[NodeSelection, BoolArray] = {}

    def tolerated(self, tolerations: tuple[Toleration, ...]) -> BoolArray:
        """Nodes whose NoSchedule and NoExecute taints are all tolerated, bool[node]."""
        known = self._tolerated.get(tolerations)
        if known is None:
            sets = [all_tolerated(tolerations, taints, HARD_EFFECTS) for taints in self._nodes.lasting_taint_sets()]
            known = self._tolerated[tolerations] = np.array(sets, dtype=bool)[self._nodes.taints]
        return known

    def selected(self, selection: NodeSelection) -> BoolArray:
        """Nodes that match node selector and required affinity, bool[node]."""
        known = self._selected.get(selection)
        if known is None:
            known = self._selected[selection] = matches(selection, self._nodes)
        return known
