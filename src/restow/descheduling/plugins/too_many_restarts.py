"""RemovePodsHavingTooManyRestarts: pods whose containers restarted too often.

Source: descheduler v0.36, pkg/framework/plugins/removepodshavingtoomanyrestarts.
"""

from __future__ import annotations

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pod_values import PodStates
from restow.descheduling import pod_criteria
from restow.descheduling.framework import Strategy, Suggestions, View, suggest_by_node
from restow.descheduling.pod_criteria import statuses_of
from restow.kube.objects import Int32
from restow.policies.arguments import PodSelectionArgs, check_choices, check_pod_selection
from restow.policies.codes import PlacementConstraint
from restow.policies.schema import FLATTENED, PluginSchema

#: What ``states`` may name.
STATES = frozenset({"Running", "CrashLoopBackOff"})


class RemovePodsHavingTooManyRestartsArgs(
    PodSelectionArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True
):
    """``pluginConfig[].args`` of RemovePodsHavingTooManyRestarts."""

    pod_restart_threshold: Int32 = 0
    including_init_containers: bool = False
    states: tuple[str, ...] = ()


def _validate(args: RemovePodsHavingTooManyRestartsArgs) -> list[str]:
    """Upstream's validation texts, in upstream's order."""
    problems = check_pod_selection(args)
    if args.pod_restart_threshold < 1:
        problems.append("invalid PodsHavingTooManyRestarts threshold")
    return problems + check_choices("states", args.states, STATES)


SCHEMA = PluginSchema(
    name="RemovePodsHavingTooManyRestarts",
    extension_points=("deschedule",),
    args=RemovePodsHavingTooManyRestartsArgs,
    validate=_validate,
    renamed={"podsHavingTooManyRestarts": FLATTENED},
)


def suggest(view: View, args: RemovePodsHavingTooManyRestartsArgs) -> Suggestions:
    """Pods of each node with at least the threshold of restarts, those with most restarts first."""
    states = view.pods.tables.states
    restarts = np.array([_restarts(each, args) for each in states], dtype=np.int64)[view.pods.states]
    in_state = np.array([_is_in_state(each, args) for each in states], dtype=bool)[view.pods.states]
    wanted = view.listed_pods(args.namespaces, args.label_selector) & in_state
    wanted &= restarts >= args.pod_restart_threshold
    candidates = view.due_of(wanted)
    counts = zip(candidates.tolist(), restarts[candidates].tolist(), strict=True)
    reasons = {pod: f"{count} restarts, threshold {args.pod_restart_threshold}" for pod, count in counts}

    def most_first(pods: IntArray) -> IntArray:
        return pods[np.argsort(-restarts[pods], kind="stable")]

    yield from suggest_by_node(view, reasons, PlacementConstraint.ANYWHERE, most_first)


def _restarts(states: PodStates, args: RemovePodsHavingTooManyRestartsArgs) -> int:
    return pod_criteria.restarts(statuses_of(states, init=args.including_init_containers))


def _is_in_state(states: PodStates, args: RemovePodsHavingTooManyRestartsArgs) -> bool:
    """Whether the phase or what a container waits for is one of the states; why containers ended is not read."""
    if not args.states or states.phase in args.states:
        return True
    waiting = pod_criteria.waiting_reasons(statuses_of(states, init=args.including_init_containers))
    return any(reason in args.states for reason in waiting)


STRATEGY = Strategy(SCHEMA, suggest, by_parts=True)
