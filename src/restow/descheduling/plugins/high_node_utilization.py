"""HighNodeUtilization: pods of underused nodes, so that those nodes can go.

A node is underused if every resource with a threshold is at or below it, whether or not it may take new pods. All
underused nodes are emptied, emptiest first, while the other schedulable nodes have room; usage is what pods request.
If the plan chooses the targets, a node is emptied completely or left alone, and underused nodes that cannot be emptied take
pods too.
Source: Descheduler 0.36, pkg/framework/plugins/nodeutilization.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated

import numpy as np
from msgspec import Meta, field, structs

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import BASIC_RESOURCES
from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.pod_values import Flag
from restow.cluster.pods import Pods
from restow.descheduling.framework import (
    NodeClass,
    PendingFilters,
    Proposal,
    Strategy,
    Suggestion,
    Suggestions,
    Verdict,
    View,
)
from restow.descheduling.node_utilization.capacity import Percentages
from restow.descheduling.node_utilization.eviction import (
    Transfer,
    add,
    evictable_in,
    has_room,
    lower_room,
    relieve,
    room_on,
    transfer,
)
from restow.descheduling.node_utilization.headroom import Figures, Fullness
from restow.descheduling.node_utilization.lint import lint_high_node_utilization
from restow.descheduling.node_utilization.survey import Survey
from restow.descheduling.node_utilization.thresholds import classify, criteria, is_below, node_classes, why_idle
from restow.descheduling.node_utilization.usage import requested
from restow.descheduling.node_walk import low_to_high
from restow.descheduling.protections import flagged, of_daemon_sets
from restow.documents.shapes import Int
from restow.policies.arguments import (
    Namespaces,
    PluginArgs,
    Thresholds,
    check_evictable_namespaces,
    check_thresholds,
)
from restow.policies.codes import PlacementConstraint
from restow.policies.schema import FLATTENED, PluginSchema

#: The one eviction mode: only pods that request a resource with a threshold are moved.
ONLY_THRESHOLDING_RESOURCES = "OnlyThresholdingResources"
_SPREADS = "one packs pods onto few nodes, the other spreads them"
EvictionMode = Annotated[str, Meta(extra={"go": "nodeutilization.EvictionMode"})]


class HighNodeUtilizationArgs(PluginArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """``pluginConfig[].args`` of HighNodeUtilization."""

    thresholds: Thresholds = field(default_factory=dict)
    #: The strategy acts only if more nodes than this are underused.
    number_of_nodes: Int = 0
    eviction_modes: tuple[EvictionMode, ...] = ()
    evictable_namespaces: Namespaces | None = None


def validate_high_node_utilization(args: HighNodeUtilizationArgs) -> list[str]:
    """Return upstream's validation texts, in upstream's order; upstream itself stops at the first."""
    problems = check_evictable_namespaces(args.evictable_namespaces)
    problems += check_thresholds(args.thresholds)
    problems += [f"invalid eviction mode {mode}" for mode in args.eviction_modes if mode != ONLY_THRESHOLDING_RESOURCES]
    return problems


SCHEMA = PluginSchema(
    name="HighNodeUtilization",
    extension_points=("balance",),
    args=HighNodeUtilizationArgs,
    validate=validate_high_node_utilization,
    lint=lint_high_node_utilization,
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
    others = sorted((*others, *_staying(view, movable, under)))
    idle = why_idle(len(under), len(survey.loads), args.number_of_nodes, criteria(args.thresholds))
    if idle is None and not others:
        idle = "No node is available to schedule the pods, nothing to do here"
    if idle is not None:
        view.note(idle)
        return
    filled = np.isin(np.arange(len(view.is_listed)), others)
    reasons = {node: _reason(survey, node, args.thresholds) for node in under}
    fullness = Fullness(usage, survey.capacities, args.thresholds, len(view.is_listed))
    task = Transfer(
        usage=usage,
        sources=survey.emptiest_first(under),
        destinations=others,
        room=room_on(others, usage, survey.ceilings(others, full)),
        why=reasons.get,
        movable=movable,
        takes=lambda _used, nodes: filled[nodes],
        worse=fullness.emptier,
        cost=fullness.fullest_with,
    )
    yield from (_empty if view.chooses_targets else transfer)(view, task)


def sort_nodes(view: View, args: HighNodeUtilizationArgs) -> Mapping[int, NodeClass]:
    """Underused nodes give pods to all others that are not cordoned; see ``_staying`` for those that take pods instead."""
    survey = Survey.of(view, requested(view, _tracked(args)))
    under, _ = _classified(survey, args.thresholds, dict.fromkeys(args.thresholds, 100.0))
    classes = node_classes(survey.loads, under=under, over=(), low=args.thresholds, high={})
    giving = {*under}.difference(_staying(view, _movable(view, args), under))
    return {node: structs.replace(each, gives=node in giving) for node, each in classes.items()}


def _tracked(args: HighNodeUtilizationArgs) -> tuple[str, ...]:
    """The resources with a threshold, and the basic ones."""
    return tuple(dict.fromkeys((*sorted(args.thresholds), *BASIC_RESOURCES)))


def _classified(survey: Survey, thresholds: Percentages, full: Percentages) -> list[list[int]]:
    """The underused nodes, and the other nodes that may take pods."""
    return classify(
        survey.loads,
        (thresholds, full),
        [
            lambda _, load, limit: is_below(load, limit),
            lambda node, _load, _limit: not survey.nodes.unschedulable[node],
        ],
    )


def _reason(survey: Survey, node: int, thresholds: Percentages) -> str:
    """How empty the node is, for people."""
    load = survey.loads[node]
    figures = [
        f"{name} {load.get(name, 0.0):.0f} %, threshold {limit:.0f} %" for name, limit in sorted(thresholds.items())
    ]
    return f"{survey.nodes.names[node]} can be emptied: {'; '.join(figures)}"


def _movable(view: View, args: HighNodeUtilizationArgs) -> PodColumn[np.bool_]:
    evictable = evictable_in(view, args.evictable_namespaces)
    if ONLY_THRESHOLDING_RESOURCES not in args.eviction_modes:
        return evictable
    requesting = _requesting(view.pods, args.thresholds)
    return PodColumn(view.pods, lambda pods: evictable.of(pods) & requesting.of(pods))


def _requesting(pods: Pods, resources: Iterable[str]) -> PodColumn[np.bool_]:
    """Which pods have a container that requests one of the resources explicitly, even as 0."""
    wanted = frozenset(resources)
    return by_value(pods, "resources", "resources", lambda many: [not wanted.isdisjoint(each.named) for each in many])


STRATEGY = Strategy(SCHEMA, suggest, sort_nodes, by_parts=True)


# A node that keeps one of its pods cannot be taken away, so moving the others would gain nothing. The pods of
# DaemonSets and of the kubelet itself (mirror and static pods) go with their node, and terminating pods go anyway, so
# they do not count, nor do pods that the strategy's own arguments leave out. Everything else on the node must go: one
# pod that the evictor protects, that a budget or a limit holds back, or that has no place on the nodes that take
# pods, keeps all the others. A node that keeps a protected pod is there to stay, so it takes pods of others.
def _empty(view: View, task: Transfer) -> Suggestions:
    """Propose for each source in turn that all of its pods move; then suggest those that do not count one by one."""
    counts_not = _apart(view)
    for node in task.sources:
        if not has_room(task):
            return
        pods = view.state.pods_on(node)
        pods = pods[task.movable.of(pods)]
        apart = counts_not(pods)
        going = low_to_high(view.pods, pods[~apart])
        if len(going):
            underway = _Underway(view, task, node, going)
            verdict = yield underway.proposal()
            underway.catch_up()
            if verdict is Verdict.TOTAL_LIMIT:
                return
            if verdict is not Verdict.EVICTED:
                continue
        if (yield from relieve(view, task, node, view.removable(pods[apart]))):
            return


def _staying(view: View, movable: PodColumn[np.bool_], under: Sequence[int]) -> list[int]:
    """The underused nodes that take pods and give none, since the evictor protects a pod there that would have to go.

    There are none if the plan does not choose the targets: then what can go goes.
    """
    if not view.chooses_targets:
        return []
    state, nodes = view.state, view.state.cluster.nodes
    pods = np.flatnonzero(state.holds_resources() & np.isin(state.node, under))
    pods = pods[movable.of(pods) & ~_apart(view)(pods)]
    found: IntArray = np.unique(state.node[pods[~view.evictable(pods)]])
    staying: list[int] = found[~nodes.unschedulable[found]].tolist()
    return staying


def _apart(view: View) -> Callable[[IntArray], BoolArray]:
    """Which of some pods do not count when it is asked whether a node is empty."""
    of_daemon_set = of_daemon_sets(view.state.cluster)
    flagged_apart = flagged(view.pods, Flag.MIRROR | Flag.STATIC | Flag.TERMINATING)
    return lambda pods: of_daemon_set.of(pods) | flagged_apart.of(pods)


class _Underway:
    """The pods of one node while it is found out whether all of them can move.

    Each pod counts where it is at that moment. So the next one finds the fullest node on the state that those before it
    leave, and nothing has changed if one of them cannot move.
    """

    def __init__(self, view: View, task: Transfer, node: int, pods: IntArray) -> None:
        self._view = view
        self._task = task
        self._source = node
        #: What each pod uses, and the node that it is counted on.
        self._used = {pod: task.usage.of_pod(pod) if task.usage.of_pod else None for pod in pods.tolist()}
        self._counted = dict.fromkeys(self._used, node)

    def proposal(self) -> Proposal:
        """The proposal that all pods move."""
        reason = self._task.why(self._source) or ""
        wanted = (
            Suggestion(
                pod,
                reason,
                PlacementConstraint.BETTER,
                PendingFilters.ALL,
                partial(self._task.takes, used),
                partial(self._task.worse, self._source),
                partial(self._cost, used),
            )
            for pod, used in self._used.items()
        )
        return Proposal(tuple(wanted), f"empty {self._view.state.cluster.nodes.names[self._source]}")

    def catch_up(self) -> None:
        """Count every pod, or its replacement, where it is now."""
        for pod, used in self._used.items():
            before, now = self._counted[pod], self._now(pod)
            if used is not None and before != now:
                self._counted[pod] = now
                add(self._task.usage, before, used, -1)
                add(self._task.usage, now, used, 1)
                if self._source in (before, now):
                    lower_room(self._task, used, 1 if before == self._source else -1)

    def _now(self, pod: int) -> int:
        state = self._view.state
        return int(state.node[pod if state.exists[pod] else state.cluster.pods.replaced_by[pod]])

    def _cost(self, used: Mapping[str, int] | None, nodes: IntArray) -> Figures:
        self.catch_up()
        return self._task.cost(used, nodes)
