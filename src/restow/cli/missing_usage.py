"""What adds the usage that a policy goes by, where the input does not hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.kube.excerpts import excerpt
from restow.policies.policy import KUBERNETES_METRICS, collects_kubernetes_metrics, prometheus_of
from restow.policies.usage_section import queries_of, usage_in
from restow.redaction import without_password
from restow.reporting.wording import counted
from restow.sources.kubectl import USAGE

if TYPE_CHECKING:
    from restow.cli.inputs import LoadedCluster
    from restow.descheduling.cycle import Cycle
    from restow.policies.policy import Policy


def missing_usage(found: LoadedCluster, policy: Policy, cycle: Cycle) -> list[str]:
    """One sentence where a strategy could not work for want of nodes' usage, with what gets it."""
    failed = {turn.plugin for turn, _ in cycle.record.problems}
    asking = {name: usage for name, usage in usage_in(policy) if name in failed}
    if asking and queries_of(policy) and not found.is_live and not found.cluster.usage:
        return [_not_in_a_dump(policy, next(iter(asking)))]
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


def _not_in_a_dump(policy: Policy, strategy: str) -> str:
    prometheus = prometheus_of(policy)
    url = excerpt(without_password(prometheus.url)) if prometheus is not None else ""
    return (
        f"{strategy} goes by what Prometheus at {url} tells, which the input does not hold: plan the live cluster, "
        "without -f, or take the snapshot with --usage and this --policy-config-file"
    )
