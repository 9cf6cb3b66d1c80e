"""``restow operator``: under a lease, syncs at each change and once in a while.

A sync that fails is tried again with growing pauses; meanwhile the status says why. Syncs and uninstalling never run at
the same time.

kopf watches, has the resource wait for its removal, and tries that again. Nothing is done about an event but to wake the
sync, which is level-based. Of kopf's own state nothing is kept on the resource: it remembers no last configuration, and
how often a removal was tried stands in an annotation only while the resource is being deleted. kopf takes the process's
signals and its tasks for its own, so it starts last and ends first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast

import aiohttp
import kopf

from restow.client.errors import NoCredentials
from restow.client.flow_control import STREAMS
from restow.client.resources import RESOURCES, ApiResource
from restow.client.transport import TIME_OUT, Api, Permit
from restow.daemon.background import background, heed_signals, told_to_stop, watched
from restow.daemon.connecting import ApiSettings, HttpsSettings, connected, https
from restow.daemon.electing import LeaseSettings, with_permission
from restow.daemon.logs import Log
from restow.errors import ClientError
from restow.operator.applying import Writing
from restow.operator.facts import Installation
from restow.operator.objects import KUBEDESCHEDULERS, SELECTOR, WRITTEN
from restow.operator.resource import NAME
from restow.operator.status import OperatorMetrics, SyncResult
from restow.operator.syncing import FINALIZER, Operator, leave, sync
from restow.serving.health import Health, Watchdog

#: Kinds that every cluster serves; what belongs to others is looked at with each sync.
_EVERYWHERE: Final = tuple(each for each in WRITTEN if each.group != "monitoring.coreos.com")
_FACTS: Final = (RESOURCES["Namespace"], RESOURCES["PriorityClass"])
#: How often a removal is tried, and the seconds in between. After that the resource is deleted, even if objects are
#: left.
TRIES: Final = 12
PAUSE: Final = 10.0
#: Seconds that a watch is asked to last.
_WATCH: Final = 300

Left = Callable[[], Awaitable[None]]

_UNAUTHORIZED = 401
#: As OpenShift's operator.
LEASE: Final = "openshift-cluster-kube-descheduler-operator-lock"
#: Seconds from one sync to the next where nothing changes.
RESYNC: Final = 60.0
#: Seconds in which several changes become one sync.
_TOGETHER: Final = 0.2
#: Seconds that a sync may take: each request in it has a bound of its own.
_PATIENCE: Final = 900.0
_WHO: Final = "operator"


class _NoMemory(kopf.DiffBaseStorage):
    """Keeps no last configuration: nothing depends on it."""

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:  # noqa: ARG002 - kopf's protocol
        """Return nothing."""
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Store nothing."""


class Session:
    """As much of an aiohttp session as kopf uses."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.headers: dict[str, str] = {}

    @property
    def closed(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._api.session.closed

    async def close(self) -> None:
        """Do nothing: the session is closed where it was opened."""

    async def request(
        self, *, method: str, url: str, headers: dict[str, str] | None, **rest: Any
    ) -> aiohttp.ClientResponse:
        """Ask, and once more where a token has just been replaced."""
        response = await self._once(method, url, headers, rest)
        if response.status != _UNAUTHORIZED:
            return response
        response.release()
        self._api.endpoint.credentials.rejected()
        return await self._once(method, url, headers, rest)

    async def _once(
        self, method: str, url: str, headers: dict[str, str] | None, rest: dict[str, Any]
    ) -> aiohttp.ClientResponse:
        endpoint = self._api.endpoint
        try:
            identity = await endpoint.credentials.identity()
        except NoCredentials as error:
            # What kopf tries again.
            raise aiohttp.ClientConnectionError(str(error)) from error
        return await self._api.session.request(
            method,
            url,
            headers=[*self.headers.items(), *(headers or {}).items(), *identity.headers],
            ssl=identity.tls if identity.tls is not None else True,
            server_hostname=endpoint.server_name,
            proxy=endpoint.proxy,
            allow_redirects=False,
            **rest,
        )


async def watch(
    api: Api,
    namespace: str,
    *,
    changed: Callable[[], None],
    left: Left,
    stopping: asyncio.Event,
    after_start: Callable[[], None],
) -> None:
    """Call ``changed`` for each relevant change, and ``left`` when the resource is being deleted, until ``stopping``.

    ``after_start`` is called when kopf has taken over the signals. ClientError if watching cannot continue.
    """
    existing = asyncio.all_tasks()
    tasks = await kopf.spawn_tasks(
        registry=_registry(api, changed, left),
        settings=_settings(),
        standalone=True,
        namespaces=[namespace],
        stop_flag=stopping,
    )
    after_start()
    try:
        await kopf.run_tasks(tasks, ignored=existing)
    except Exception as error:
        raise ClientError(f"the cluster cannot be watched any more: {error}") from error


def _registry(api: Api, changed: Callable[[], None], left: Left) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()

    async def login(**_: Any) -> kopf.AiohttpSession:
        session = cast("aiohttp.ClientSession", Session(api))
        return kopf.AiohttpSession(server=api.endpoint.server, aiohttp_session=session)

    async def wake(**_: Any) -> None:
        changed()

    async def leave(**_: Any) -> None:
        await left()

    kopf.on.login(registry=registry)(login)
    for each in (KUBEDESCHEDULERS, *_FACTS, *_EVERYWHERE):
        kopf.on.event(*_names(each), registry=registry)(wake)
    # The name of an annotation is made of the id.
    removal = kopf.on.delete(
        *_names(KUBEDESCHEDULERS), id="leave", registry=registry, retries=TRIES, backoff=PAUSE, when=_is_ours
    )
    removal(leave)
    return registry


def _is_ours(name: str | None, **_: Any) -> bool:
    return name == NAME


def _names(resource: ApiResource) -> tuple[str, ...]:
    return resource.group, resource.version, resource.plural


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.process.ultimate_exiting_timeout = None
    settings.persistence.finalizer = FINALIZER
    settings.persistence.diffbase_storage = _NoMemory()
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="restow.dev")
    settings.watching.server_timeout = _WATCH
    settings.networking.request_timeout = TIME_OUT
    for each in _EVERYWHERE:
        settings.watching.label_selectors[_names(each)] = SELECTOR  # type: ignore[index]
    return settings


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
