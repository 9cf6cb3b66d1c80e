"""RemovePodsViolatingNodeAffinity: pods on nodes that their node affinity no longer wants.

Source: descheduler v0.36, pkg/framework/plugins/removepodsviolatingnodeaffinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.node_matching import matches, preferred_weights
from restow.cluster.pod_values import PlacementRules
from restow.descheduling.framework import Strategy, Suggestions, View, suggest_by_node
from restow.descheduling.node_fit import OpenNodes
from restow.documents.findings import Issue
from restow.kube.excerpts import did_you_mean, excerpt
from restow.policies.arguments import PodSelectionArgs, check_pod_selection
from restow.policies.codes import PlacementConstraint
from restow.policies.schema import PluginSchema

#: Which of some nodes a pod would be better off on.
_Accepts = Callable[[int, IntArray], BoolArray]


class RemovePodsViolatingNodeAffinityArgs(
    PodSelectionArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True
):
    """``pluginConfig[].args`` of RemovePodsViolatingNodeAffinity."""

    #: In the order in which they are processed; unknown values are skipped, as upstream does.
    node_affinity_type: tuple[str, ...] = ()


def _validate(args: RemovePodsViolatingNodeAffinityArgs) -> list[str]:
    """Upstream's validation texts, in upstream's order."""
    problems = [] if args.node_affinity_type else ["nodeAffinityType needs to be set"]
    return problems + check_pod_selection(args)


def _lint(args: RemovePodsViolatingNodeAffinityArgs) -> Iterator[Issue]:
    """Yield the values that are no type of node affinity."""
    for index, kind in enumerate(args.node_affinity_type):
        if kind not in tuple(_VIOLATIONS):
            text = f'"{excerpt(kind)}" is skipped in every cycle: invalid nodeAffinityType'
            yield Issue(("nodeAffinityType", index), text, "warning", did_you_mean(kind, tuple(_VIOLATIONS)))


SCHEMA = PluginSchema(
    name="RemovePodsViolatingNodeAffinity",
    extension_points=("deschedule",),
    args=RemovePodsViolatingNodeAffinityArgs,
    validate=_validate,
    lint=_lint,
)


def suggest(view: View, args: RemovePodsViolatingNodeAffinityArgs) -> Suggestions:
    """For each type in turn, pods of each node that would be better placed on another node and fit somewhere.

    The total limit ends only the current type, as upstream does.
    """
    for kind in args.node_affinity_type:
        violations = _VIOLATIONS.get(kind)
        if violations is None:
            continue
        reasons = violations.find(view, view.due_of(view.running_pods(args.namespaces, args.label_selector)))
        yield from suggest_by_node(
            view, reasons, PlacementConstraint.ELSEWHERE, partial(_fitting, view), violations.accepts(view)
        )


def _fitting(view: View, pods: IntArray) -> IntArray:
    """The pods of one node that fit some listed node. Upstream checks this whether or not the policy sets nodeFit.

    The answer is found once for pods that are alike, unless they have anti-affinity, which depends on names.
    """
    columns = (view.pods.resources, view.pods.tolerations, view.pods.rules)
    answers: dict[tuple[int, ...], bool] = {}
    fitting = []
    for pod, *kind in zip(pods.tolist(), *(column[pods].tolist() for column in columns), strict=True):
        repels = view.pods.tables.rules[kind[-1]].pod_anti_affinity is not None
        alike = (pod,) if repels else tuple(kind)
        if alike not in answers:
            answers[alike] = view.fit.fits_any(pod, view.is_listed)
        fitting.append(answers[alike])
    return pods[fitting]


def _required(view: View, candidates: IntArray) -> dict[int, str]:
    """Pods with required node affinity whose node does not match it, or their node selector."""
    nodes = view.state.cluster.nodes
    reasons: dict[int, str] = {}
    for rules, pods in _by_rules(view, candidates, lambda rules: rules.has_required):
        on = view.state.node[pods]
        violating = ~matches(rules.selection, nodes)[on]
        for pod, node in zip(pods[violating].tolist(), on[violating].tolist(), strict=True):
            reasons[pod] = f"{nodes.names[node]} does not match its required node affinity"
    return reasons


def _preferred(view: View, candidates: IntArray) -> dict[int, str]:
    """Pods whose preferred node affinity weighs some listed node higher than their own."""
    nodes = view.state.cluster.nodes
    reasons: dict[int, str] = {}
    for rules, pods in _by_rules(view, candidates, lambda rules: bool(rules.preferred)):
        weights = preferred_weights(rules.preferred, nodes)
        best = max(0, int(weights[view.nodes].max()))
        own = weights[view.state.node[pods]]
        lower = own < best
        for pod, weight in zip(pods[lower].tolist(), own[lower].tolist(), strict=True):
            reasons[pod] = f"its preferred node affinity weighs {view.node_name(pod)} {weight}, another node {best}"
    return reasons


def _by_rules(
    view: View, candidates: IntArray, concerned: Callable[[PlacementRules], bool]
) -> Iterator[tuple[PlacementRules, IntArray]]:
    """The candidates, grouped by their distinct rules; only those whose rules have this kind of node affinity."""
    table = view.pods.tables.rules
    has = np.array([concerned(rules) for rules in table], dtype=bool)
    candidates = candidates[has[view.pods.rules[candidates]]]
    order = np.argsort(view.pods.rules[candidates], kind="stable")
    used, starts = np.unique(view.pods.rules[candidates][order], return_index=True)
    groups = np.split(candidates[order], starts[1:])
    for rules, pods in zip(used.tolist(), groups, strict=False):
        yield table[rules], pods


def _matching(view: View) -> _Accepts:
    """Which nodes match a pod's required node affinity and node selector."""
    open_nodes = OpenNodes(view.state.cluster.nodes)

    def accepts(pod: int, nodes: IntArray) -> BoolArray:
        selected: BoolArray = open_nodes.selected(view.pods.tables.rules[view.pods.rules[pod]].selection)[nodes]
        return selected

    return accepts


def _preferable(view: View) -> _Accepts:
    """Which nodes a pod's preferred node affinity weighs higher than the one that it is on."""

    @cache
    def weights(rules: int) -> npt.NDArray[np.int64]:
        return preferred_weights(view.pods.tables.rules[rules].preferred, view.state.cluster.nodes)

    def accepts(pod: int, nodes: IntArray) -> BoolArray:
        known = weights(int(view.pods.rules[pod]))
        better: BoolArray = known[nodes] > known[view.state.node[pod]]
        return better

    return accepts


class _Kind(NamedTuple):
    """One type of node affinity."""

    #: Finds the pods that violate it, with reasons.
    find: Callable[[View, IntArray], dict[int, str]]
    #: Finds the nodes where a pod would be better off.
    accepts: Callable[[View], _Accepts]


_VIOLATIONS = {
    "requiredDuringSchedulingIgnoredDuringExecution": _Kind(_required, _matching),
    "preferredDuringSchedulingIgnoredDuringExecution": _Kind(_preferred, _preferable),
}


STRATEGY = Strategy(SCHEMA, suggest, by_parts=True)
