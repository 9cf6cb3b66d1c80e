"""How long a fence stands at most, and that a plan hears of one that does not stand any more."""

from __future__ import annotations

import asyncio

import pytest

from executing.fences import Nodes, now
from executing.test_fencing import a_fence
from restow.descheduling.plan import Fenced
from restow.running.fences import LONGEST, fence_for, watched

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

FENCE = Fenced(("a", "b"), "NoSchedule")


async def test_a_plan_is_concluded_when_its_fence_has_stood_for_long_enough() -> None:
    concluded: list[float] = []
    fencing = await a_fence(Nodes.of("a", "b"), "a", "b")
    async with watched(fencing, lambda: concluded.append(now())):
        await asyncio.sleep(LONGEST - 5.0)
        assert concluded == []
        await asyncio.sleep(10.0)
    assert len(concluded) == 1
    await fencing.lift()


async def test_a_plan_is_concluded_when_somebody_takes_its_fence_away() -> None:
    concluded: list[float] = []
    nodes = Nodes.of("a", "b")
    fencing = await a_fence(nodes, "a", "b")
    async with watched(fencing, lambda: concluded.append(now())):
        nodes.put("a", [])
        await asyncio.sleep(1.0)
        assert len(concluded) == 1
    await fencing.lift()


async def test_a_fence_that_has_stood_for_long_enough_is_lifted_before_the_next_one() -> None:
    """Whoever waits for the nodes gets a turn."""
    nodes = Nodes.of("a", "b")
    fencing = nodes.fencing()
    assert await fence_for(fencing, FENCE) is None
    nodes.patches.clear()
    assert await fence_for(fencing, FENCE) is None
    assert nodes.patches == []
    await asyncio.sleep(LONGEST + 1.0)
    assert await fence_for(fencing, FENCE) is None
    assert len(nodes.patches) == 4
    assert fencing.is_whole
    await fencing.lift()
