"""The whole run of ``restow pressure``: its parts are started in order and ended in reverse order.

The pages are served first. Every replica watches nodes and checks that the API server answers; only the one that holds
the lease queries Prometheus and writes. SIGTERM ends the current round and releases the lease; marks stay, and the next
process recognizes them by their field manager.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from restow.client.connection import connect, open_session
from restow.client.credentials import Endpoint
from restow.client.transport import Api
from restow.daemon.background import background, told_to_stop
from restow.daemon.connecting import connected
from restow.daemon.electing import lease_unless_dry, with_permission
from restow.daemon.liveness import watched
from restow.daemon.logs import Log
from restow.daemon.settings import ApiSettings, LeaseSettings
from restow.pressure.known_nodes import KnownNodes
from restow.pressure.loop import PROMETHEUS, Rounds, watch_api_server
from restow.pressure.marking import FIELD_MANAGER, is_labelled
from restow.pressure.metrics import PressureMetrics
from restow.pressure.problem_log import DependencyStatus
from restow.pressure.situation import Criteria
from restow.pressure.view import PressureView, Renderer, application
from restow.pressure.writing import Writer
from restow.serving import server
from restow.serving.health import Health
from restow.serving.server import serving
from restow.serving.tls import KeyPair, TlsSettings, ciphers, context_of_files, tls_version

#: Seconds that a query may take at least, however short the interval is.
_PATIENCE: Final = 5.0
_LONGEST: Final = 60.0


@dataclass(slots=True)
class PressureDaemon:
    """One run; ``render`` makes the page for people."""

    settings: PressureSettings
    log: Log
    render: Renderer
    _metrics: PressureMetrics = field(default_factory=PressureMetrics, init=False)
    _leads: bool = field(default=False, init=False)

    async def run(self) -> None:
        """Run until stopped or the lease is lost; InputError, ClientError or OSError if it cannot work."""
        settings, log = self.settings, self.log
        stopping = told_to_stop(log)
        status = DependencyStatus(settings.interval)
        health = Health(status.trouble, program="pressure")
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(watched(health.watchdog, log))
            api = await stack.enter_async_context(connect(settings.api.kubeconfig))
            writing = await stack.enter_async_context(connected(settings.api, log))
            prometheus = Api(settings.prometheus, await stack.enter_async_context(open_session()), None)
            nodes = KnownNodes(api, FIELD_MANAGER, log.warning)
            rounds = self._rounds(prometheus, nodes, writing, stopping=stopping, status=status, health=health)
            made = application(health, self._metrics.text, lambda: self._view(rounds, nodes, status), self.render)
            await stack.enter_async_context(_served(made, settings.listening, log))
            log.info(f"{PROMETHEUS} is {prometheus.endpoint.server}")
            await stack.enter_async_context(background(nodes.follow(), "nodes"))
            watching = watch_api_server(nodes, status, settings.interval)
            await stack.enter_async_context(background(watching, "API server"))
            health.ready()
            lease = lease_unless_dry(settings.lease, log, dry_run=settings.dry_run)
            await with_permission(lease, settings.namespace, writing, rounds.run, stopping, log=log, leads=self._lead)

    def _rounds(
        self,
        prometheus: Api,
        nodes: KnownNodes,
        writing: Api,
        *,
        stopping: asyncio.Event,
        status: DependencyStatus,
        health: Health,
    ) -> Rounds:
        settings = self.settings
        return Rounds(
            prometheus=prometheus.within(min(max(settings.interval, _PATIENCE), _LONGEST)),
            nodes=nodes,
            criteria=settings.criteria,
            writer=Writer(writing, settings.criteria.mark, self.log, self._metrics, settings.dry_run),
            interval=settings.interval,
            stopping=stopping,
            status=status,
            metrics=self._metrics,
            log=self.log,
            watchdog=health.watchdog,
        )

    def _lead(self, leading: bool) -> None:  # noqa: FBT001 - a gauge's value
        self._leads = leading
        self._metrics.leads(leading)

    def _view(self, rounds: Rounds, nodes: KnownNodes, status: DependencyStatus) -> PressureView:
        criteria = self.settings.criteria
        return PressureView(
            criteria=criteria,
            situation=rounds.situation,
            history=rounds.history,
            labelled=tuple(sorted(node.name for node in nodes.all() if is_labelled(node, criteria.mark))),
            trouble=status.trouble(),
            leads=self._leads,
            dry_run=self.settings.dry_run,
            now=rounds.clock(),
            interval=self.settings.interval,
        )


@dataclass(slots=True, frozen=True, kw_only=True)
class Listening:
    """Where pages are served, and with which certificate."""

    endpoint: server.ListenAddress
    #: None is plain HTTP.
    certificate: KeyPair | None = None


@dataclass(slots=True, frozen=True, kw_only=True)
class PressureSettings:
    """Settings of a daemon; None disables a part."""

    api: ApiSettings
    prometheus: Endpoint
    criteria: Criteria
    interval: float
    #: Evaluate and log, but write nothing.
    dry_run: bool = False
    #: Where the lease is.
    namespace: str
    lease: LeaseSettings | None = None
    listening: Listening | None = None


@asynccontextmanager
async def _served(made: web.Application, listening: Listening | None, log: Log) -> AsyncIterator[None]:
    if listening is None:
        yield
        return
    tls = None
    if listening.certificate is not None:
        tls = context_of_files([listening.certificate], TlsSettings(tls_version(""), ciphers(())), log.warning)
    async with serving(made, listening.endpoint, tls) as port:
        log.info(f"Serving {'HTTPS' if tls else 'HTTP'} on port {port}")
        yield
