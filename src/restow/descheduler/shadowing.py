"""The shadow of a descheduler: beside cycles that evict nothing, it watches what others evict.

It sees each event of the watches right when the cluster in memory has it. Each cycle tells what restow would do on the
cluster as it is then; a pod that several cycles would move counts once. Reports are written every minute, and at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final

from restow.cluster.snapshot import Key
from restow.daemon.logs import Log
from restow.descheduler.publishing import Publish
from restow.descheduler.reporter import Reporter
from restow.descheduler.settings import WriteReport
from restow.executing.deciding import CycleDecision, CycleRules
from restow.in_thread import in_thread
from restow.live.cluster import LiveCluster
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.serving.figures import ShadowMetrics
from restow.shadowing.day import OwnMove, ShadowDay, count, headline
from restow.shadowing.evictions import EvictionWatch
from restow.shadowing.outcomes import EvictionOutcome, ForeignEviction
from restow.shadowing.scoring import error

_DAY: Final = 86_400.0
#: Seconds between two looks at what evictions have come to, and between two reports.
_LOOK: Final = 1.0
_REPORT: Final = 60.0
#: Seconds that writing a report may take.
_WRITING: Final = 300.0
#: Evictions that are kept in memory; of more the oldest are dropped.
_MOST: Final = 100_000


class Shadow:
    """One shadow; ``touch`` gets events once ``following`` has begun."""

    def __init__(
        self, profiles: Sequence[SchedulerProfile], write: WriteReport | None, metrics: ShadowMetrics, log: Log
    ) -> None:
        """``write`` is None where no reports are wanted."""
        self._profiles = profiles
        self._write = write
        self._metrics = metrics
        self._log = log
        self._watch: EvictionWatch | None = None
        self._clock: Callable[[], float] = lambda: 0.0
        self._since = 0.0
        self._cluster = ""
        self._moves: dict[str, OwnMove] = {}
        #: The evictions whose outcome was not counted yet.
        self._open: list[ForeignEviction] = []
        #: Whether the watch has failed and must begin again.
        self._is_lost = False

    def touch(self, kind: str, keys: Iterable[Key]) -> None:
        """Pass on what may have changed; the watches go on whatever goes wrong here."""
        if self._watch is None or self._is_lost:
            return
        try:
            self._watch.touch(kind, keys)
        except Exception as fault:  # noqa: BLE001  it begins again at the next look
            self._is_lost = True
            self._log.warning(
                f"the shadow has lost track of the cluster and begins again: {type(fault).__name__}: {fault}"
            )

    def publishing(self, publish: Publish | None) -> Publish:
        """Publish plans as before, and note what each cycle would do."""

        async def noted(decision: CycleDecision, reporter: Reporter, rules: CycleRules) -> None:
            self._planned(decision)
            if publish is not None:
                await publish(decision, reporter, rules)

        return noted

    def _planned(self, decision: CycleDecision) -> None:
        for task in decision.tasks:
            move = task.move
            if move.pod.uid not in self._moves:
                self._moves[move.pod.uid] = OwnMove(self._clock(), move.certainty)
                self._metrics.planned(move.certainty or "")

    @asynccontextmanager
    async def following(self, live: LiveCluster, cluster: str, clock: Callable[[], float]) -> AsyncIterator[None]:
        """Watch while the block runs; ``live`` is ready, ``clock`` gives seconds since the epoch."""
        self._clock, self._cluster, self._since = clock, cluster, clock()
        self._watch = EvictionWatch(live, self._profiles, clock)
        self._watch.begin()
        self._log.info("Shadow: restow evicts nothing, and watches what others evict")
        task = asyncio.create_task(self._follow(self._watch), name="shadow")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await self._report(self._watch)
            self._log.info(f"Shadow: {self._headline(self._watch)}")

    async def _follow(self, watch: EvictionWatch) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + _REPORT
        while True:
            await asyncio.sleep(_LOOK)
            if self._is_lost and not self._begins_again(watch):
                continue
            watch.settle()
            self._count(watch)
            if loop.time() >= due:
                await self._report(watch)
                self._log.info(f"Shadow: {self._headline(watch)}", v=1)
                due = loop.time() + _REPORT

    def _begins_again(self, watch: EvictionWatch) -> bool:
        try:
            watch.begin()
        except Exception as fault:  # noqa: BLE001  the next look tries once more
            self._log.warning(f"the shadow cannot begin again: {type(fault).__name__}: {fault}")
            return False
        self._is_lost = False
        return True

    def _headline(self, watch: EvictionWatch) -> str:
        return headline(count(watch.evictions, self._clock()), len(self._moves))

    def _count(self, watch: EvictionWatch) -> None:
        """Count the evictions whose outcome has become known."""
        now = self._clock()
        found = [*self._open, *watch.take_new()]
        self._open = [each for each in found if each.outcome(now) is EvictionOutcome.OPEN]
        for each in found:
            if each.outcome(now) is EvictionOutcome.OPEN:
                continue
            self._metrics.came_to(each.outcome(now), repeated=each.is_repeated)
            wrong = error(each, now)
            if wrong is not None and each.forecast.certainty is not None:
                self._metrics.forecast(each.forecast.certainty, wrong)

    async def _report(self, watch: EvictionWatch) -> None:
        """Write the day's report; past midnight also the last one of the day before, which is dropped then."""
        now = self._clock()
        today = now - now % _DAY
        if self._since < today:
            # Once more with what has come of the evictions before midnight.
            await self._write_day([each for each in watch.evictions if each.at < today], now, before=today)
            self._drop(watch, today)
            self._since = today
        if len(watch.evictions) > _MOST:
            self._log.warning(f"the shadow has seen more than {_MOST:,} evictions today, and drops the oldest")
            self._drop(watch, watch.evictions[-_MOST].at)
        await self._write_day(watch.evictions, now, before=now + _DAY)

    def _drop(self, watch: EvictionWatch, before: float) -> None:
        watch.forget(before)
        self._moves = {uid: each for uid, each in self._moves.items() if each.at >= before}

    async def _write_day(self, evictions: Sequence[ForeignEviction], until: float, *, before: float) -> None:
        """Write a report with what is known at a time of evictions, and with restow's moves before a time."""
        if self._write is None:
            return
        moves = {uid: each for uid, each in self._moves.items() if each.at < before}
        # Evictions may change while the report is made.
        day = ShadowDay(self._since, until, [replace(each) for each in evictions], moves)
        try:
            await in_thread(partial(self._write, day, self._cluster), _WRITING)
        except Exception as fault:  # noqa: BLE001  such as a full disk; the next report may be written
            self._log.warning(f"the shadow's report was not written: {fault}")
