"""What a plan has to do with one node: its load, its class, who leaves, who comes, who stays and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from restow.cluster.nodes import BASIC_RESOURCES, PODS
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import RefusedSuggestion
from restow.descheduling.explaining.explanation import NodeClassification, NodeExplanation, NodeResource, Staying
from restow.descheduling.explaining.options import taint_text
from restow.descheduling.explaining.pods import metadata_of, pod_ref
from restow.descheduling.explaining.strategy_views import Classes, class_text, unseen_node
from restow.descheduling.explaining.what_if import Setting, WhatIf
from restow.descheduling.framework import NodeClass
from restow.descheduling.placement import PluginRef
from restow.descheduling.planning import named_move
from restow.descheduling.vetoes import closed_now
from restow.kube.labels import parse_selector
from restow.policies.codes import Placement, Stage


def explain_node(setting: Setting, node: int) -> NodeExplanation:
    """Everything about one node of the plan's cluster."""
    cluster, record = setting.cluster, setting.cycle.record
    nodes = cluster.nodes
    before, after = ClusterState(cluster), setting.cycle.state
    return NodeExplanation(
        metadata=metadata_of(setting),
        node=nodes.names[node],
        zone=nodes.zone(node),
        ready=bool(nodes.ready[node]),
        selected=_selected(setting, node),
        unschedulable=bool(nodes.unschedulable[node]),
        taints=tuple(taint_text(each) for each in nodes.taint_sets[nodes.taints[node]]),
        resources=_resources(before, after, node),
        pods_before=int(before.running[node]),
        pods_after=int(after.running[node]),
        strategies=_views(setting, node),
        leaving=tuple(named_move(cluster, each) for each in record.evictions if each.node == node),
        coming=tuple(
            named_move(cluster, each) for each in record.evictions if each.landing.target == node and each.node != node
        ),
        staying=_staying(setting, [each for each in record.refusals if each.node == node]),
        closed=_closed(setting, node),
    )


def _closed(setting: Setting, node: int) -> str:
    """Why a proven plan puts nothing on a node; empty if it may, or if nothing is proven."""
    if setting.placement != Placement.PROVE:
        return ""
    why = closed_now(setting.policy.restow.vetoes, setting.cluster.nodes.row(node))
    return "" if why is None else f"it {why} and receives nothing"


def _selected(setting: Setting, node: int) -> bool:
    selector = setting.policy.node_selector
    return not selector or parse_selector(selector).matches(setting.cluster.nodes.labels[node])


def _resources(before: ClusterState, after: ClusterState, node: int) -> tuple[NodeResource, ...]:
    nodes = before.cluster.nodes
    return tuple(
        NodeResource(
            name=name,
            allocatable=int(nodes.allocatable[row, node]),
            before=int(before.requested[row, node]),
            after=int(after.requested[row, node]),
        )
        for row, name in enumerate(nodes.resources)
        if name != BASIC_RESOURCES[PODS] and nodes.lists_allocatable[row, node]
    )


def _views(setting: Setting, node: int) -> tuple[NodeClassification, ...]:
    after = WhatIf(setting, setting.cycle.record.evictions)
    before = WhatIf(setting, ()) if after.moves else after
    classes_before, classes_after = Classes(before), Classes(after)
    refs = dict.fromkeys(ref for ref, _, _ in after.runner.refs() if classes_after.sorts(ref))
    unseen = unseen_node(after, node)
    problems = dict(setting.cycle.record.problems)
    views = []
    for ref in refs:
        found = classes_after.of(ref).get(node)
        figures = class_text(setting.cluster.nodes, node, found) if found else ""
        message = unseen or problems.get(ref) or figures or _closed(setting, node)
        views.append(_view(ref, classes_before.of(ref).get(node), found, message))
    return tuple(views)


def _view(ref: PluginRef, before: NodeClass | None, after: NodeClass | None, message: str) -> NodeClassification:
    return NodeClassification(
        *ref,
        before=before.name if before else None,
        after=after.name if after else None,
        gives=bool(before and before.gives),
        load_before=_rounded(before.load) if before else {},
        load_after=_rounded(after.load) if after else {},
        low=_rounded(before.low) if before else {},
        high=_rounded(before.high) if before else {},
        message=message,
        origin=before.origin if before else "",
    )


def _rounded(percentages: dict[str, float]) -> dict[str, float]:
    return {name: round(each, 2) for name, each in sorted(percentages.items())}


def _staying(setting: Setting, refusals: list[RefusedSuggestion]) -> tuple[Staying, ...]:
    """Grouped by stage and code, the most pods first."""
    groups: defaultdict[tuple[Stage, str], list[RefusedSuggestion]] = defaultdict(list)
    for each in refusals:
        groups[each.reason[0], each.reason[1]].append(each)
    ranked = sorted(groups.items(), key=lambda each: (-len(_pods(each[1])), each[0]))
    return tuple(
        Staying(
            stage=stage,
            code=code,
            message=_most_frequent(_message(setting, each) for each in members),
            plugins=tuple(sorted({each.ref.plugin for each in members})),
            pods=tuple(pod_ref(setting.cluster, pod) for pod in sorted(_pods(members))),
        )
        for (stage, code), members in ranked
    )


def _pods(refusals: list[RefusedSuggestion]) -> set[int]:
    """All pods that stay, also those that stay because another pod of their proposal cannot go."""
    return {pod for each in refusals for pod in (each.pod, *each.others)}


def _message(setting: Setting, refused: RefusedSuggestion) -> str:
    """Why the pods stay. If they are of one proposal, the message names the pod that cannot go."""
    reason = setting.reason_of(refused, refused.others[0] if refused.others else refused.pod)
    return reason[2] if reason else ""


def _most_frequent(messages: Iterable[str]) -> str:
    counts = Counter(messages)
    return min(counts, key=lambda each: (-counts[each], each))
