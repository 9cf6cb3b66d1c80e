"""A client that sends requests to Services at a constant rate, and what has become of each of them.

    with ServiceRequests(plane, ["web"], rate=8) as requests:
        ...
    assert not [each for each in requests.sent if each.failure]

It is a process of its own, so that nothing of a test makes it wait. Every request is a connection of its own, which goes to
an endpoint that ``service_endpoints`` chooses. Nothing is tried again. Latency counts from the time at which the request
was due, so a busy client does not hide a slow answer.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Self

import aiohttp

from e2e.control_plane import ControlPlane
from e2e.pod_network import host_of
from e2e.service_endpoints import Endpoint, Gap, ServiceEndpoints
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
        client = _Client(str(plane.kubeconfig), tuple(services), 1.0 / rate, namespace)
        self._answers, there = multiprocessing.Pipe()
        spawn = multiprocessing.get_context("spawn")
        self._process = spawn.Process(target=_run, args=(client, there), daemon=True)
        self._told: dict[str, Any] | None = None
        self._begin = 0.0

    def __enter__(self) -> Self:
        self._process.start()
        try:
            self.wait_for_endpoints()
        except BaseException:
            self._end()
            raise
        self._begin = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._told = {name: self._ask(name) for name in ("sent", "gaps")}
        self._end()

    @property
    def sent(self) -> list[Sent]:
        """What has been answered or has failed, in this order."""
        found: list[Sent] = self._ask("sent")
        return [each for each in found if each.due >= self._begin]

    @property
    def gaps(self) -> list[Gap]:
        """The times in which a Service had no ready endpoint, but for those before its first one."""
        found: list[Gap] = self._ask("gaps")
        return found

    def ready(self) -> list[Endpoint]:
        """The ready endpoints of all Services."""
        found: list[Endpoint] = self._ask("ready")
        return found

    def between(self, begin: float, end: float) -> list[Sent]:
        """The requests that were due in this time."""
        return [each for each in self.sent if begin <= each.due < end]

    def wait_for_endpoints(self) -> None:
        """Return when each Service has a ready endpoint: no gap is open then."""
        wait_until("each Service has a ready endpoint", lambda: self._ask("all are ready"), _ALL_READY)

    def _ask(self, what: str) -> Any:
        if self._told is not None:
            return self._told[what]
        self._answers.send(what)
        return self._answers.recv()

    def _end(self) -> None:
        self._process.terminate()
        self._process.join()


def _run(client: _Client, questions: Connection) -> None:
    """Send requests, and answer questions about them, until the process is told to end."""
    with suppress(asyncio.CancelledError):
        asyncio.run(client.run(questions))


class _Client:
    def __init__(self, kubeconfig: str, services: tuple[str, ...], pause: float, namespace: str) -> None:
        self._kubeconfig = kubeconfig
        self._services = services
        self._pause = pause
        self._endpoints = ServiceEndpoints(namespace)
        self._sent: list[Sent] = []

    async def run(self, questions: Connection) -> None:
        """Run until cancelled, or until nobody can ask any more."""
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        timeout = aiohttp.ClientTimeout(total=_PATIENCE)
        async with (
            connect(self._kubeconfig) as api,
            aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
            asyncio.TaskGroup() as tasks,
        ):
            asyncio.get_running_loop().add_reader(questions.fileno(), self._answer, questions)
            tasks.create_task(self._endpoints.follow(api))
            for service in self._services:
                tasks.create_task(self._send_steadily(session, tasks, service))

    def _answer(self, questions: Connection) -> None:
        found: dict[str, Any] = {
            "sent": self._sent,
            "gaps": [gap for each in self._endpoints.gaps.values() for gap in each],
            "ready": [each for service in self._services for each in self._endpoints.ready(service)],
            "all are ready": all(map(self._endpoints.ready, self._services)),
        }
        questions.send(found[questions.recv()])

    async def _send_steadily(self, session: aiohttp.ClientSession, tasks: asyncio.TaskGroup, service: str) -> None:
        # The Services take turns: their requests do not all come at the same time.
        due = time.monotonic() + random.random() * self._pause
        while True:
            await asyncio.sleep(due - time.monotonic())
            tasks.create_task(self._send(session, service, due))
            due += self._pause

    async def _send(self, session: aiohttp.ClientSession, service: str, due: float) -> None:
        endpoint = self._endpoints.choose(service)
        failure = NO_ENDPOINT if endpoint is None else await _failure_of(session, endpoint)
        self._sent.append(Sent(service, due, time.monotonic() - due, failure))


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
