"""RemovePodsViolatingNodeTaints: pods on nodes whose taints they do not tolerate.

Source: descheduler v0.36, pkg/framework/plugins/removepodsviolatingnodetaints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from restow.cluster.interning import BoolArray, IntArray, combine
from restow.descheduling.framework import Strategy, Suggestions, View, suggest_by_node
from restow.documents.findings import Issue
from restow.kube.objects import Taint
from restow.kube.taints import untolerated
from restow.policies.arguments import PodSelectionArgs, check_pod_selection
from restow.policies.codes import PlacementConstraint
from restow.policies.schema import PluginSchema


class RemovePodsViolatingNodeTaintsArgs(
    PodSelectionArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True
):
    """``pluginConfig[].args`` of RemovePodsViolatingNodeTaints."""

    include_prefer_no_schedule: bool = False
    excluded_taints: tuple[str, ...] = ()
    #: None includes every taint; an empty list, as upstream, includes none.
    included_taints: tuple[str, ...] | None = None


def _validate(args: RemovePodsViolatingNodeTaintsArgs) -> list[str]:
    """Upstream's validation texts, in upstream's order."""
    problems = check_pod_selection(args)
    if args.excluded_taints and args.included_taints:
        problems.append("either includedTaints or excludedTaints can be set, but not both")
    return problems


def _lint(args: RemovePodsViolatingNodeTaintsArgs) -> Iterator[Issue]:
    """Yield an empty list of taints, with which the strategy does nothing."""
    if args.included_taints == ():
        text = "an empty includedTaints includes no taint: the strategy does nothing; leave the key out for all taints"
        yield Issue(("includedTaints",), text, "warning")


SCHEMA = PluginSchema(
    name="RemovePodsViolatingNodeTaints",
    extension_points=("deschedule",),
    args=RemovePodsViolatingNodeTaintsArgs,
    validate=_validate,
    lint=_lint,
)


def suggest(view: View, args: RemovePodsViolatingNodeTaintsArgs) -> Suggestions:
    """Pods of each node that do not tolerate one of its taints, once the taints that do not count are left out.

    NoExecute never counts: the control plane itself evicts for it.
    """
    nodes = view.state.cluster.nodes
    counting = [tuple(taint for taint in taints if _counts(taint, args)) for taints in nodes.lasting_taint_sets()]

    @cache
    def tolerated(tolerations: int) -> BoolArray:
        known = view.pods.tables.tolerations[tolerations]
        return np.array([untolerated(known, taints) is None for taints in counting], dtype=bool)

    def accepts(pod: int, among: IntArray) -> BoolArray:
        return tolerated(int(view.pods.tolerations[pod]))[nodes.taints[among]]

    yield from suggest_by_node(view, _untolerated(view, args, counting), PlacementConstraint.ELSEWHERE, accepts=accepts)


def _untolerated(
    view: View, args: RemovePodsViolatingNodeTaintsArgs, counting: Sequence[tuple[Taint, ...]]
) -> dict[int, str]:
    """Which taint each pod does not tolerate, found once for each pair of tolerations and taints."""
    pods, nodes = view.pods, view.state.cluster.nodes
    is_tainted = np.array([bool(taints) for taints in counting], dtype=bool)[nodes.taints]
    candidates = view.due_of(view.running_pods(args.namespaces, args.label_selector))
    candidates = candidates[is_tainted[view.state.node[candidates]]]
    pair_of, pairs = combine(pods.tolerations[candidates], nodes.taints[view.state.node[candidates]])
    texts = [
        _text(untolerated(pods.tables.tolerations[tolerations], counting[taints]))
        for tolerations, taints in pairs.tolist()
    ]
    judged = zip(candidates.tolist(), pair_of.tolist(), strict=True)
    return {pod: text for pod, pair in judged if (text := texts[pair])}


def _counts(taint: Taint, args: RemovePodsViolatingNodeTaintsArgs) -> bool:
    effects = {"NoSchedule", "PreferNoSchedule"} if args.include_prefer_no_schedule else {"NoSchedule"}
    included = args.included_taints is None or _is_listed(taint, args.included_taints)
    return taint.effect in effects and included and not _is_listed(taint, args.excluded_taints)


def _is_listed(taint: Taint, listed: tuple[str, ...]) -> bool:
    """Whether a list names the taint by its key, or by key=value."""
    return taint.key in listed or (taint.value != "" and f"{taint.key}={taint.value}" in listed)


def _text(taint: Taint | None) -> str:
    if taint is None:
        return ""
    value = f"={taint.value}" if taint.value else ""
    return f"taint {taint.key}{value}:{taint.effect} not tolerated"


STRATEGY = Strategy(SCHEMA, suggest, by_parts=True)
