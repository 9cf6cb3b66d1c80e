"""``restow operator soft-tainter``: a process around ``soft_tainting``, with health checks and an end.

Taints stay when it ends: a restart takes nothing off. Two at a time do no harm, because each patch tests what it changes.
"""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

from restow.client.connection import connect
from restow.live.prometheus import PrometheusUsage
from restow.operator.node_usage import node_usage
from restow.operator.resource import NAMESPACE
from restow.operator.soft_tainting import SoftTainting
from restow.running import log_lines
from restow.running.background import background
from restow.running.ending import told_to_stop
from restow.running.https import https
from restow.running.logs import Log
from restow.running.settings import ApiSettings, HttpsSettings
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
    """Return when told to stop; InputError or OSError for what keeps it from working."""
    stopping, health = told_to_stop(log), Health()
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(https(settings.https, health, lambda: "", {}, log.caution))
        if settings.https is not None and port is not None:
            log_lines.serving(log, settings.https.endpoint.address, port)
        api = await stack.enter_async_context(
            connect(settings.api.kubeconfig, qps=settings.api.qps, burst=settings.api.burst)
        )
        for warning in api.endpoint.warnings:
            log.caution(warning)
        log.say(f"The cluster is {api.endpoint.server} ({api.endpoint.origin})")
        prometheus = PrometheusUsage(api, os.environ)
        usage = partial(node_usage, prometheus)
        tainting = SoftTainting(api, settings.namespace, settings.policy_file, usage, log, health)
        async with background(tainting.run(), "soft taints"):
            await stopping.wait()
