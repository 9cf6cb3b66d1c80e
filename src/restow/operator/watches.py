"""What kopf does for an operator: it watches, has the resource wait for its removal, and tries that again.

Nothing is done about an event but to wake the sync, which is level-based. Of kopf's own state nothing is kept on the
resource: it remembers no last configuration, and how often a removal was tried stands in an annotation only while the
resource is being deleted. kopf takes the process's signals and its tasks for its own, so it starts last and ends first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import aiohttp
import kopf

from restow.client.errors import NoCredentials
from restow.client.resources import RESOURCES, ApiResource
from restow.client.transport import TIME_OUT, Api
from restow.errors import ClientError
from restow.operator.objects import KUBEDESCHEDULERS, SELECTOR, WRITTEN
from restow.operator.resource import NAME
from restow.operator.syncing import FINALIZER

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
