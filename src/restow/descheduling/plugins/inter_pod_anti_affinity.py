"""RemovePodsViolatingInterPodAntiAffinity: pods that share a topology domain with a pod that their anti-affinity excludes.

Source: descheduler v0.36, pkg/framework/plugins/removepodsviolatinginterpodantiaffinity.
"""

from __future__ import annotations

from restow.descheduling.eviction_order import low_to_high
from restow.descheduling.framework import PendingFilters, Strategy, Suggestion, Suggestions, Verdict, View
from restow.descheduling.repulsion import Repulsion
from restow.policies.arguments import PodSelectionArgs, check_pod_selection
from restow.policies.codes import PlacementConstraint
from restow.policies.schema import PluginSchema


class RemovePodsViolatingInterPodAntiAffinityArgs(
    PodSelectionArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True
):
    """``pluginConfig[].args`` of RemovePodsViolatingInterPodAntiAffinity."""


def validate_inter_pod_anti_affinity(args: RemovePodsViolatingInterPodAntiAffinityArgs) -> list[str]:
    """Upstream's validation texts."""
    return check_pod_selection(args)


SCHEMA = PluginSchema(
    name="RemovePodsViolatingInterPodAntiAffinity",
    extension_points=("deschedule",),
    args=RemovePodsViolatingInterPodAntiAffinityArgs,
    validate=validate_inter_pod_anti_affinity,
)


def suggest(view: View, args: RemovePodsViolatingInterPodAntiAffinityArgs) -> Suggestions:
    """Pods of each node, lowest priority first, whose own required anti-affinity a pod that has not left violates.

    The evictor is asked only when a pod's turn has come, so pods that may not be evicted are counterparts too.
    """
    repulsion = Repulsion(view, view.running_pods(args.namespaces, args.label_selector))
    for _, pods in view.by_node(repulsion.carriers()):
        for pod in low_to_high(view.pods, pods).tolist():
            reason = repulsion.offence(pod)
            if reason is None:
                continue
            verdict = yield Suggestion(pod, reason, PlacementConstraint.ELSEWHERE, PendingFilters.ALL)
            if verdict is Verdict.TOTAL_LIMIT:
                return
            if verdict is Verdict.NODE_LIMIT:
                break
            if verdict is Verdict.EVICTED:
                repulsion.leave(pod)


STRATEGY = Strategy(SCHEMA, suggest)
