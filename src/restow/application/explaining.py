"""Why a pod stays or moves, and what a plan does to a node: read, make the plan, ask once more."""

from __future__ import annotations

from collections.abc import Callable

from restow.application.feedback import Feedback
from restow.application.missing_usage import missing_usage
from restow.application.named_objects import find_node, find_pod
from restow.application.plan_context import PlanContext, PlanRequest, plan_context
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.explaining.explanation import NodeExplanation, PodExplanation
from restow.descheduling.explaining.nodes import explain_node
from restow.descheduling.explaining.pods import explain_pod
from restow.descheduling.explaining.what_if import Setting
from restow.descheduling.planning import cycle_notes, policy_as_asked
from restow.descheduling.registry import strategies


def explained_pod(request: PlanRequest, name: str, feedback: Feedback) -> PodExplanation:
    """Explain the pod NAMESPACE/NAME; InputError for anything in the request that cannot be used."""
    setting, pod = _planned(request, feedback, lambda cluster: find_pod(cluster.pods, name, "explain pod"))
    with feedback.timings.phase("explain"), feedback.working("asking once more"):
        return explain_pod(setting, pod)


def explained_node(request: PlanRequest, name: str, feedback: Feedback) -> NodeExplanation:
    """Explain a node; InputError as ``explained_pod``."""
    setting, node = _planned(request, feedback, lambda cluster: find_node(cluster.nodes, name, "explain node"))
    with feedback.timings.phase("explain"), feedback.working("asking once more"):
        return explain_node(setting, node)


def _planned(request: PlanRequest, feedback: Feedback, find: Callable[[ClusterSnapshot], int]) -> tuple[Setting, int]:
    """Find the object that is asked about, before the plan is made."""
    context = plan_context(request, feedback)
    index = find(context.found.cluster)
    return _setting(context, feedback), index


def _setting(context: PlanContext, feedback: Feedback) -> Setting:
    with feedback.timings.phase("plan"), feedback.working("making the plan"):
        cycle = context.decide()
    policy, cluster = context.policy.loaded.policy, context.found.cluster
    feedback.warn(context.found.missing_warning(cycle.missing, "moves"))
    feedback.warn(cycle_notes(cycle))
    feedback.warn(missing_usage(context.found, policy, cycle))
    rules = policy_as_asked(policy, context.placement)
    return Setting(
        cycle, cluster, rules, strategies(), context.now, context.placement, context.steering, context.profiles
    )
