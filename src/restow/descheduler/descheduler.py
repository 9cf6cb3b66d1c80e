"""A whole run: everything that a descheduler needs, started in order and ended in the reverse order.

The pages are served first, so that probes are answered while the lists come in; cycles begin when every list is in and,
where a lease is asked for, when it is held. Watches have a connection of their own: however many evictions wait for
their turn, the state they are judged by stays fresh. SIGTERM and SIGINT let requests that are out come to their end,
write the events that wait, and give the lease back.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from restow import garbage
from restow.client.connection import connect
from restow.client.errors import ServerTrouble, TooManyRequests
from restow.client.transport import Api, Permit
from restow.client.version import git_version, minor_of
from restow.daemon import log_lines
from restow.daemon.background import told_to_stop, watched
from restow.daemon.connecting import connected, https
from restow.daemon.electing import lease_unless_dry, with_permission
from restow.daemon.logs import Log
from restow.descheduler.cycles import Cycles
from restow.descheduler.history import HistoryKeeper
from restow.descheduler.loop import Loop, PolicySource
from restow.descheduler.offering import Offer
from restow.descheduler.publishing import Publish, publishing
from restow.descheduler.reporter import recording
from restow.descheduler.settings import Settings, TracesSettings
from restow.descheduler.steering import fencing_by, releasing, steering, unfencing
from restow.descheduler.tracing import RUN, NoTracing, TracedEvictions, Tracing
from restow.descheduler.webhook import Webhook, informed
from restow.errors import ClientError
from restow.executing.admission import PATH as STEER
from restow.executing.confirming import ConfirmedEvictions
from restow.executing.deciding import CycleRules
from restow.executing.fencing import Unfencing
from restow.executing.history import EvictionHistory
from restow.executing.replacing import ways_through
from restow.executing.steering import Releasing, unthrottled
from restow.executing.surroundings import ApiEvictions, Evicting
from restow.history.file import HistoryFile
from restow.live.cluster import LiveCluster, live_cluster
from restow.live.reading import METRICS, READ
from restow.live.usage import QueriedUsage
from restow.policies.policy import Policy, collects_kubernetes_metrics
from restow.policies.usage import kept_samples
from restow.scheduling.framework.minors import ASSUMED, not_followed
from restow.serving.health import Health
from restow.serving.metrics import FOLLOWS, Metrics

if TYPE_CHECKING:
    from restow.descheduler.shadowing import Shadow

#: How many minor versions the Descheduler allows for either way.
_ALLOWED: Final = 3
#: Seconds for the first lists.
_PATIENCE: Final = 300.0
_STOPPING: Final = "restow is stopping"


@dataclass(slots=True)
class Descheduler:
    """One run."""

    settings: Settings
    log: Log
    #: Whether everything is there that cycles need.
    _is_ready: bool = field(init=False, default=False)

    async def run(self) -> None:
        """Run until done or stopped; InputError, ClientError or OSError if it cannot work."""
        stopping = told_to_stop(self.log)
        everything = asyncio.ensure_future(self._run(stopping))
        stopped = asyncio.ensure_future(stopping.wait())
        await asyncio.wait((everything, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if self._is_ready:
            await everything
            return
        everything.cancel()
        with suppress(asyncio.CancelledError):
            await everything

    async def _run(self, stopping: asyncio.Event) -> None:
        live: LiveCluster | None = None

        def ages() -> Mapping[str, float]:
            return {} if live is None else {kind: live.age(kind) for kind in live.kinds}

        def known() -> Mapping[str, bool]:
            return {} if live is None else {kind: live.is_known(kind) for kind in live.kinds}

        def lost() -> str | None:
            return None if live is None else live.lost_protection()

        settings, log = self.settings, self.log
        api, cycles = settings.api, settings.cycles
        metrics, health = Metrics(ages, known), Health(lost)
        webhook = Webhook(metrics.steering)
        policies = PolicySource.open(cycles.policy_file, cycles.fallbacks, log, metrics)
        async with AsyncExitStack() as stack:
            history = _history_of(settings, log)
            if history is not None:
                stack.callback(history.close)
            await stack.enter_async_context(watched(health.watchdog, log))
            webhooks = {STEER: webhook.answer}
            port = await stack.enter_async_context(https(settings.https, health, metrics.text, webhooks, log))
            if settings.https is not None and port is not None:
                webhook.is_served(settings.https.endpoint.address, port)
            tracing = tracing_of(settings.traces, log.warning)
            stack.callback(tracing.close)
            stack.enter_context(tracing.span(RUN))
            watching = await stack.enter_async_context(connect(api.kubeconfig))
            minor = await check_version(watching, log)
            shadow = _shadow_of(settings, metrics, log)
            kinds = kinds_of(policies.current)
            live = await stack.enter_async_context(live_cluster(watching, kinds, warn=log.warning))
            live.keep_usage(*kept_samples(policies.current))
            live.server_minor = minor
            writing = await stack.enter_async_context(connected(api, log))
            # Both connections share one server time: watches learn it first.
            writing.server_time = watching.server_time
            await first_lists(live)
            if shadow is not None:
                live.listeners.append(shadow.touch)
                server, clock = watching.endpoint.server, watching.server_time.now
                await stack.enter_async_context(shadow.following(live, server, clock))
            self._is_ready = True
            gates: Releasing | None = None
            fences: Unfencing | None = None
            if not cycles.dry_run:
                gates = await stack.enter_async_context(releasing(writing, live, log, metrics.steering))
                fences = await stack.enter_async_context(
                    unfencing(writing, settings.namespace, live, log, metrics.steering)
                )
                await stack.enter_async_context(informed(webhook, watching, settings.namespace, log))
            work = _Work(
                self,
                live,
                writing,
                policies,
                stopping,
                health,
                metrics,
                tracing,
                gates,
                fences,
                webhook,
                shadow,
                history,
            )
            health.ready()
            lease = lease_unless_dry(settings.lease, log, dry_run=cycles.dry_run)
            await with_permission(lease, settings.namespace, writing, work.run, stopping, log=log, leads=metrics.leads)


@dataclass(slots=True)
class _Work:
    """What is done with the permission to evict."""

    of: Descheduler
    live: LiveCluster
    api: Api
    policies: PolicySource
    stopping: asyncio.Event
    health: Health
    metrics: Metrics
    tracing: Tracing
    #: None in a dry run, which writes nothing.
    gates: Releasing | None
    fences: Unfencing | None
    webhook: Webhook
    shadow: Shadow | None
    history: HistoryFile | None

    async def run(self, permit: Permit) -> None:
        """Perform cycles until they are done or ``stopping`` is set."""
        settings, log = self.of.settings.cycles, self.of.log
        # A dry run writes nothing.
        recorder = nullcontext() if settings.dry_run else recording(self.api, log=log, metrics=self.metrics)
        async with (
            recorder as events,
            self._steering(permit) as offer,
        ):
            cycles = Cycles(
                live=self.live,
                evicting=None if settings.dry_run else lambda grace: self._evictions(permit, grace),
                permit=permit,
                memory=EvictionHistory(),
                log=log,
                metrics=self.metrics,
                events=events,
                tracing=self.tracing,
                clock=self.api.server_time.now,
                in_background=settings.in_background,
                watchdog=self.health.watchdog,
                offer=offer,
                ways={} if settings.dry_run else ways_through(self.api, permit, log.warning),
                usage=QueriedUsage(self.api, os.environ).results,
                publish=self._publish(permit),
                history=self._history(),
            )
            rules = CycleRules(
                self.policies.current, settings.placement, settings.profiles, settings.scheduler_configuration
            )
            loop = Loop(cycles, self.policies, rules, settings.interval, self.stopping, self.health, log)
            stopped = asyncio.ensure_future(self._stop(cycles))
            try:
                await loop.run()
            finally:
                stopped.cancel()

    def _history(self) -> HistoryKeeper | None:
        if self.history is None:
            return None
        return HistoryKeeper(self.history, self.api.server_time.now, self.of.settings.cycles.dry_run)

    def _publish(self, permit: Permit) -> Publish | None:
        settings, publish = self.of.settings, None
        if settings.published_plan is not None:
            publish = publishing(
                self.api, settings.published_plan, permit, self.of.log, dry_run=settings.cycles.dry_run
            )
        return publish if self.shadow is None else self.shadow.publishing(publish)

    @asynccontextmanager
    async def _steering(self, permit: Permit) -> AsyncIterator[Offer]:
        namespace, log = self.of.settings.namespace, self.of.log
        if self.gates is None or self.fences is None:
            yield Offer(unthrottled(self.api), namespace, log, self.webhook)
            return
        with fencing_by(self.fences, namespace, permit) as fencing:
            offered = steering(self.api, namespace, permit, self.gates, log, fencing=fencing, webhook=self.webhook)
            async with offered as offer:
                yield offer

    async def _stop(self, cycles: Cycles) -> None:
        await self.stopping.wait()
        self.of.log.info(f"{_STOPPING}: waiting for the evictions in progress")
        cycles.stop(_STOPPING)

    def _evictions(self, permit: Permit, grace_period: int | None) -> Evicting:
        evictions = TracedEvictions(ApiEvictions(self.api, permit, grace_period), self.tracing)
        return ConfirmedEvictions(evictions, self.api) if self.of.settings.cycles.confirm_replacements else evictions


async def check_version(api: Api, log: Log) -> int | None:
    """Warn if the server's version differs in its scores or is too far away; return the minor version, None if unknown.

    ClientError if the server does not answer or refuses. A busy server is only a warning: the lists that follow wait
    until it has time.
    """
    try:
        version = await git_version(api)
    except (TooManyRequests, ServerTrouble) as error:
        log.warning(f"The version of the API server is not known ({error}); restow goes on without checking it")
        return None
    minor = minor_of(version)
    if minor is None or abs(minor - ASSUMED) > _ALLOWED:
        log_lines.version_skew(log, FOLLOWS.removeprefix("v"), version)
    elif other := not_followed(minor):
        log.warning(f"{other[0].upper()}{other[1:]}: moves that depend on scores are likely at most")
    return minor


def _history_of(settings: Settings, log: Log) -> HistoryFile | None:
    if settings.history is None:
        return None
    return HistoryFile(settings.history.path, settings.history.days, log.warning)


def _shadow_of(settings: Settings, metrics: Metrics, log: Log) -> Shadow | None:
    if settings.shadow is None:
        return None
    # Most runs are no shadow, and start without its modules.
    from restow.descheduler.shadowing import Shadow  # noqa: PLC0415

    return Shadow(settings.cycles.profiles, settings.shadow.write, metrics.shadow, log)


def tracing_of(settings: TracesSettings | None, warn: Callable[[str], None]) -> Tracing:
    """Return tracing; none where it is not asked for, or, with a warning, where it cannot be had."""
    if settings is None:
        return NoTracing()
    try:
        from restow.descheduler.otlp import Traces  # noqa: PLC0415 - an extra, and slow to import

        return Traces(settings)
    except ImportError:
        warn("--otel-collector-endpoint: traces need an extra: pip install restow[tracing]")
    except (OSError, ValueError) as error:
        warn(f"failed to create tracer provider: {error}; there are no traces")
    return NoTracing()


async def first_lists(live: LiveCluster) -> None:
    """Wait until every list is in; ClientError if they do not come."""
    if not await live.wait_ready(asyncio.get_running_loop().time() + _PATIENCE):
        raise ClientError(f"could not list {', '.join(live.missing)} within {_PATIENCE:.0f} s")
    # Most of what was listed stays.
    garbage.settle()


def kinds_of(policy: Policy) -> tuple[str, ...]:
    """The kinds that decisions by a policy depend on."""
    return (*READ, *METRICS) if collects_kubernetes_metrics(policy) else READ
