"""A client that sends requests to Services at a constant rate, and what has become of each of them.

    with ServiceRequests(plane, ["web"], rate=8) as requests:
        ...
    assert not [each for each in requests.sent if each.failure]

Every request is a connection of its own, which goes to an endpoint that ``service_endpoints`` chooses. Nothing is tried
again. Latency counts from the time at which the request was due, so a busy client does not hide a slow answer.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

import aiohttp

from e2e.beside import coroutine_beside
from e2e.control_plane import ControlPlane
from e2e.pod_network import host_of
from e2e.service_endpoints import Endpoint, ServiceEndpoints
from e2e.waiting import wait_until
from restow.client.connection import connect

#: Seconds that a request may take.
_PATIENCE = 5.0
#: Seconds until all Services have a ready endpoint.
_ALL_READY = 60.0
NO_ENDPOINT, REFUSED, BROKEN, LATE = "no endpoint", "connection refused", "connection broken", "no answer in time"


@dataclass(slots=True, frozen=True)
class Sent:
    """One request."""

    service: str
    #: When it was due, by the monotonic clock.
    due: float
    #: Until the whole answer was there, or it failed.
    seconds: float
    #: Why it failed; empty if it did not.
    failure: str


class ServiceRequests:
    """Sends ``rate`` requests a second to each of the Services; a context manager. Requests under way at its end do not count."""

    def __init__(self, plane: ControlPlane, services: Sequence[str], rate: float, namespace: str = "default") -> None:
        self._plane = plane
        self._services = tuple(services)
        self._pause = 1.0 / rate
        self.endpoints = ServiceEndpoints(namespace)
        #: What has been answered or has failed, in this order.
        self.sent: list[Sent] = []
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self._running.enter_context(coroutine_beside(self._run))
        try:
            self.wait_for_endpoints()
        except TimeoutError:
            self._running.close()
            raise
        self.sent.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def between(self, begin: float, end: float) -> list[Sent]:
        """The requests that were due in this time."""
        return [each for each in self.sent if begin <= each.due < end]

    def wait_for_endpoints(self) -> None:
        """Return when each Service has a ready endpoint: no gap is open then."""
        wait_until(
            "each Service has a ready endpoint", lambda: all(map(self.endpoints.ready, self._services)), _ALL_READY
        )

    async def _run(self) -> None:
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        timeout = aiohttp.ClientTimeout(total=_PATIENCE)
        async with (
            connect(str(self._plane.kubeconfig)) as api,
            aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
            asyncio.TaskGroup() as tasks,
        ):
            tasks.create_task(self.endpoints.follow(api))
            for service in self._services:
                tasks.create_task(self._send_steadily(session, tasks, service))

    async def _send_steadily(self, session: aiohttp.ClientSession, tasks: asyncio.TaskGroup, service: str) -> None:
        # The Services take turns: their requests do not all come at the same time.
        due = time.monotonic() + random.random() * self._pause
        while True:
            await asyncio.sleep(due - time.monotonic())
            tasks.create_task(self._send(session, service, due))
            due += self._pause

    async def _send(self, session: aiohttp.ClientSession, service: str, due: float) -> None:
        endpoint = self.endpoints.choose(service)
        failure = NO_ENDPOINT if endpoint is None else await _failure_of(session, endpoint)
        self.sent.append(Sent(service, due, time.monotonic() - due, failure))


async def _failure_of(session: aiohttp.ClientSession, endpoint: Endpoint) -> str:
    """Why a request failed; empty if it was answered."""
    try:
        async with session.get(f"http://{host_of(endpoint.address)}:{endpoint.port}/") as response:
            await response.read()
            return "" if response.status == 200 else f"status {response.status}"
    except aiohttp.ClientConnectorError:
        return REFUSED
    except TimeoutError:
        return LATE
    except aiohttp.ClientError:
        return BROKEN
