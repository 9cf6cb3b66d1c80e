"""Coroutines beside everything else in a simulated cluster: they wait for entries of the agenda, and nobody waits for them."""

from __future__ import annotations

import asyncio

import pytest

from restow.kube.timestamps import SECOND
from restow.simulating.agenda import Agenda
from restow.simulating.virtual_time import VirtualTask

EPOCH = 1_767_225_600 * SECOND


@pytest.fixture
def agenda():
    return Agenda(EPOCH)


def test_what_waits_goes_on_when_its_time_has_come_and_others_act_in_between(agenda):
    told = []

    async def work():
        for _ in range(3):
            told.append(("work", asyncio.get_running_loop().time()))
            await asyncio.sleep(0.1)

    agenda.at(EPOCH + SECOND // 20, lambda: told.append(("other", 0.05)))
    task = VirtualTask(agenda, EPOCH, work())
    agenda.run(EPOCH + SECOND)
    assert told == [("work", 0.0), ("other", 0.05), ("work", pytest.approx(0.1)), ("work", pytest.approx(0.2))]
    assert task.is_over


def test_time_goes_on_from_one_coroutine_to_the_next(agenda):
    """What the first remembers by its clock is as old for the second as it is."""
    seen = []

    async def work():
        seen.append(asyncio.get_running_loop().time())

    VirtualTask(agenda, EPOCH, work())
    agenda.run(EPOCH + 3600 * SECOND)
    VirtualTask(agenda, EPOCH, work())
    assert seen == [0.0, 3600.0]


def test_timeouts_end_what_lasts_too_long(agenda):
    ended = []

    async def work():
        try:
            async with asyncio.timeout(300):
                await asyncio.Event().wait()
        except TimeoutError:
            ended.append(agenda.now - EPOCH)

    VirtualTask(agenda, EPOCH, work())
    agenda.run(EPOCH + 3600 * SECOND)
    assert ended == [pytest.approx(300 * SECOND, abs=2)]


@pytest.mark.parametrize("seconds", [1e-12, 1 / 3, 86_399.999_999_999])
def test_odd_waits_do_not_spin(agenda, seconds):
    """A wait is over at the next whole nanosecond, even late on a day, where floats are coarse."""
    agenda.run(EPOCH + 86_400 * SECOND)
    task = VirtualTask(agenda, EPOCH, asyncio.sleep(seconds))
    steps = 0
    while not task.is_over:
        agenda.step()
        steps += 1
    assert steps <= 2


def test_what_goes_wrong_is_not_swallowed(agenda):
    async def work():
        await asyncio.sleep(1)
        raise LookupError("lost")

    VirtualTask(agenda, EPOCH, work())
    with pytest.raises(LookupError, match="lost"):
        agenda.run(EPOCH + 2 * SECOND)


def test_a_coroutine_that_is_stopped_cleans_up_and_nothing_is_left(agenda):
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

    task = VirtualTask(agenda, EPOCH, work())
    agenda.run(EPOCH + SECOND)
    task.stop()
    assert (task.is_over, told) == (True, ["child"])
    agenda.run(EPOCH + 60 * SECOND)
    assert told == ["child"]
