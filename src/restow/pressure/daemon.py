"""``restow pressure``: its rounds, and the whole run, whose parts are started in order and ended in reverse order.

The pages are served first. Every replica watches nodes and checks that the API server answers; only the one that holds
the lease queries Prometheus and writes. SIGTERM ends the current round and releases the lease; marks stay, and the next
process recognizes them by their field manager.

In each interval a round sends one query for each rule, evaluates, and writes the patches that follow. An error ends its
round, never the loop; without results the marks stay for the grace period.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from aiohttp import web

from restow.client.connection import connect
from restow.client.credentials import Endpoint
from restow.client.server import boot_clock
from restow.client.sessions import open_session
from restow.client.transport import Api, Permit
from restow.daemon.background import background, told_to_stop, watched
from restow.daemon.connecting import ApiSettings, connected
from restow.daemon.electing import LeaseSettings, lease_unless_dry, with_permission
from restow.daemon.logs import Log
from restow.kube.duration import SECOND
from restow.pressure.evaluation import BoolArray
from restow.pressure.marking import FIELD_MANAGER, is_labelled
from restow.pressure.monitoring import (
    DependencyStatus,
    PressureMetrics,
    PressureView,
    ProblemLog,
    Renderer,
    application,
    problems_of,
)
from restow.pressure.nodes import KnownNodes
from restow.pressure.samples import RuleResults, ask
from restow.pressure.situation import Criteria, History, Situation, assess, positions_among
from restow.pressure.writing import Writer, differences, foreign_nodes
from restow.serving import server
from restow.serving.health import Health, Watchdog
from restow.serving.server import serving
from restow.serving.tls import KeyPair, TlsSettings, ciphers, context_of_files, tls_version

PROMETHEUS: Final = "Prometheus"
API_SERVER: Final = "the API server"
#: Seconds that a round may take beyond its queries, before the process counts as stuck.
_STUCK: Final = 300.0
_WHO: Final = "loop"
#: Seconds that a query may take at least, however short the interval is.
_PATIENCE: Final = 5.0
_LONGEST: Final = 60.0


def steady_clock() -> Callable[[], int]:
    """Return a clock of nanoseconds since the epoch that does not follow changes of the system time."""
    ahead = time.time() - boot_clock()
    return lambda: int((boot_clock() + ahead) * SECOND)


@dataclass(slots=True)
class Rounds:
    """Runs rounds until ``stopping`` is set."""

    prometheus: Api
    nodes: KnownNodes
    criteria: Criteria
    writer: Writer
    #: Seconds.
    interval: float
    stopping: asyncio.Event
    status: DependencyStatus
    metrics: PressureMetrics
    log: Log
    watchdog: Watchdog
    clock: Callable[[], int] = field(default_factory=steady_clock)
    #: The result of the last round.
    situation: Situation | None = field(default=None, init=False)
    history: History = field(init=False)
    _problem_log: ProblemLog = field(init=False)

    def __post_init__(self) -> None:
        self.history = History.empty(len(self.criteria.rules))
        self._problem_log = ProblemLog(self.log.warning, self.log.info)

    async def run(self, permit: Permit) -> None:
        """Run rounds, with the permission to write, until stopped; the current round is finished first."""
        self.status.expect(PROMETHEUS)
        clock = asyncio.get_running_loop().time
        while not self.stopping.is_set():
            began = clock()
            self.watchdog.expect(_WHO, "round", self.interval + self.prometheus.time_out + _STUCK)
            try:
                await self.go_round(permit)
            except Exception as error:  # noqa: BLE001 - whatever failed, the next round may succeed
                self.log.error("A round failed", str(error) or type(error).__name__)
            self.metrics.worked(clock() - began)
            await self._pause(began + self.interval - clock())
        self.watchdog.rest(_WHO)

    async def go_round(self, permit: Permit) -> None:
        """Query, evaluate and write once; without a list of nodes, only query."""
        asked = await ask(self.prometheus, self.criteria.rules)
        self.status.note(PROMETHEUS, "" if asked.any_answered else next(iter(asked.failures.values()), ""))
        if not self.nodes.listed.is_set():
            return
        before, now = self.situation, self.clock()
        known = self.nodes.all()
        found = self.situation = assess(self.criteria, before, known, asked.answers, now)
        positions = positions_among(before.nodes if before else (), found.nodes)
        self.history = self.history.followed_by(found.values, positions, now)
        self.metrics.judged(asked, found, self.criteria)
        problems = await self._write(found, permit)
        self._problem_log.update(self._what_is_wrong(asked, found, problems))

    async def _write(self, found: Situation, permit: Permit) -> dict[str, str]:
        known = self.nodes.all()
        self.writer.forget_all_but(known)
        labelled, tainted = (_named(found, flags) for flags in (found.marks.label, found.marks.taint))
        due = differences(known, self.criteria.mark, labelled, tainted)
        return await self.writer.write(due, permit, lambda name: reason_of(found, self.criteria, name))

    def _what_is_wrong(
        self, asked: RuleResults, found: Situation, problems: dict[str, str]
    ) -> dict[str, tuple[str, str]]:
        current = problems_of(asked, found, self.criteria)
        for name in foreign_nodes(found.nodes, self.criteria.mark, _named(found, found.marks.label)):
            key = self.criteria.mark.key
            sentence = f"node {name} is under pressure and has the label {key} of somebody else, which is left alone"
            current[f"label of {name}"] = (
                sentence,
                f"node {name}: nothing is to be written beside somebody else's label",
            )
        if problems:
            name, why = next(iter(problems.items()))
            sentence = (
                f"{len(problems)} marks could not be written, such as that of {name}: {why}; they are tried again"
            )
            current["writes"] = (sentence, "marks can be written again")
        return current

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self.stopping.wait()
        except TimeoutError:
            return


def reason_of(found: Situation, criteria: Criteria, name: str) -> str:
    """Return the rules that find a node under pressure, with its values: ``cpu 0.91 > 0.8``."""
    position = next(position for position, node in enumerate(found.nodes) if node.name == name)
    return ", ".join(
        f"{rule.name} {found.values[row, position]:.6g} {'>' if rule.direction == 'above' else '<'} {rule.threshold:g}"
        for row, rule in enumerate(criteria.rules)
        if found.pressure.pressed[row, position]
    )


def _named(found: Situation, flags: BoolArray) -> frozenset[str]:
    return frozenset(found.nodes[position].name for position in np.flatnonzero(flags).tolist())


async def watch_api_server(nodes: KnownNodes, status: DependencyStatus, interval: float) -> None:
    """Note once in each interval whether the API server answers, until cancelled."""
    while True:
        status.note(API_SERVER, await nodes.why_silent(max(1.0, interval)))
        await asyncio.sleep(interval)


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
