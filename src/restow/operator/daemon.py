"""``restow operator``: under a lease, syncs at each change and once in a while.

A sync that fails is tried again with growing pauses; meanwhile the status says why. Syncs and uninstalling never run at
the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from restow.client.back_off import STREAMS
from restow.client.leadership import Permit
from restow.client.transport import Api
from restow.daemon.background import background, heed_signals, told_to_stop
from restow.daemon.connecting import connected
from restow.daemon.electing import with_permission
from restow.daemon.https import https
from restow.daemon.liveness import watched
from restow.daemon.logs import Log
from restow.daemon.settings import ApiSettings, HttpsSettings, LeaseSettings
from restow.operator.applying import Writing
from restow.operator.facts import Installation
from restow.operator.metrics import OperatorMetrics, SyncResult
from restow.operator.syncing import Operator, leave, sync
from restow.operator.watches import watch
from restow.serving.health import Health, Watchdog

#: As OpenShift's operator.
LEASE: Final = "openshift-cluster-kube-descheduler-operator-lock"
#: Seconds from one sync to the next where nothing changes.
RESYNC: Final = 60.0
#: Seconds in which several changes become one sync.
_TOGETHER: Final = 0.2
#: Seconds that a sync may take: each request in it has a bound of its own.
_PATIENCE: Final = 900.0
_WHO: Final = "operator"


@dataclass(slots=True, frozen=True, kw_only=True)
class OperatorSettings:
    """What an operator is started with."""

    installation: Installation
    api: ApiSettings
    lease: LeaseSettings
    https: HttpsSettings | None = None


async def operate(settings: OperatorSettings, log: Log) -> None:
    """Run until stopped, or until the lease is lost; InputError, ClientError or OSError if it cannot work."""
    stopping, health, metrics = told_to_stop(log), Health(program="operator"), OperatorMetrics()
    heed = partial(heed_signals, stopping, log)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(watched(health.watchdog, log))
        await stack.enter_async_context(https(settings.https, health, metrics.text, {}, log))
        api = await stack.enter_async_context(connected(settings.api, log))
        health.ready()
        work = _Work(settings.installation, api, log, stopping, heed, metrics, health.watchdog)
        namespace = settings.installation.namespace
        await with_permission(settings.lease, namespace, api, work.run, stopping, log=log, leads=metrics.leads)


@dataclass(slots=True)
class _Work:
    """The work under the lease."""

    installation: Installation
    api: Api
    log: Log
    stopping: asyncio.Event
    heed: Callable[[], None]
    metrics: OperatorMetrics
    watchdog: Watchdog
    _changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _turn: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def run(self, permit: Permit) -> None:
        """Sync until ``stopping`` is set."""
        namespace = self.installation.namespace
        operator = Operator(Writing(self.api, namespace, permit, self.log), self.installation, self.metrics)
        self._changed.set()
        async with background(self._keep_syncing(operator), "sync"):
            await watch(
                self.api,
                namespace,
                changed=self._changed.set,
                left=partial(self._leave, operator),
                stopping=self.stopping,
                after_start=self.heed,
            )

    async def _leave(self, operator: Operator) -> None:
        async with self._turn:
            await leave(operator)
        self.log.info("The resource is deleted, and everything that was made for it is gone")

    async def _keep_syncing(self, operator: Operator) -> None:
        failures = 0
        while True:
            await self._wait()
            async with self._turn:
                failures = 0 if await self._synced(operator) else failures + 1
            if failures:
                await asyncio.sleep(STREAMS.wait(failures))
                self._changed.set()

    async def _synced(self, operator: Operator) -> bool:
        """Whether a sync did not fail."""
        self.watchdog.expect(_WHO, "end of a sync", _PATIENCE)
        clock = asyncio.get_running_loop().time
        began = clock()
        result: SyncResult = "failed"
        try:
            await sync(operator)
            result = "done"
        except Exception as error:  # noqa: BLE001 - whatever failed, the next sync may succeed
            self.log.error("Sync failed", str(error) or type(error).__name__)
        finally:
            self.watchdog.rest(_WHO)
        self.metrics.synced(result, clock() - began, self.api.server_time.now())
        return result == "done"

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(RESYNC):
                await self._changed.wait()
        except TimeoutError:
            return
        await asyncio.sleep(_TOGETHER)
        self._changed.clear()
