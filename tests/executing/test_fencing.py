"""A fence is set before anything else happens, holds nobody else's taints up, and is gone when it is lifted."""

from __future__ import annotations

import asyncio
import re

import pytest

from executing.fences import OTHER, Nodes, now
from restow.executing.fencing import TIMING, Fencing, taint_value
from restow.kube.objects import Taint
from restow.kube.taints import FENCE

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

STRANGE = Taint(FENCE, "somebody", "NoSchedule")


async def a_fence(nodes: Nodes, *names: str, effect: str = "NoSchedule") -> Fencing:
    fencing = nodes.fencing()
    assert await fencing.set(names, effect) is None
    return fencing


async def test_the_watch_shows_the_fence_before_anybody_goes_on() -> None:
    nodes = Nodes.of("a", "b", "c", lag=2.0)
    fencing = await a_fence(nodes, "a", "b")
    assert [each.name for each in nodes.fences()] == ["a", "b"]
    assert nodes.taints["a"] == [Taint(FENCE, fencing.value, "NoSchedule")]
    assert fencing.is_whole
    await fencing.lift()
    assert nodes.taints == {"a": [], "b": [], "c": []}
    assert nodes.fences() == []


@pytest.mark.parametrize("effect", ["NoSchedule", "PreferNoSchedule"])
async def test_other_taints_stay_as_they_are(effect: str) -> None:
    nodes = Nodes.of("a", taints=[OTHER])
    fencing = await a_fence(nodes, "a", effect=effect)
    assert nodes.taints["a"] == [OTHER, Taint(FENCE, fencing.value, effect)]
    nodes.put("a", [Taint("first"), *nodes.taints["a"], Taint("last")])
    await asyncio.sleep(nodes.lag)
    await fencing.lift()
    assert nodes.taints["a"] == [Taint("first"), OTHER, Taint("last")]


async def test_a_taint_that_our_watch_does_not_show_yet_is_not_lost() -> None:
    nodes = Nodes.of("a", lag=0.2)
    nodes.put("a", [OTHER])
    fencing = await a_fence(nodes, "a")
    assert nodes.taints["a"][0] == OTHER
    await fencing.lift()
    assert nodes.taints["a"] == [OTHER]


async def test_one_node_that_cannot_be_fenced_is_reason_to_fence_none() -> None:
    nodes = Nodes.of("a", "b", "c", forbidden={"b"})
    fencing = nodes.fencing()
    problem = await fencing.set(["a", "b", "c"], "NoSchedule")
    assert problem == "b cannot be fenced: the API server answered 403 Forbidden: no"
    assert nodes.taints == {"a": [], "b": [], "c": []}
    assert not fencing.is_whole


async def test_a_node_that_is_gone_needs_no_fence() -> None:
    nodes = Nodes.of("a")
    fencing = await a_fence(nodes, "a", "gone")
    assert fencing.is_whole


async def test_without_news_of_nodes_nothing_is_done_behind_a_fence_that_nobody_sees() -> None:
    fencing = Nodes.of("a", lag=float("inf")).fencing()
    assert await fencing.set(["a"], "NoSchedule") == "the watch of nodes has not shown the fence within 10 s"


async def test_a_fence_that_somebody_takes_away_is_not_whole_any_more() -> None:
    nodes = Nodes.of("a", "b")
    fencing = await a_fence(nodes, "a", "b")
    nodes.put("a", [])
    await asyncio.sleep(nodes.lag)
    assert not fencing.is_whole


async def test_a_fence_whose_lease_somebody_else_has_is_not_whole_any_more() -> None:
    nodes = Nodes.of("a")
    fencing = await a_fence(nodes, "a")
    assert nodes.store.lease is not None
    nodes.store.write(type(nodes.store.lease.spec)(holder_identity="thief", lease_duration_seconds=5))
    await asyncio.sleep(TIMING.renew + 1.0)
    assert not fencing.is_whole


async def test_the_next_plan_changes_what_differs_and_nothing_else() -> None:
    nodes = Nodes.of("a", "b", "c")
    fencing = await a_fence(nodes, "a", "b")
    nodes.patches.clear()
    assert await fencing.set(["b", "c"], "NoSchedule") is None
    assert [name for name, _ in nodes.patches] == ["a", "c"]
    assert [each.name for each in nodes.fences()] == ["b", "c"]
    assert fencing.is_whole


async def test_what_another_process_has_left_is_taken_away_first() -> None:
    nodes = Nodes.of("a", "b", taints=[STRANGE])
    fencing = await a_fence(nodes, "b")
    assert nodes.taints == {"a": [], "b": [Taint(FENCE, fencing.value, "NoSchedule")]}


async def test_two_do_not_fence_at_the_same_time() -> None:
    nodes = Nodes.of("a", "b")
    first, second = await a_fence(nodes, "a"), nodes.fencing()
    second.election = nodes.election("second")
    problem = await second.set(["b"], "NoSchedule")
    assert problem is not None
    assert "another restow may fence nodes now" in problem
    assert first.is_whole
    await first.lift()
    assert await second.set(["b"], "NoSchedule") is None


async def test_a_holder_that_is_dead_is_waited_for_and_succeeded() -> None:
    nodes = Nodes.of("a", "b")
    dead = await a_fence(nodes, "a")
    assert dead._holding is not None
    dead._holding.cancel()
    began = now()
    second = nodes.fencing()
    second.election = nodes.election("second")
    assert await second.set(["b"], "NoSchedule") is None
    assert now() - began < TIMING.lease + 3.0
    assert [each.name for each in nodes.fences()] == ["b"]


async def test_without_a_permission_nothing_is_fenced_and_it_is_lifted_all_the_same() -> None:
    permitted = [1.0]
    nodes = Nodes.of("a")
    fencing = nodes.fencing(lambda: permitted[0])
    assert await fencing.set(["a"], "NoSchedule") is None
    permitted[0] = 0.0
    await fencing.lift()
    assert nodes.taints["a"] == []


async def test_told_to_stop_it_lifts_the_fence_at_once_and_sets_none_any_more() -> None:
    nodes = Nodes.of("a", "b")
    fencing = await a_fence(nodes, "a")
    fencing.stop()
    await fencing.ended()
    assert nodes.taints == {"a": [], "b": []}
    assert await fencing.set(["b"], "NoSchedule") == "it is to stop"
    assert nodes.taints == {"a": [], "b": []}


async def test_told_to_stop_while_it_fences_it_leaves_nothing() -> None:
    nodes = Nodes.of(*(f"n{at}" for at in range(50)))
    fencing = nodes.fencing()
    setting = asyncio.create_task(fencing.set(list(nodes.taints), "NoSchedule"))
    await asyncio.sleep(0.045)
    assert any(nodes.taints.values())
    fencing.stop()
    assert await setting == "it is to stop"
    await fencing.ended()
    assert not any(nodes.taints.values())


async def test_a_lifted_fence_leaves_the_lease_free() -> None:
    nodes = Nodes.of("a")
    await (await a_fence(nodes, "a")).lift()
    assert nodes.store.lease is not None
    assert nodes.store.lease.spec.holder_identity == ""


@pytest.mark.parametrize("holder", ["restow-7c9f-abcde", "", "-_.", "a" * 300, "host.example.com", "größe"])
async def test_the_value_is_one_that_a_taint_may_have(holder: str) -> None:
    value = taint_value(holder, 1_795_366_800.0)
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", value)
    assert value.endswith("_20261122T170000Z")
