"""``restow operator soft-tainter``: a process around ``soft_tainting``, with health checks and an end.

Taints stay when it ends: a restart takes nothing off. Two at a time do no harm, because each patch tests what it changes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

from restow.cluster.usage_samples import UsageQuery
from restow.daemon.background import background, told_to_stop
from restow.daemon.connecting import connected
from restow.daemon.https import https
from restow.daemon.liveness import watched
from restow.daemon.logs import Log
from restow.daemon.settings import ApiSettings, HttpsSettings
from restow.descheduling.framework import StrategyError
from restow.descheduling.node_utilization.queried import figures_of
from restow.errors import ClientError
from restow.live.prometheus import PrometheusUsage
from restow.operator.resource import NAMESPACE
from restow.operator.soft_tainting import SoftTainting
from restow.policies.policy import PROMETHEUS, Policy
from restow.serving.health import Health


@dataclass(slots=True, frozen=True, kw_only=True)
class TainterSettings:
    """What a soft tainter is started with."""

    policy_file: str
    #: Where the resource is.
    namespace: str = NAMESPACE
    api: ApiSettings = field(default_factory=ApiSettings)
    https: HttpsSettings | None = None


async def taint(settings: TainterSettings, log: Log) -> None:
    """Run until stopped; InputError or OSError if it cannot work."""
    stopping, health = told_to_stop(log), Health(program="soft-tainter")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(watched(health.watchdog, log))
        await stack.enter_async_context(https(settings.https, health, None, {}, log))
        api = await stack.enter_async_context(connected(settings.api, log))
        prometheus = PrometheusUsage(api, os.environ)
        usage = partial(node_usage, prometheus)
        tainting = SoftTainting(api, settings.namespace, settings.policy_file, usage, log, health)
        async with background(tainting.run(), "soft taints"):
            await stopping.wait()


async def node_usage(prometheus: PrometheusUsage, policy: Policy, query: str) -> Mapping[str, float]:
    """Return the result of a policy's query, 0 to 1 by node; ClientError if it fails or is no such share."""
    result = (await prometheus.results(policy)).get(UsageQuery(PROMETHEUS, query))
    if result is None:
        raise ClientError("the policy names no Prometheus (metricsProviders)")
    if result.problem:
        raise ClientError(result.problem)
    try:
        figures = figures_of(result, policy.restow.usage)
    except StrategyError as error:
        raise ClientError(str(error)) from error
    return {node: figure.value for node, figure in figures.items()}
