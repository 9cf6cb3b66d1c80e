"""Answers are decompressed in small steps and read up to a size, whoever answers."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Awaitable, Callable
from dataclasses import replace

import msgspec
import pytest

from client.double import Answer, Double, an_answer, an_api, packed
from restow.client.errors import MalformedReply, ServerTrouble, TooLarge, Unreachable
from restow.client.listing import all_objects
from restow.client.prometheus import query
from restow.client.resources import RESOURCES
from restow.client.sessions import FEW, MIB, ONE_OBJECT, PAGE, QUERY
from restow.client.transport import Api
from restow.client.watching import watch
from restow.errors import ClientError

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PATH = "/api/v1/pods"
QUERIES = "/api/v1/query"
EMPTY = {"data": {"resultType": "vector", "result": []}}


def blown_up(size: int) -> bytes:
    """A JSON text of more than so many bytes, which compress to a thousandth."""
    return b'{"data": "' + b"0" * size + b'"}'


async def read(api: Api) -> object:
    return await api.read(PATH, {}, json.loads)


async def ask(api: Api) -> object:
    return await query(api, "up")


async def watch_pods(api: Api) -> object:
    return [event async for event in watch(api, RESOURCES["Pod"], "10")]


@pytest.mark.parametrize("size", [0, 1, MIB - 20, MIB, 3 * MIB + 1, 10 * MIB])
async def test_a_packed_answer_is_unpacked_whole(api: Api, double: Double, size: int) -> None:
    double.answers("GET", PATH, packed(blown_up(size)))
    assert await read(api) == {"data": "0" * size}


async def test_an_answer_may_be_packed_in_several_members(api: Api, double: Double) -> None:
    text = json.dumps({"data": list(range(1000))}).encode()
    double.answers("GET", PATH, packed(*(text[at : at + 3] for at in range(0, len(text), 3))))
    assert await read(api) == {"data": list(range(1000))}


@pytest.mark.parametrize(
    ("path", "largest", "request_of"),
    [(PATH, 8 * MIB, read), (QUERIES, QUERY, ask), (PATH, ONE_OBJECT, watch_pods)],
    ids=["API server", "Prometheus", "watch"],
)
async def test_a_bomb_is_not_unpacked_and_not_asked_for_again(
    double: Double, path: str, largest: int, request_of: Callable[[Api], Awaitable[object]]
) -> None:
    double.answers("GET", path, packed(blown_up(4 * largest)))
    tracemalloc.start()
    try:
        async with an_api(double.url) as server:
            api = server.up_to(8 * MIB) if request_of is read else server
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            with pytest.raises(TooLarge, match=f" {largest // MIB} MiB, the most that restow reads"):
                await request_of(api)
            _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(double.asked) == 1
    assert most - before < largest + 4 * MIB


async def test_others_have_their_turns_while_a_bomb_is_unpacked(api: Api, double: Double) -> None:
    double.answers("GET", QUERIES, packed(blown_up(2 * QUERY)))
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    with pytest.raises(TooLarge):
        await ask(api)
    counting.cancel()
    assert turns >= QUERY // MIB


async def test_an_answer_that_says_its_size_is_not_even_begun(api: Api, double: Double) -> None:
    double.answers("GET", PATH, Answer((b"{",), headers={"Content-Length": str(PAGE + 1)}))
    with pytest.raises(TooLarge, match=r"answered with more than 256 MiB"):
        await read(api)
    assert len(double.asked) == 1


async def test_an_answer_without_compression_has_the_same_limit(api: Api, double: Double) -> None:
    double.answers("GET", PATH, Answer((blown_up(2 * MIB),)))
    with pytest.raises(TooLarge, match=r"answered with more than 1 MiB"):
        await api.up_to(MIB).read(PATH, {}, json.loads)


async def test_a_refusal_is_small(api: Api, double: Double) -> None:
    double.answers("GET", PATH, replace(packed(blown_up(2 * FEW)), status=503))
    with pytest.raises(TooLarge):
        await read(api)
    double._answers["GET", PATH] = [replace(packed(b"{}"), status=503)]
    with pytest.raises(ServerTrouble):
        await api.once().read(PATH, {}, json.loads)


async def test_the_next_request_gets_its_own_answer(api: Api, double: Double) -> None:
    """What is left of one that is too large is not taken for the next."""
    double.answers("GET", QUERIES, packed(blown_up(2 * QUERY)), an_answer(EMPTY))
    with pytest.raises(TooLarge):
        await ask(api)
    assert (await query(api, "up")).samples == ()


@pytest.mark.parametrize(
    ("answer", "error", "sentence"),
    [
        (replace(packed(b"{}"), pieces=(b"no gzip",)), Unreachable, "answered what is no gzip"),
        (replace(packed(b"{}"), pieces=(packed(blown_up(9)).pieces[0][:-14],)), Unreachable, "not complete JSON"),  # type: ignore[index]
        (Answer((b"{}",), headers={"Content-Encoding": "br"}), MalformedReply, "the encoding br, which was not asked"),
    ],
    ids=["no gzip", "half of it", "another encoding"],
)
async def test_what_cannot_be_unpacked_is_a_sentence(
    api: Api, double: Double, answer: Answer, error: type[ClientError], sentence: str
) -> None:
    double.answers("GET", PATH, answer)
    with pytest.raises(error, match=sentence):
        await api.once().read(PATH, {}, msgspec.json.decode)


async def test_a_page_of_large_objects_is_read(api: Api, double: Double) -> None:
    """An object of a megabyte is allowed, and a page has 500."""
    labels = {"big": "0" * MIB}
    items = [{"metadata": {"name": f"p{at}", "namespace": "n", "uid": f"{at}", "labels": labels}} for at in range(30)]
    double.answers("GET", PATH, packed(json.dumps({"metadata": {}, "items": items}).encode()))
    assert len(await all_objects(api, RESOURCES["Pod"])) == 30
