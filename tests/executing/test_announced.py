"""What a replica that does not lead knows of the ConfigMap of steering, in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from client.double import Answer, Double, a_double, a_status, an_answer, an_api
from restow.executing.announced import Announced

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PATH = "/api/v1/namespaces/kube-system/configmaps"
HANG = Answer((10_000.0,))


def a_map(*owners: str, version: str = "10") -> dict[str, object]:
    metadata = {"name": "restow-steering", "namespace": "kube-system", "resourceVersion": version}
    return {"metadata": metadata} | ({"data": dict.fromkeys(owners, "default/web-0")} if owners else {})


def listed(*maps: dict[str, object]) -> Answer:
    return an_answer({"kind": "ConfigMapList", "metadata": {"resourceVersion": "10"}, "items": list(maps)})


def changes(*events: tuple[str, dict[str, object]], pause: float = 0.0, cut: bool = False) -> Answer:
    lines = (json.dumps({"type": what, "object": changed}).encode() + b"\n" for what, changed in events)
    return Answer((pause, *lines, *(() if cut else (10_000.0,))), cut=cut)


@asynccontextmanager
async def an_announced(double: Double, said: list[str] | None = None) -> AsyncIterator[Announced]:
    async with an_api(double.url) as api:
        announced = Announced(api, "kube-system", (said if said is not None else []).append)
        task = asyncio.create_task(announced.run())
        try:
            yield announced
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def awaited(announced: Announced, *owners: str) -> list[str]:
    announced.awaits("")
    await asyncio.sleep(0.1)
    return [owner for owner in owners if announced.awaits(owner)]


async def test_nothing_is_asked_for_before_somebody_asks() -> None:
    async with a_double() as double, an_announced(double):
        await asyncio.sleep(60.0)
        assert double.asked == []


async def test_the_one_config_map_is_followed() -> None:
    async with a_double() as double, an_announced(double) as announced:
        double.answers("GET", PATH, listed(a_map("a")), changes(("MODIFIED", a_map("a", "b", version="11")), pause=5.0))
        assert await awaited(announced, "a", "b") == ["a"]
        await asyncio.sleep(5.0)
        assert await awaited(announced, "a", "b") == ["a", "b"]
    assert {each.params["fieldSelector"] for each in double.asked} == {"metadata.name=restow-steering"}


@pytest.mark.parametrize(
    "event",
    [("MODIFIED", a_map(version="11")), ("DELETED", a_map("a", version="11"))],
    ids=["entries taken out", "deleted"],
)
async def test_what_is_taken_out_is_awaited_no_more(event: tuple[str, dict[str, object]]) -> None:
    async with a_double() as double, an_announced(double) as announced:
        double.answers("GET", PATH, listed(a_map("a")), changes(event, pause=5.0))
        assert await awaited(announced, "a") == ["a"]
        await asyncio.sleep(5.0)
        assert await awaited(announced, "a") == []


async def test_without_a_config_map_nobody_is_awaited() -> None:
    async with a_double() as double, an_announced(double) as announced:
        double.answers("GET", PATH, listed(), HANG)
        assert await awaited(announced, "a") == []


async def test_nobody_is_awaited_while_news_are_interrupted_and_what_is_written_then_comes_whole() -> None:
    async with a_double() as double, an_announced(double) as announced:
        broken = changes(("MODIFIED", a_map("a", version="11")), cut=True)
        later = changes(("MODIFIED", a_map("a", "b", version="12")), pause=5.0)
        double.answers("GET", PATH, listed(a_map("a")), broken, later)
        assert await awaited(announced, "a") == []
        await asyncio.sleep(10.0)
        assert await awaited(announced, "a", "b") == ["a", "b"]


async def test_a_right_that_is_missing_is_told_once_and_found_when_it_comes() -> None:
    said: list[str] = []
    message = 'configmaps is forbidden: User "restow" cannot list resource "configmaps"'
    async with a_double() as double, an_announced(double, said) as announced:
        double.answers("GET", PATH, *[a_status(403, "Forbidden", message)] * 3, listed(a_map("a")), HANG)
        assert await awaited(announced, "a") == []
        await asyncio.sleep(60.0)
        assert await awaited(announced, "a") == ["a"]
    assert len(said) == 1
    assert 'resources: ["configmaps"], verbs: [list, watch]' in said[0]


async def test_a_config_map_that_cannot_be_read_names_nobody() -> None:
    odd = {"metadata": {"name": "restow-steering"}, "data": {"a": 7}}
    async with a_double() as double, an_announced(double) as announced:
        double.answers("GET", PATH, listed(odd), HANG)
        assert await awaited(announced, "a") == []
