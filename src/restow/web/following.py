"""What keeps a board up to date: a dump is read once, a live cluster is watched and planned again when it has changed.

Watching and planning take turns of their own: the pages show the cluster also while a plan is made, in a thread.
Nothing is written to the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from msgspec import structs

from restow.application.clusters import ClusterSource, LoadedCluster, read_cluster, scheduler_minor
from restow.application.feedback import Collected
from restow.application.live_clusters import live_origin
from restow.application.planning import Planned, PlanRequest, asked_policy, make
from restow.application.watching import cluster_now
from restow.client.connection import connect
from restow.client.transport import Api
from restow.client.version import server_minor
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduler.descheduler import first_lists
from restow.errors import ClientError, InputError
from restow.in_thread import EndlessError, in_thread
from restow.kube.duration import SECOND, format_duration
from restow.live.cluster import LiveCluster, live_cluster
from restow.live.reading import METRICS, READ, REQUIRED
from restow.reporting.top_result import ClusterNow
from restow.web.board import Board

T = TypeVar("T")
#: Gets sentences for people.
Tell = Callable[[str], None]

#: A watch that breaks off is usually resumed at once; after so many seconds the page says that it was not.
_LATE: Final = 10.0
#: Seconds for a plan of the largest clusters.
_PLANNING: Final = 600.0


@dataclass(slots=True, frozen=True)
class FollowSettings:
    """What is followed, and how often, in seconds."""

    request: PlanRequest
    #: Between two looks at the cluster, where it changes.
    every: float
    #: Between the end of a plan and the beginning of the next, where the cluster has changed.
    planning: float


async def follow(board: Board, following: FollowSettings, clock: Callable[[], float], tell: Tell) -> None:
    """Keep a board up to date until cancelled; returns at once of a dump. ``clock`` gives seconds since the epoch.

    InputError and ClientError where the cluster or the policy cannot be read at the beginning; later ones are shown.
    """
    where = following.request.where
    assert isinstance(where, ClusterSource), "what is followed is named, and was not read yet"
    if where.is_live:
        await _follow_live(board, following, where, clock, tell)
        return
    found = await _computed(lambda: read_cluster(where, Collected(), usage=True))
    board.show(await _computed(partial(cluster_now, found)), clock())
    board.show_plan(await _plan(following.request, found, tell))


async def _follow_live(
    board: Board, following: FollowSettings, where: ClusterSource, clock: Callable[[], float], tell: Tell
) -> None:
    request = following.request
    # Its warnings come with the first plan.
    asked = asked_policy(request.policy, request.kubedescheduler, request.fallbacks, Collected())
    kinds = (*READ, *METRICS) if asked.collects_usage else READ
    async with connect(where.kubeconfig, where.context) as api, live_cluster(api, kinds, warn=tell) as live:
        asked_for = where.scheduler_version
        live.server_minor = await server_minor(api) if asked_for is None else scheduler_minor(asked_for)
        await first_lists(live)
        source = _Source(live, api, where)
        await asyncio.gather(_look(board, source, following.every, clock), _plan_again(board, source, following, tell))


@dataclass(slots=True, frozen=True)
class _Source:
    """The live cluster."""

    live: LiveCluster
    api: Api
    where: ClusterSource

    def found(self) -> LoadedCluster:
        """The cluster as it is now."""
        server = self.api.endpoint.server.partition("://")[2]
        notes = tuple(self.live.refused.values())
        return LoadedCluster(self.live.snapshot(), live_origin(server), notes, server, self.where)

    def doubt(self) -> str:
        """Why nodes and pods may be others by now; empty where they are followed."""
        broken = [self.live.age(kind) for kind in REQUIRED if self.live.is_interrupted(kind)]
        late = max(broken, default=0.0)
        if late < _LATE:
            return ""
        return f"the API server does not answer: what is shown was true {format_duration(int(late) * SECOND)} ago"


async def _look(board: Board, source: _Source, every: float, clock: Callable[[], float]) -> None:
    """Show the cluster again and again; a sample is taken also where nothing has changed."""
    seen: tuple[ClusterSnapshot, ClusterNow] | None = None
    while True:
        found = source.found()
        if seen is None or found.cluster is not seen[0]:
            seen = found.cluster, await _computed(partial(cluster_now, found))
        board.show(seen[1], clock(), source.doubt())
        await asyncio.sleep(every)


async def _plan_again(board: Board, source: _Source, following: FollowSettings, tell: Tell) -> None:
    """Plan when the cluster has changed since the last plan, or there is none."""
    planned_of: object = None
    while True:
        found = source.found()
        if found.cluster is not planned_of:
            planned_of = found.cluster
            await _show_plan(board, following.request, found, tell)
        await asyncio.sleep(following.planning)


async def _show_plan(board: Board, request: PlanRequest, found: LoadedCluster, tell: Tell) -> None:
    try:
        board.show_plan(await _plan(request, found, tell))
    except (InputError, ClientError, EndlessError) as error:
        tell(f"no plan: {error}")
        board.show_problem(str(error))
    except Exception as fault:  # noqa: BLE001  the page goes on with the plan before, whatever an object was like
        tell(f"no plan, which is a bug in restow: {type(fault).__name__}: {fault}")
        board.show_problem(f"planning failed: {type(fault).__name__}: {fault}")


async def _plan(request: PlanRequest, found: LoadedCluster, tell: Tell) -> Planned:
    feedback = Collected()
    planned = await _computed(lambda: make(structs.replace(request, where=found), feedback))
    for each in feedback.warnings:
        tell(each)
    return planned


async def _computed(compute: Callable[[], T]) -> T:
    return await in_thread(compute, _PLANNING)
