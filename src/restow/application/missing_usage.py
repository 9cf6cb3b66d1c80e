"""What is said if the input lacks usage that a policy or a scheduler's scores need, and how to add it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from restow.cluster.usage_series import SHARE
from restow.kube.excerpts import excerpt
from restow.plain_text import without_password
from restow.policies.policy import collects_kubernetes_metrics, prometheus_of
from restow.policies.usage import queries_of, usage_in
from restow.reporting.wording import counted
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.plugins.load_variation import NAME, LoadVariationRiskBalancingArgs, measured_usage
from restow.sources.kubectl import USAGE
from restow.usage.sources import KUBERNETES_METRICS, PROMETHEUS

if TYPE_CHECKING:
    from restow.application.clusters import LoadedCluster
    from restow.descheduling.cycle import Cycle
    from restow.policies.policy import Policy


def missing_usage(found: LoadedCluster, policy: Policy, cycle: Cycle) -> list[str]:
    """One sentence if a strategy could not run because the usage of nodes is missing, with what adds it."""
    failed = {ref.plugin for ref, _ in cycle.record.problems}
    asking = {name: usage for name, usage in usage_in(policy) if name in failed}
    unanswered = set(queries_of(policy)) - found.cluster.usage.keys()
    for name, usage in asking.items():
        if usage.usage_query in unanswered and not found.is_live:
            return [_not_in_a_dump(policy, name, usage.source)]
    asks = next((name for name, usage in asking.items() if usage.provider == KUBERNETES_METRICS), None)
    if asks is None:
        return []
    wish = f"{asks} needs usage metrics"
    if not collects_kubernetes_metrics(policy):
        provider = f"metricsProviders: [{{source: {KUBERNETES_METRICS}}}]"
        return [f"{wish}, but the policy names no source for them: add {provider}"]
    measured = {name for _, name in found.cluster.kind("NodeMetrics")}
    missing = sum(name not in measured for name in found.cluster.nodes.names)
    if not missing:
        return []
    nodes = counted(missing, "node")
    if found.is_live:
        return [f"{wish}, but metrics.k8s.io has none for {nodes}: kubectl top nodes shows which"]
    return [f"{wish}, but the input has none for {nodes}: run {USAGE}, then add -f usage.json"]


def _not_in_a_dump(policy: Policy, strategy: str, source: str) -> str:
    prometheus = prometheus_of(policy) if source == PROMETHEUS else None
    if prometheus is None:
        who, other = excerpt(source), f"add -f usage.csv with lines of the resource {SHARE}"
    else:
        who = f"{source} at {excerpt(without_password(prometheus.url))}"
        other = "take the snapshot with --usage and this --policy-config-file"
    return (
        f"{strategy} uses the answers of {who}, which the input does not have: plan the live cluster, without -f, "
        f"or {other}"
    )


def scores_by_usage(profiles: Iterable[SchedulerProfile]) -> bool:
    """Whether a profile has a plugin that scores nodes by their usage."""
    return any(profile.runs(NAME, "score") for profile in profiles)


def unmeasured_nodes(found: LoadedCluster, profiles: Iterable[SchedulerProfile]) -> list[str]:
    """One sentence if a profile scores by usage and the input lacks that of some nodes, with what adds it."""
    scoring = [each for each in profiles if each.runs(NAME, "score")]
    windows = [each.arguments.get(NAME, LoadVariationRiskBalancingArgs()).window_seconds for each in scoring]
    if not windows:
        return []
    unknown = np.isnan(measured_usage(found.cluster, min(windows)).mean).all(axis=0).sum()
    if not unknown:
        return []
    nodes = counted(int(unknown), "node")
    if found.is_live:
        return [f"{NAME} scores {nodes} 0: metrics.k8s.io has no usage of them: kubectl top nodes shows which"]
    adding = "add -f usage.csv, or take the snapshot with --usage"
    return [f"{NAME} scores {nodes} 0: the input has no usage of them; {adding}"]
