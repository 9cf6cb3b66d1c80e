"""A process that is stuck says so, once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from descheduler.hearing import Heard
from restow.daemon import background
from restow.daemon.background import MOST_LAG, watched
from restow.serving.health import Watchdog

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


async def test_an_event_loop_that_goes_on_is_not_stuck() -> None:
    heard, watchdog = Heard(), Watchdog()
    async with watched(watchdog, heard.log):
        for _ in range(1_000):
            await asyncio.sleep(1)
            assert watchdog.stuck() == ""
    assert heard.messages == []


async def test_one_whose_turns_come_late_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever keeps it: what is due in a second comes after more than half a minute."""
    real = asyncio.sleep
    lagging = SimpleNamespace(create_task=asyncio.create_task, sleep=lambda _: real(MOST_LAG + 5))
    monkeypatch.setattr(background, "asyncio", lagging)
    heard, watchdog = Heard(), Watchdog()
    async with watched(watchdog, heard.log):
        await asyncio.sleep(MOST_LAG + 1)
        assert watchdog.stuck() == "the event loop: no turn for 30 s"
        await asyncio.sleep(MOST_LAG)
    assert heard.of("restow is stuck") == [{"err": "the event loop: no turn for 30 s"}]


async def test_a_cycle_that_is_stuck_is_told_once() -> None:
    heard, watchdog = Heard(), Watchdog()
    async with watched(watchdog, heard.log):
        watchdog.expect("cycle", "decision", 50)
        await asyncio.sleep(500)
    assert heard.of("restow is stuck") == [{"err": "the cycle: no decision for 50 s"}]
