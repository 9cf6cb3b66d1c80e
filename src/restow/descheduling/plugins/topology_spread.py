"""RemovePodsViolatingTopologySpreadConstraint: pods that make their topology domains uneven.

Each constraint is balanced by itself, on the cluster as it is before this strategy evicts anything; then every pod
that some constraint wants gone is suggested once. Only pods that the evictor lets pass are counted. If a chosen pod
fits no node of the domains below the average, it stays, and no other pod is chosen instead.
Source: Descheduler 0.36, pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from restow.descheduling.framework import Strategy, Suggestion, Suggestions, Verdict, View
from restow.descheduling.topology_spread import Balancer, spread_constraints
from restow.policies.arguments import PodSelectionArgs, check_pod_selection
from restow.policies.schema import PluginSchema

_DO_NOT_SCHEDULE = "DoNotSchedule"
_SCHEDULE_ANYWAY = "ScheduleAnyway"
Action = Annotated[str, Meta(extra={"go": "v1.UnsatisfiableConstraintAction"})]


class RemovePodsViolatingTopologySpreadConstraintArgs(
    PodSelectionArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True
):
    """``pluginConfig[].args`` of RemovePodsViolatingTopologySpreadConstraint."""

    #: Which constraints to look at, by their actions; empty only before defaulting.
    constraints: tuple[Action, ...] = ()
    #: None only before defaulting.
    topology_balance_node_fit: bool | None = None


def _validate(args: RemovePodsViolatingTopologySpreadConstraintArgs) -> list[str]:
    """Upstream's validation texts, in upstream's order."""
    problems = check_pod_selection(args)
    problems += [
        f"constraint {constraint} is not one of {_DO_NOT_SCHEDULE}, {_SCHEDULE_ANYWAY}"
        for constraint in args.constraints
        if constraint not in {_DO_NOT_SCHEDULE, _SCHEDULE_ANYWAY}
    ]
    return problems


def _default(
    args: RemovePodsViolatingTopologySpreadConstraintArgs,
) -> RemovePodsViolatingTopologySpreadConstraintArgs:
    """By default only hard constraints count, and a pod must fit below the average."""
    fit = args.topology_balance_node_fit
    return replace(
        args,
        constraints=args.constraints or (_DO_NOT_SCHEDULE,),
        topology_balance_node_fit=True if fit is None else fit,
    )


SCHEMA = PluginSchema(
    name="RemovePodsViolatingTopologySpreadConstraint",
    extension_points=("balance",),
    args=RemovePodsViolatingTopologySpreadConstraintArgs,
    validate=_validate,
    default=_default,
    renamed={"includeSoftConstraints": "write constraints: [DoNotSchedule, ScheduleAnyway]"},
)


def suggest(view: View, args: RemovePodsViolatingTopologySpreadConstraintArgs) -> Suggestions:
    """The pods that domains with too many of them should give up."""
    full_nodes = set()
    for pod, suggestion in _uneven(view, args).items():
        node = int(view.state.node[pod])
        if node in full_nodes:
            continue
        verdict = yield suggestion
        if verdict is Verdict.TOTAL_LIMIT:
            return
        if verdict is Verdict.NODE_LIMIT:
            full_nodes.add(node)


def _uneven(view: View, args: RemovePodsViolatingTopologySpreadConstraintArgs) -> dict[int, Suggestion]:
    """Every pod that some constraint wants to move, with the reason and the nodes it should move to."""
    chosen = view.pods.where(view.running_pods(args.namespaces, args.label_selector))
    due = view.due(chosen)
    if len(due) < len(chosen):
        # A constraint counts pods of its own namespace only.
        chosen = chosen[np.isin(view.pods.namespace[chosen], view.pods.namespace[due])]
    chosen = chosen[view.evictable(chosen)]
    chosen = chosen[np.argsort(view.state.node[chosen], kind="stable")]
    balancer = Balancer(view, chosen, must_fit=args.topology_balance_node_fit is not False)
    found: dict[int, Suggestion] = {}
    for constraint in spread_constraints(view.pods, chosen, args.constraints):
        if view.is_partial and not len(view.due(balancer.matching(constraint))):
            continue
        for suggestion in balancer.leaving(constraint):
            found.setdefault(suggestion.pod, suggestion)
    return found


STRATEGY = Strategy(SCHEMA, suggest)
