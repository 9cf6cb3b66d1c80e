"""``restow serve`` as a process: the pages are there at once, and show the cluster as soon as it is read."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from restow.application.clusters import ClusterSource, check_inputs, instant, scheduler_minor
from restow.application.files import NamedText, file_bytes, file_name
from restow.application.planning import PlanRequest
from restow.client.proxies import is_loopback
from restow.errors import InputError
from restow.kube.timestamps import SECOND
from restow.serving.health import Health
from restow.serving.server import ListenAddress, serving
from restow.sources.reading import STDIN
from restow.web.board import Board
from restow.web.following import FollowSettings, Tell, follow
from restow.web.site import Site

_ORIGIN: Final = "--bind-address, --port"


@dataclass(slots=True, frozen=True)
class SiteSettings:
    """What is shown, and where."""

    request: PlanRequest
    address: str = "127.0.0.1"
    #: 0 is any free port.
    port: int = 8080
    #: Seconds between two looks at a live cluster, and between two plans.
    every: float = 5.0
    planning: float = 30.0
    history: str | None = None

    def checked(self) -> SiteSettings:
        """The same, with a policy from standard input read: it is asked for plan after plan.

        InputError for inputs that do not go together, and for an address that others reach: no page asks for a password.
        """
        request = self.request
        check_inputs(request.where, request.policy, request.configuration, request.kubedescheduler)
        if isinstance(request.where, ClusterSource) and request.where.scheduler_version is not None:
            scheduler_minor(request.where.scheduler_version)
        if not is_loopback(self.address):
            raise InputError(
                f"--bind-address {self.address}: restow serve shows everything to everybody who reaches it, so it listens "
                "on 127.0.0.1 or ::1 only; reach it from elsewhere with kubectl port-forward or ssh -L"
            )
        if request.policy != STDIN:
            return self
        policy = NamedText(file_name(request.policy), file_bytes(request.policy))
        return replace(self, request=structs.replace(request, policy=policy))


async def serve(settings: SiteSettings, stopping: asyncio.Event, tell: Tell) -> None:
    """Serve the pages until ``stopping`` is set.

    InputError and ClientError where the cluster cannot be read at the beginning, OSError where it is not possible to
    listen.
    """
    settings = settings.checked()
    board = Board()
    health = Health(lambda: "the cluster is being read" if board.now is None else None, program="restow")
    site = Site(board, settings.request, settings.history)
    endpoint = ListenAddress(settings.address, settings.port, origin=_ORIGIN)
    async with serving(site.application(health), endpoint, None) as port:
        host = f"[{settings.address}]" if ":" in settings.address else settings.address
        tell(f"http://{host}:{port}/ shows the cluster; Ctrl-C ends it")
        health.ready()
        following = FollowSettings(settings.request, settings.every, settings.planning)
        try:
            await _until(stopping, asyncio.ensure_future(follow(board, following, _clock, _once(tell))))
        finally:
            board.close()


def _clock() -> float:
    return instant(None) / SECOND


def _once(tell: Tell) -> Tell:
    """Pass on each sentence once: plan after plan says the same."""
    known: set[str] = set()

    def pass_on(sentence: str) -> None:
        if sentence not in known:
            known.add(sentence)
            tell(sentence)

    return pass_on


async def _until(stopping: asyncio.Event, work: asyncio.Future[None]) -> None:
    """Wait for the end; an error of the work is one. Work that is done is no end."""
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            await work
            await stopped
    finally:
        for each in (work, stopped):
            each.cancel()
        with suppress(asyncio.CancelledError):
            await work
