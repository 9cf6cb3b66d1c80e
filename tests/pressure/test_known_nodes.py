"""The nodes as a watch tells of them: what is kept, what is left out, and that nothing ends it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from client.double import Answer, a_double, an_answer, an_api
from pressure.marked_nodes import MANAGER, a_marked_node, owner
from restow.daemon.background import background
from restow.pressure.nodes import KnownNodes

pytestmark = pytest.mark.asyncio

NODES = "/api/v1/nodes"


def a_node(name: str, version: int = 1, **metadata: Any) -> dict[str, Any]:
    return a_marked_node(name, uid=f"u-{name}", resourceVersion=str(version), **metadata)


def a_list(*items: Any) -> Answer:
    return an_answer({"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": list(items)})


def events(*told: tuple[str, Any]) -> Answer:
    """A watch that brings these, and then nothing for a minute."""
    lines = (json.dumps({"type": kind, "object": node}).encode() + b"\n" for kind, node in told)
    return Answer((*lines, 60.0))


@asynccontextmanager
async def known(*answers: Answer) -> Any:
    warned: list[str] = []
    async with a_double() as double, an_api(double.url) as api:
        double.answers("GET", NODES, *answers)
        nodes = KnownNodes(api, MANAGER, warned.append)
        async with background(nodes.follow(), "nodes"):
            yield nodes, warned


async def until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not look():  # noqa: ASYNC110 - the watch does not tell when it has told
            await asyncio.sleep(0.01)


def names(nodes: KnownNodes) -> list[str]:
    return sorted(node.name for node in nodes.all())


async def test_a_list_and_its_changes() -> None:
    more = events(
        ("ADDED", a_node("c", 2)), ("MODIFIED", a_node("a", 3, labels={"x": "y"})), ("DELETED", a_node("b", 4))
    )
    async with known(a_list(a_node("a"), a_node("b")), more) as (nodes, warned):
        await until(lambda: names(nodes) == ["a", "c"])
        assert {node.name: node.version for node in nodes.all()} == {"a": 3, "c": 2}
        assert nodes.listed.is_set()
        assert warned == []


async def test_of_field_managers_only_ours_is_kept() -> None:
    managers = [owner("kubelet", "x"), owner(MANAGER, "status")]
    async with known(a_list(a_node("a", managedFields=managers)), events()) as (nodes, _):
        await nodes.listed.wait()
        (node,) = nodes.all()
        assert [each.manager for each in node.metadata.managed_fields or ()] == [MANAGER]


async def test_a_node_that_cannot_be_read_is_told_and_left_out() -> None:
    odd = a_node("b") | {"status": {"addresses": "none"}}
    async with known(a_list(a_node("a"), odd), events()) as (nodes, warned):
        await nodes.listed.wait()
        assert names(nodes) == ["a"]
        assert warned[0].startswith("node b is left out, since it cannot be read: ")


async def test_whatever_goes_wrong_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async with known(a_list(a_node("a")), events()) as (nodes, warned):
        real, broken = nodes._take, iter([ValueError("odd")])

        def take(news: Any) -> None:
            for error in broken:
                raise error
            real(news)

        monkeypatch.setattr(nodes, "_take", take)
        await until(lambda: bool(warned))
        assert warned == ["nodes cannot be listed: ValueError: odd"]
        assert await nodes.why_silent(1.0) == "ValueError: odd"
