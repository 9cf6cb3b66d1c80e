"""The usage that a plan went by if it asked Prometheus: the figure of each node, its query and its age."""

from __future__ import annotations

from collections.abc import Iterator

from restow.cluster.snapshot import Cluster
from restow.cluster.usage_samples import QueryResult
from restow.descheduling.framework import StrategyError
from restow.descheduling.node_utilization.queried import figures_of
from restow.descheduling.plan import MeasuredNode, MeasuredUsage
from restow.policies.policy import Policy, UsageSettings
from restow.policies.usage_section import queries_of


def measured_usage(cluster: Cluster, policy: Policy) -> tuple[MeasuredUsage, ...]:
    """The answers to a policy's queries that the cluster holds, in the policy's order."""
    answered = ((query, cluster.usage.get(query)) for query in queries_of(policy))
    return tuple(
        _measured(query, result, policy.restow.usage, cluster) for query, result in answered if result is not None
    )


def _measured(query: str, result: QueryResult, settings: UsageSettings | None, cluster: Cluster) -> MeasuredUsage:
    percentile = settings.percentile if settings is not None else None
    nodes = tuple(_nodes(result, settings, cluster)) if not result.problem else ()
    return MeasuredUsage(query=query, percentile=percentile, problem=result.problem, nodes=nodes)


def _nodes(result: QueryResult, settings: UsageSettings | None, cluster: Cluster) -> Iterator[MeasuredNode]:
    try:
        figures = figures_of(result, settings)
    except StrategyError:
        # The problems of the plan say it.
        return
    for name in cluster.nodes.names:
        if name in figures:
            figure = figures[name]
            yield MeasuredNode(name, round(figure.value, 4), round(figure.age, 1), figure.samples)
