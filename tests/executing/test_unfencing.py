"""No fence is left for long, in virtual time: whoever held it is dead, has given it up, or is none of us."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from executing.fences import OTHER, Nodes
from executing.test_fencing import STRANGE, a_fence
from restow.executing.fencing import Unfencing

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


@asynccontextmanager
async def looking(keeper: Unfencing) -> AsyncIterator[None]:
    task = asyncio.create_task(keeper.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_what_is_nobodys_is_taken_away_within_seconds() -> None:
    nodes = Nodes.of("a", "b", taints=[OTHER, STRANGE])
    async with looking(nodes.keeper()):
        await asyncio.sleep(4.0)
        assert nodes.taints == {"a": [OTHER], "b": [OTHER]}
    assert nodes.removed == 2


async def test_what_another_replica_holds_is_left_alone_as_long_as_it_lives() -> None:
    nodes = Nodes.of("a")
    fencing = await a_fence(nodes, "a")
    async with looking(nodes.keeper()):
        await asyncio.sleep(600.0)
        assert fencing.is_whole
        assert nodes.stood[-1] == (1, pytest.approx(600.0, abs=2.0))
        await fencing.lift()
    assert nodes.removed == 0


async def test_what_a_dead_leader_held_is_taken_away_within_ten_seconds() -> None:
    nodes = Nodes.of("a", "b")
    fencing = await a_fence(nodes, "a", "b")
    async with looking(nodes.keeper()):
        await asyncio.sleep(30.0)
        assert fencing._holding is not None
        fencing._holding.cancel()
        await asyncio.sleep(10.0)
        assert nodes.taints == {"a": [], "b": []}
    assert nodes.stood[-1] == (0, 0.0)


async def test_ones_own_fence_is_not_looked_at_and_what_is_left_of_it_is_taken_away() -> None:
    nodes = Nodes.of("a", "b")
    fencing = await a_fence(nodes, "a", "b")
    async with looking(nodes.keeper(fencing)):
        await asyncio.sleep(60.0)
        assert fencing.is_whole
        nodes.forbidden.add("b")
        await fencing.lift()
        assert (nodes.taints["a"], len(nodes.taints["b"])) == ([], 1)
        nodes.forbidden.clear()
        await asyncio.sleep(5.0)
        assert nodes.taints == {"a": [], "b": []}


async def test_two_replicas_do_not_get_in_each_others_way() -> None:
    nodes = Nodes.of("a", taints=[STRANGE])
    second = nodes.keeper()
    second.election = nodes.election("second")
    async with looking(nodes.keeper()), looking(second):
        await asyncio.sleep(10.0)
    assert nodes.taints == {"a": []}
    assert nodes.removed == 1


async def test_what_cannot_be_taken_away_is_said_and_tried_again() -> None:
    nodes = Nodes.of("a", taints=[STRANGE], forbidden={"a"})
    async with looking(nodes.keeper()):
        await asyncio.sleep(10.0)
        assert set(nodes.said) == {"a is still fenced: the API server answered 403 Forbidden: no"}
        nodes.forbidden.clear()
        await asyncio.sleep(5.0)
    assert nodes.taints == {"a": []}


async def test_where_nothing_is_fenced_nobody_asks_for_the_lease() -> None:
    nodes = Nodes.of("a", taints=[OTHER])
    async with looking(nodes.keeper()):
        await asyncio.sleep(60.0)
    assert nodes.store.written == []
