"""What nodes are used for, as the Prometheus of a policy says it: the same figures by which the descheduler decides."""

from __future__ import annotations

from collections.abc import Mapping

from restow.client.errors import ClientError
from restow.descheduling.framework import StrategyError
from restow.descheduling.node_utilization.queried import figures_of
from restow.live.prometheus import PrometheusUsage
from restow.policies.policy import Policy


async def node_usage(prometheus: PrometheusUsage, policy: Policy, query: str) -> Mapping[str, float]:
    """Return what a query of a policy comes to, 0 to 1 by node; ClientError where it cannot be had or is no such share."""
    result = (await prometheus.results(policy)).get(query)
    if result is None:
        raise ClientError("the policy names no Prometheus (metricsProviders)")
    if result.problem:
        raise ClientError(result.problem)
    try:
        figures = figures_of(result, policy.restow.usage)
    except StrategyError as error:
        raise ClientError(str(error)) from error
    return {node: figure.value for node, figure in figures.items()}
