"""After the end no socket is open: whenever it comes, and whatever the server does not do."""

from __future__ import annotations

import asyncio
import gc
import ssl
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest
import trustme

from client.double import Answer, a_double, a_list, an_api, an_event
from client.open_sockets import needs_proc, sockets_to
from restow.client.credentials import Fixed, Identity, Trust
from restow.client.resources import RESOURCES
from restow.client.sessions import Sockets
from restow.client.transport import Api, Call
from restow.live.cluster import live_cluster

pytestmark = [pytest.mark.asyncio, needs_proc]

AUTHORITY = trustme.CA()
OURS = Trust(AUTHORITY.cert_pem.bytes(), origin="the test")
KINDS = ("Node", "Pod", "Service")
#: Longer than any test: a stream that goes on.
ON_AND_ON = 3_600.0
MEGABYTE = bytes(1 << 20)

Serve = Callable[[asyncio.StreamWriter], None]


def server_tls() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert("127.0.0.1").configure_cert(context)
    return context


def client_of(port: int) -> AbstractAsyncContextManager[Api]:
    return an_api(f"https://127.0.0.1:{port}", Fixed(Identity(tls=OURS.context())))


@asynccontextmanager
async def listing_and_watching() -> AsyncIterator[int]:
    """The port of a server of a few kinds whose watches go on and on."""
    async with a_double(server_tls()) as double:
        for kind in KINDS:
            path = RESOURCES[kind].path()
            double.answers("GET", path, a_list(), Answer((an_event("BOOKMARK", "", "11"), ON_AND_ON)))
        yield int(double.url.rpartition(":")[2])


@asynccontextmanager
async def serving(serve: Serve, tls: ssl.SSLContext | None) -> AsyncIterator[tuple[int, asyncio.Event]]:
    """The port of a server that does the same for every connection, and an event: it has been asked something."""
    asked, ended = asyncio.Event(), asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        serve(writer)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        asked.set()
        await ended.wait()
        writer.transport.abort()

    server = await asyncio.start_server(hold, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1], asked
    finally:
        ended.set()
        server.close()
        await asyncio.sleep(0)


def stand_still(_: asyncio.StreamWriter) -> None:
    """No answer to anything, not even to a goodbye."""


def flood(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + MEGABYTE)


async def ask(api: Api) -> None:
    with suppress(Exception):
        await api.send(Call("GET", "/api/v1/pods"))


@pytest.fixture(autouse=True)
def _nothing_is_left_to_the_garbage_collector() -> object:
    """Objects of sockets and transports that were not closed warn when they are collected."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    assert [str(each.message) for each in said] == []


async def test_a_live_cluster_that_ends_while_it_begins() -> None:
    """After any number of the loop's turns: before, while and after connections are made, in lists and in watches."""
    for turns in range(0, 100, 2):
        async with listing_and_watching() as port:
            async with client_of(port) as api, live_cluster(api, KINDS, warn=print) as live:
                for _ in range(turns):
                    await asyncio.sleep(0)
                begun = live.ready
            assert (turns, sockets_to(port)) == (turns, [])
    assert begun


async def test_a_live_cluster_that_has_settled() -> None:
    async with listing_and_watching() as port:
        async with client_of(port) as api, live_cluster(api, KINDS, warn=print) as live:
            assert await live.wait_ready(asyncio.get_running_loop().time() + 30)
            assert sockets_to(port) != []
        assert sockets_to(port) == []


@pytest.mark.parametrize(
    ("serve", "tls"),
    [
        pytest.param(stand_still, True, id="does-not-answer"),
        pytest.param(stand_still, False, id="does-not-shake-hands"),
        pytest.param(flood, True, id="sends-more-than-is-read"),
    ],
)
@pytest.mark.parametrize("cancelled", [True, False], ids=["cancelled", "under-way"])
async def test_a_server_that_does_not_say_goodbye(serve: Serve, *, tls: bool, cancelled: bool) -> None:
    async with serving(serve, server_tls() if tls else None) as (port, asked):
        async with client_of(port) as api:
            asking = asyncio.create_task(ask(api))
            await asked.wait()
            if cancelled:
                asking.cancel()
        assert sockets_to(port) == []
        asking.cancel()
        await asyncio.wait([asking])


async def test_an_answer_that_nobody_reads() -> None:
    async with serving(flood, server_tls()) as (port, _):
        async with client_of(port) as api, api.stream("/", {}, 60):
            pass
        assert sockets_to(port) == []


async def test_after_the_end_there_are_no_new_sockets() -> None:
    sockets = Sockets()
    await sockets.end()
    with pytest.raises(OSError, match="shutdown"):
        sockets.make((2, 1, 6, "", ("127.0.0.1", 1)))
