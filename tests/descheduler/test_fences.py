"""How long a fence stands at most, and that a plan hears of one that does not stand any more."""

from __future__ import annotations

import asyncio

import pytest

from executing.fences import Nodes, now
from restow.descheduler.steering import behind_fence
from restow.descheduling.plan import Fenced
from restow.executing.fencing import LONGEST

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

FENCE = Fenced(("a", "b"), "NoSchedule")


async def test_a_plan_is_concluded_when_its_fence_has_stood_for_long_enough() -> None:
    concluded: list[float] = []
    fencing = Nodes.of("a", "b").fencing()
    async with behind_fence(fencing, FENCE, lambda: concluded.append(now())) as problem:
        assert problem is None
        await asyncio.sleep(LONGEST - 5.0)
        assert concluded == []
        await asyncio.sleep(10.0)
    assert len(concluded) == 1
    await fencing.lift()


async def test_a_plan_is_concluded_when_somebody_takes_its_fence_away() -> None:
    concluded: list[float] = []
    nodes = Nodes.of("a", "b")
    fencing = nodes.fencing()
    async with behind_fence(fencing, FENCE, lambda: concluded.append(now())):
        nodes.put("a", [])
        await asyncio.sleep(1.0)
        assert len(concluded) == 1
    await fencing.lift()


async def test_a_fence_that_has_stood_for_long_enough_is_lifted_before_the_next_one() -> None:
    """Whoever waits for the nodes gets a turn."""
    nodes = Nodes.of("a", "b")
    fencing = nodes.fencing()
    patches = []
    for pause in (0.0, LONGEST + 1.0, 0.0):
        nodes.patches.clear()
        async with behind_fence(fencing, FENCE, lambda: None) as problem:
            assert problem is None
            assert fencing.is_whole
        patches.append(len(nodes.patches))
        await asyncio.sleep(pause)
    assert patches == [2, 0, 4]
    await fencing.lift()


async def test_a_plan_that_counts_on_no_fence_sets_none() -> None:
    nodes = Nodes.of("a", "b")
    async with behind_fence(nodes.fencing(), None, lambda: None) as problem:
        assert problem is None
    assert nodes.patches == []
