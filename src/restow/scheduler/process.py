"""The whole run of ``restow scheduler``: its parts are started in order and ended in reverse order.

The pages are served first; the lease, if configured, lets one of several replicas schedule. SIGTERM ends the run after
pending events have been written, and releases the lease. A pod whose binding is in progress then is bound or not; the
next process finds out which.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from random import Random
from typing import Any

import msgspec
from aiohttp import web

from restow.client.access import AccessReviews
from restow.client.binding import BindingRefused, BindingUnanswered, Bound, Outcome
from restow.client.objects import ObjectRef
from restow.client.transport import Api, Permit
from restow.daemon.background import told_to_stop, watched
from restow.daemon.connecting import NAMESPACE, ApiSettings, HttpsSettings, connected, https
from restow.daemon.electing import LeaseSettings, with_permission
from restow.daemon.logs import Log
from restow.descheduler.reporter import recording
from restow.errors import ClientError
from restow.live.cluster import WatchEndedError
from restow.scheduler.attempts import Result
from restow.scheduler.daemon import SchedulerDaemon
from restow.scheduler.explaining import LastAttempts, explain
from restow.scheduler.explanation import DOES_NOT_SCHEDULE, QueueExplanation
from restow.scheduler.random_profile import schedule_at_random
from restow.scheduler.reporter import Gauges, SchedulerMetrics, SchedulerReporter
from restow.scheduler.settings import SchedulerSettings
from restow.scheduling.queueing.queued_pods import QueuePlace
from restow.scheduling.queueing.scheduling_queue import SchedulingQueue
from restow.serving.health import Health
from restow.serving.pages import Handler, guarded, plain_text


@dataclass(slots=True, frozen=True, kw_only=True)
class ProcessSettings:
    """Settings of the process, for both ways of scheduling; None disables a part."""

    api: ApiSettings
    #: Where the lease is.
    namespace: str = NAMESPACE
    lease: LeaseSettings | None = None
    https: HttpsSettings | None = None
    #: The pages that need no token. A path that ends with ``/*`` includes everything below it.
    open_paths: Sequence[str] = ()
    #: What ``/configz`` shows; without it there is no such page.
    configuration: Mapping[str, Any] | None = None
    #: Whether ``/pods/NAMESPACE/NAME`` says why a pod waits.
    explains_pods: bool = False


@dataclass(slots=True, frozen=True, kw_only=True)
class RandomSettings:
    """Settings of the teaching example, which chooses nodes at random."""

    #: The scheduler that its pods name.
    name: str
    #: None: another seed each time.
    seed: int | None = None


@dataclass(slots=True, frozen=True)
class _Process:
    """What both ways of scheduling need around them."""

    settings: ProcessSettings
    log: Log
    api: Api
    health: Health
    reporter: SchedulerReporter
    stopping: asyncio.Event

    async def lead(self, work: Callable[[Permit], Coroutine[Any, Any, None]]) -> None:
        """Do the work, under a lease if one is configured, until stopped."""
        lease = self.settings.lease
        leads = partial(self.reporter.metrics.leads, lease.name if lease else "")

        async def until_stopped(permit: Permit) -> None:
            await _until(self.stopping, work(permit))

        await with_permission(
            lease, self.settings.namespace, self.api, until_stopped, self.stopping, log=self.log, leads=leads
        )


@dataclass(slots=True)
class _Admission:
    """Who may read pages; no one while the API server cannot be asked."""

    log: Log
    reviews: AccessReviews | None = None
    #: What went wrong last, which is logged once.
    _problem: str = ""

    async def review(self, token: str, path: str) -> HTTPStatus:
        """The HTTP status for a token that asks for a path."""
        if self.reviews is None:
            return HTTPStatus.SERVICE_UNAVAILABLE
        try:
            verdict, problem = await self.reviews.review(token, path), ""
        except ClientError as error:
            verdict, problem = HTTPStatus.SERVICE_UNAVAILABLE, str(error)
        if problem and problem != self._problem:
            self.log.warning(f"nobody can read {path}: {problem}")
        self._problem = problem
        return verdict


@dataclass(slots=True)
class _PodPages:
    """The pages that explain why pods wait, as JSON."""

    #: Set once there is a scheduler.
    explain: Callable[[str, str], QueueExplanation | None] | None = None
    #: Whether it decides; a replica without the lease does not.
    schedules: Callable[[], bool] = lambda: False

    def page(self, request: web.Request) -> web.Response:
        """The explanation of the pod that the path names."""
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        if self.explain is None or not self.schedules():
            return plain_text(f"{DOES_NOT_SCHEDULE}\n", HTTPStatus.SERVICE_UNAVAILABLE)
        found = self.explain(namespace, name)
        if found is None:
            return plain_text(f"{namespace}/{name} does not wait for this replica\n", HTTPStatus.NOT_FOUND)
        return web.Response(body=msgspec.json.encode(found), content_type="application/json")


@asynccontextmanager
async def _process(
    settings: ProcessSettings, names: Sequence[str], health: Health, log: Log, pods: _PodPages | None = None
) -> AsyncIterator[_Process]:
    """Start everything around a scheduler with these profiles, and end it with the block."""
    stopping, metrics = told_to_stop(log), SchedulerMetrics()
    more: dict[str, Handler] = {}
    if settings.configuration is not None:
        more["/configz"] = partial(_configz, settings.configuration)
    if pods is not None and settings.explains_pods:
        more["/pods/{namespace}/{name}"] = pods.page
    admission = _Admission(log)
    guard = guarded(settings.open_paths, admission.review)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(watched(health.watchdog, log))
        await stack.enter_async_context(https(settings.https, health, metrics.text, {}, log, more=more, guard=guard))
        api = await stack.enter_async_context(connected(settings.api, log))
        admission.reviews = AccessReviews(api)
        recorders = {
            name: await stack.enter_async_context(recording(api, log=log, metrics=metrics, controller=name))
            for name in names
        }
        yield _Process(settings, log, api, health, SchedulerReporter(log, metrics, recorders), stopping)


async def schedule_randomly(settings: ProcessSettings, random: RandomSettings, log: Log) -> None:
    """Run until stopped, or until the lease is lost; InputError, ClientError or OSError if it cannot work."""
    async with _process(settings, [random.name], Health(program="scheduler"), log) as process:
        process.health.ready()
        log.info(f"Pods that name the scheduler {random.name} go to any ready node")
        reporter = process.reporter

        def on_binding(pod: ObjectRef, node: str, outcome: Outcome) -> None:
            if isinstance(outcome, Bound):
                reporter.bound(pod, random.name, node)
            elif isinstance(outcome, BindingRefused | BindingUnanswered):
                reporter.failed(pod, random.name, Result.ERROR, f"binding to {node} failed: {outcome.message}")

        chance = Random(random.seed)  # noqa: S311 - spreads pods, keeps no secret
        await process.lead(lambda permit: schedule_at_random(process.api, random.name, chance, permit, on_binding))


async def schedule_by_profiles(settings: ProcessSettings, scheduling: SchedulerSettings, log: Log) -> None:
    """Run until stopped, or until the lease is lost; InputError, ClientError or OSError if it cannot work."""
    daemons: list[SchedulerDaemon] = []
    health = Health(lambda: _outdated(daemons[0]) if daemons else None, program="scheduler")
    names, pods = [each.name for each in scheduling.profiles], _PodPages()
    async with _process(settings, names, health, log, pods) as process:
        attempts = LastAttempts(process.reporter, asyncio.get_running_loop().time)
        daemon = SchedulerDaemon(process.api, scheduling, attempts)
        daemons.append(daemon)
        pods.explain, pods.schedules = partial(explain, daemon, attempts), lambda: daemon.mirror.has_begun
        process.reporter.metrics.show(partial(_gauges, daemon))
        log.info(f"Schedules the pods that name {', '.join(names)}")
        health.ready()
        async with daemon.watching():
            try:
                await process.lead(daemon.schedule)
            except WatchEndedError as error:
                raise ClientError(str(error)) from error


def _gauges(daemon: SchedulerDaemon) -> Gauges:
    """The lengths of the queues, the size of the cluster, and which plugins keep pods waiting."""
    queue = daemon.queue
    return Gauges(
        pending={place.value: count for place, count in queue.lengths().items()},
        cached=daemon.mirror.sizes(),
        rejected=_rejected(queue),
        incoming={(place.value, event): count for (place, event), count in queue.incoming.items()},
        in_flight=queue.events_in_flight(),
        measured=daemon.mirror.measured,
    )


def _rejected(queue: SchedulingQueue) -> Counter[tuple[str, str]]:
    waiting = (each for each in queue if each.rejected_by and queue.place(each.key) is not QueuePlace.IN_FLIGHT)
    return Counter((plugin, each.pod.scheduler) for each in waiting for plugin in each.rejected_by)


def _outdated(daemon: SchedulerDaemon) -> str | None:
    """Why the cluster is not known well enough to schedule; None where it is."""
    if not daemon.live.ready:
        return "waiting for the first lists"
    try:
        return daemon.live.unknown(daemon.kinds)
    except WatchEndedError as error:
        return str(error)


def _configz(configuration: Mapping[str, Any], _: web.Request) -> web.Response:
    return web.json_response({"componentconfig": configuration})


async def _until(stopping: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do the work until stopped; an exception of the work is raised as it is."""
    doing, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait((doing, stopped), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        doing.cancel()
        try:
            with suppress(asyncio.CancelledError):
                await doing
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
