"""The rounds of a daemon: in each interval one query for each rule, an evaluation, and the patches that follow.

An error ends its round, never the loop; without results the marks stay for the grace period.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from restow.client.leadership import Permit
from restow.client.server_time import boot_clock
from restow.client.transport import Api
from restow.daemon.logs import Log
from restow.kube.duration import SECOND
from restow.pressure.evaluation import BoolArray
from restow.pressure.known_nodes import KnownNodes
from restow.pressure.metrics import PressureMetrics
from restow.pressure.problem_log import DependencyStatus, ProblemLog, problems_of
from restow.pressure.samples import RuleResults, ask
from restow.pressure.situation import Criteria, History, Situation, assess, positions_among
from restow.pressure.writing import Writer, differences, foreign_nodes
from restow.serving.health import Watchdog

PROMETHEUS: Final = "Prometheus"
API_SERVER: Final = "the API server"
#: Seconds that a round may take beyond its queries, before the process counts as stuck.
_STUCK: Final = 300.0
_WHO: Final = "loop"


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
