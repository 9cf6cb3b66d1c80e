"""Who is stuck, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from restow.serving.health import Watchdog

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


async def test_nobody_is_stuck_who_has_nothing_to_do() -> None:
    watchdog = Watchdog()
    await asyncio.sleep(1e6)
    assert watchdog.stuck() == ""


async def test_whoever_takes_longer_than_said_is_stuck_until_a_next_step() -> None:
    watchdog = Watchdog()
    watchdog.expect("cycle", "decision", 60)
    await asyncio.sleep(60)
    assert watchdog.stuck() == ""
    await asyncio.sleep(1)
    assert watchdog.stuck() == "the cycle: no decision for 60 s"
    watchdog.expect("cycle", "outcome of a move", 60)
    assert watchdog.stuck() == ""


async def test_steps_that_come_in_time_may_go_on_for_ever() -> None:
    watchdog = Watchdog()
    for _ in range(1_000):
        watchdog.expect("cycle", "outcome of a move", 60)
        await asyncio.sleep(59)
        assert watchdog.stuck() == ""


async def test_one_who_works_does_not_hide_another_who_is_stuck() -> None:
    watchdog = Watchdog()
    watchdog.expect("cycle", "decision", 60)
    await asyncio.sleep(61)
    watchdog.expect("event loop", "turn", 30)
    assert watchdog.stuck() == "the cycle: no decision for 60 s"


async def test_whoever_is_done_is_not_waited_for() -> None:
    watchdog = Watchdog()
    watchdog.expect("cycle", "decision", 60)
    watchdog.rest("cycle")
    watchdog.rest("cycle")
    await asyncio.sleep(61)
    assert watchdog.stuck() == ""
