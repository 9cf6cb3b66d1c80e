"""The shadow of a descheduler: counted, reported every minute and once more when the day is over, whatever goes wrong."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from builders import a_node
from descheduler.hearing import Heard
from restow.descheduler.shadowing import Shadow
from restow.policies.codes import Certainty
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.serving.metrics import Metrics
from restow.shadowing.day import ShadowDay
from shadowing.scenes import WatchedCluster, a_web_pod, evicted, web

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime, pytest.mark.usefixtures("without_threads")]

_DAY = 86_400.0
#: A minute before midnight.
_LATE = 20_000 * _DAY - 60


class Followed:
    """A shadow of a small cluster, what it says, and the days that it reports."""

    def __init__(self) -> None:
        self.cluster = WatchedCluster(
            *(a_node(name, cpu="1") for name in ("n1", "n2")), web(), a_web_pod("web-1", "n1")
        )
        self.heard, self.metrics = Heard(), Metrics()
        self.days: list[ShadowDay] = []
        self.problem: Exception | None = None
        self.shadow = Shadow((DEFAULT_PROFILE,), self._write, self.metrics.shadow, self.heard.log)
        self.began = asyncio.get_running_loop().time()

    def clock(self) -> float:
        return _LATE + asyncio.get_running_loop().time() - self.began

    def _write(self, day: ShadowDay, cluster: str) -> None:
        assert cluster == "https://api:6443"
        if self.problem is not None:
            raise self.problem
        self.days.append(day)

    def following(self) -> Any:
        self.cluster.watch = self.shadow  # type: ignore[assignment]
        return self.shadow.following(self.cluster, "https://api:6443", self.clock)  # type: ignore[arg-type]

    def evict(self, old: str, new: str) -> None:
        self.cluster.put(*evicted(a_web_pod(old, "n1")), a_web_pod(new), a_web_pod(new, "n2"))

    def says(self, words: str) -> bool:
        return any(words in each for each in self.heard.messages)

    def sample(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


async def test_evictions_are_counted_and_reported():
    town = Followed()
    async with town.following():
        town.evict("web-1", "web-2")
        await asyncio.sleep(2)
        assert town.sample("restow_shadow_evictions_total", outcome="moved") == 1
        assert town.sample("restow_shadow_forecasts_total", certainty="certain") == 1
        assert town.sample("restow_shadow_forecast_errors_total", certainty="certain") == 0
    (day,) = town.days
    assert [each.pod for each in day.evictions] == ["web-1"]
    assert town.says("Shadow: Of 1 eviction 0 came back to their node")


async def test_a_day_is_reported_once_more_when_it_is_over():
    town = Followed()
    async with town.following():
        town.evict("web-1", "web-2")
        await asyncio.sleep(200)
    ended, *following = town.days
    assert (ended.since, len(ended.evictions)) == (_LATE, 1)
    assert {each.since for each in following} == {_LATE + 60}
    assert not any(each.evictions for each in following)


async def test_each_pod_that_restow_would_move_counts_once():
    town = Followed()
    task = SimpleNamespace(move=SimpleNamespace(pod=SimpleNamespace(uid="a"), certainty=Certainty.LIKELY))
    told: list[object] = []

    async def publish(*told_of: object) -> None:
        told.append(told_of)

    async with town.following():
        noted = town.shadow.publishing(publish)
        for _ in range(2):
            await noted(SimpleNamespace(tasks=[task]), None, None)  # type: ignore[arg-type]
    assert town.sample("restow_shadow_planned_moves_total", certainty="likely") == 1
    assert (len(told), len(town.days[-1].moves)) == (2, 1)


async def test_a_report_that_cannot_be_written_is_written_a_minute_later():
    town = Followed()
    town.problem = OSError(28, "No space left on device")
    async with town.following():
        await asyncio.sleep(61)
        assert town.says("report was not written: [Errno 28] No space left on device")
        town.problem = None
        await asyncio.sleep(61)
        assert town.days


async def test_a_shadow_that_has_lost_track_begins_again(monkeypatch):
    town = Followed()
    async with town.following():
        watch = town.shadow._watch
        assert watch is not None
        with monkeypatch.context() as broken:
            broken.setattr(watch, "touch", lambda *_: 1 / 0)
            town.cluster.put(a_web_pod("web-9", "n2"))
        assert town.says("lost track of the cluster and begins again: ZeroDivisionError")
        await asyncio.sleep(2)
        town.evict("web-1", "web-2")
        await asyncio.sleep(2)
        assert town.sample("restow_shadow_evictions_total", outcome="moved") == 1
