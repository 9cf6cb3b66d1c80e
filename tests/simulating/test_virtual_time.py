"""Coroutines beside everything else in a simulated cluster: they wait for entries of the clock, and nobody waits for them."""

from __future__ import annotations

import asyncio

import pytest

from restow.kube.timestamps import SECOND
from restow.simulating.virtual_tasks import VirtualTask
from restow.simulating.virtual_time import VirtualClock

EPOCH = 1_767_225_600 * SECOND


@pytest.fixture
def clock():
    return VirtualClock(EPOCH)


def test_what_waits_goes_on_when_its_time_has_come_and_others_act_in_between(clock):
    told = []

    async def work():
        for _ in range(3):
            told.append(("work", asyncio.get_running_loop().time()))
            await asyncio.sleep(0.1)

    clock.at(EPOCH + SECOND // 20, lambda: told.append(("other", 0.05)))
    task = VirtualTask(clock, EPOCH, work())
    clock.run(EPOCH + SECOND)
    assert told == [("work", 0.0), ("other", 0.05), ("work", pytest.approx(0.1)), ("work", pytest.approx(0.2))]
    assert task.is_over


def test_time_goes_on_from_one_coroutine_to_the_next(clock):
    """What the first remembers by its clock is as old for the second as it is."""
    seen = []

    async def work():
        seen.append(asyncio.get_running_loop().time())

    VirtualTask(clock, EPOCH, work())
    clock.run(EPOCH + 3600 * SECOND)
    VirtualTask(clock, EPOCH, work())
    assert seen == [0.0, 3600.0]


def test_timeouts_end_what_lasts_too_long(clock):
    ended = []

    async def work():
        try:
            async with asyncio.timeout(300):
                await asyncio.Event().wait()
        except TimeoutError:
            ended.append(clock.now - EPOCH)

    VirtualTask(clock, EPOCH, work())
    clock.run(EPOCH + 3600 * SECOND)
    assert ended == [pytest.approx(300 * SECOND, abs=2)]


@pytest.mark.parametrize("seconds", [1e-12, 1 / 3, 86_399.999_999_999])
def test_odd_waits_do_not_spin(clock, seconds):
    """A wait is over at the next whole nanosecond, even late on a day, where floats are coarse."""
    clock.run(EPOCH + 86_400 * SECOND)
    task = VirtualTask(clock, EPOCH, asyncio.sleep(seconds))
    steps = 0
    while not task.is_over:
        clock.step()
        steps += 1
    assert steps <= 2


def test_what_goes_wrong_is_not_swallowed(clock):
    async def work():
        await asyncio.sleep(1)
        raise LookupError("lost")

    VirtualTask(clock, EPOCH, work())
    with pytest.raises(LookupError, match="lost"):
        clock.run(EPOCH + 2 * SECOND)


def test_a_coroutine_that_is_stopped_cleans_up_and_nothing_is_left(clock):
    told = []

    async def child():
        try:
            await asyncio.sleep(10)
        finally:
            told.append("child")

    async def work():
        async with asyncio.TaskGroup() as group:
            group.create_task(child())
            await asyncio.sleep(10)

    task = VirtualTask(clock, EPOCH, work())
    clock.run(EPOCH + SECOND)
    task.stop()
    assert (task.is_over, told) == (True, ["child"])
    clock.run(EPOCH + 60 * SECOND)
    assert told == ["child"]
