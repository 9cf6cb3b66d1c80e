"""HighNodeUtilization: pods of underused nodes, so that those nodes can go.

A node is underused if every resource with a threshold is at or below it, whether or not it may take new pods. All
underused nodes are emptied, emptiest first, while the other schedulable nodes have room; usage is what pods request.
If the plan chooses the targets, a node is emptied completely or left alone (``node_utilization.emptying``).
Source: Descheduler 0.36, pkg/framework/plugins/nodeutilization.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

import numpy as np
from msgspec import Meta, field, structs

from restow.cluster.nodes import BASIC_RESOURCES
from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.pods import Pods
from restow.descheduling.framework import (
    NodeClass,
    Strategy,
    Suggestions,
    View,
)
from restow.descheduling.node_utilization.eviction import (
    Transfer,
    empty,
    evictable_in,
    room_on,
    staying,
    transfer,
)
from restow.descheduling.node_utilization.surveys import Survey
from restow.descheduling.node_utilization.thresholds import (
    Fullness,
    classify,
    criteria,
    is_below,
    lint_all_under,
    lint_number_of_nodes,
    lint_values,
    node_classes,
    why_idle,
)
from restow.descheduling.node_utilization.usage import Percentages, requested
from restow.documents.findings import Issue
from restow.documents.shapes import Int
from restow.policies.arguments import (
    Namespaces,
    PluginArgs,
    Thresholds,
    check_evictable_namespaces,
    check_thresholds,
)
from restow.policies.schema import FLATTENED, PluginSchema

#: The one eviction mode: only pods that request a resource with a threshold are moved.
_ONLY_THRESHOLDING_RESOURCES = "OnlyThresholdingResources"
_SPREADS = "one packs pods onto few nodes, the other spreads them"
EvictionMode = Annotated[str, Meta(extra={"go": "nodeutilization.EvictionMode"})]


class HighNodeUtilizationArgs(PluginArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """``pluginConfig[].args`` of HighNodeUtilization."""

    thresholds: Thresholds = field(default_factory=dict)
    #: The strategy acts only if more nodes than this are underused.
    number_of_nodes: Int = 0
    eviction_modes: tuple[EvictionMode, ...] = ()
    evictable_namespaces: Namespaces | None = None


def _validate(args: HighNodeUtilizationArgs) -> list[str]:
    """Return upstream's validation texts, in upstream's order; upstream itself stops at the first."""
    problems = check_evictable_namespaces(args.evictable_namespaces)
    problems += check_thresholds(args.thresholds)
    problems += [
        f"invalid eviction mode {mode}" for mode in args.eviction_modes if mode != _ONLY_THRESHOLDING_RESOURCES
    ]
    return problems


def _lint(args: HighNodeUtilizationArgs) -> Iterator[Issue]:
    """Yield arguments that can never trigger, or that mean something else than they seem to."""
    yield from _lint_thresholds(args)
    yield from lint_number_of_nodes(args.number_of_nodes)


def _lint_thresholds(args: HighNodeUtilizationArgs) -> Iterator[Issue]:
    yield from lint_values("thresholds", args.thresholds)
    yield from lint_all_under(args.thresholds)
    for resource, value in args.thresholds.items():
        if value == 0:
            text = f"thresholds.{resource} 0: only a node that uses none is underutilised, and has no pod to move"
            yield Issue(("thresholds", resource), text, "warning")


SCHEMA = PluginSchema(
    name="HighNodeUtilization",
    extension_points=("balance",),
    args=HighNodeUtilizationArgs,
    validate=_validate,
    lint=_lint,
    conflicts=dict.fromkeys(("RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"), _SPREADS),
    renamed={
        "namespaces": "write evictableNamespaces: {exclude: [...]}",
        "nodeResourceUtilizationThresholds": FLATTENED,
    },
)


def suggest(view: View, args: HighNodeUtilizationArgs) -> Suggestions:
    """Pods of underused nodes."""
    usage = requested(view, _tracked(args))
    survey = Survey.of(view, usage)
    full = dict.fromkeys(args.thresholds, 100.0)
    under, others = _classified(survey, args.thresholds, full)
    movable = _movable(view, args)
    if view.chooses_targets:
        others = sorted((*others, *staying(view, movable, under)))
    idle = why_idle(len(under), len(survey.figures), args.number_of_nodes, criteria(args.thresholds))
    if idle is None and not others:
        idle = "No node is available to schedule the pods, nothing to do here"
    if idle is not None:
        view.note(idle)
        return
    filled = np.isin(np.arange(len(view.is_listed)), others)
    ceilings = survey.ceilings((*others, *under), full)
    reasons = {node: _reason(survey, node, args.thresholds) for node in under}
    fullness = Fullness(usage, survey.capacities, args.thresholds, len(view.is_listed))
    task = Transfer(
        usage=usage,
        sources=survey.emptiest_first(under),
        destinations=others,
        room=room_on(others, usage, ceilings),
        why=reasons.get,
        movable=movable,
        takes=lambda _used, nodes: filled[nodes],
        worse=fullness.emptier,
        cost=fullness.fullest_with,
    )
    yield from empty(view, task, ceilings) if view.chooses_targets else transfer(view, task)


def sort_nodes(view: View, args: HighNodeUtilizationArgs) -> Mapping[int, NodeClass]:
    """Underused nodes give pods to all others that are not cordoned, and take some of one another if the plan chooses targets."""
    survey = Survey.of(view, requested(view, _tracked(args)))
    under, _ = _classified(survey, args.thresholds, dict.fromkeys(args.thresholds, 100.0))
    classes = node_classes(survey.loads(), under=under, over=(), low=args.thresholds, high={})
    return {
        node: structs.replace(each, gives=each.name == "under", receives=view.chooses_targets)
        for node, each in classes.items()
    }


def _tracked(args: HighNodeUtilizationArgs) -> tuple[str, ...]:
    """The resources with a threshold, and the basic ones."""
    return tuple(dict.fromkeys((*sorted(args.thresholds), *BASIC_RESOURCES)))


def _classified(survey: Survey, thresholds: Percentages, full: Percentages) -> list[list[int]]:
    """The underused nodes, and the other nodes that may take pods."""
    return classify(
        survey.loads(),
        (thresholds, full),
        [
            lambda _, load, limit: is_below(load, limit),
            lambda node, _load, _limit: bool(survey.is_open[node]),
        ],
    )


def _reason(survey: Survey, node: int, thresholds: Percentages) -> str:
    """How empty the node is, for people."""
    load = survey.figures[node].load
    figures = [
        f"{name} {load.get(name, 0.0):.0f} %, threshold {limit:.0f} %" for name, limit in sorted(thresholds.items())
    ]
    return f"{survey.nodes.names[node]} can be emptied: {'; '.join(figures)}"


def _movable(view: View, args: HighNodeUtilizationArgs) -> PodColumn[np.bool_]:
    evictable = evictable_in(view, args.evictable_namespaces)
    if _ONLY_THRESHOLDING_RESOURCES not in args.eviction_modes:
        return evictable
    requesting = _requesting(view.pods, args.thresholds)
    return PodColumn(view.pods, lambda pods: evictable.of(pods) & requesting.of(pods))


def _requesting(pods: Pods, resources: Iterable[str]) -> PodColumn[np.bool_]:
    """Which pods have a container that requests one of the resources explicitly, even as 0."""
    wanted = frozenset(resources)
    return by_value(pods, "resources", "resources", lambda many: [not wanted.isdisjoint(each.named) for each in many])


STRATEGY = Strategy(SCHEMA, suggest, sort_nodes, by_parts=True)
