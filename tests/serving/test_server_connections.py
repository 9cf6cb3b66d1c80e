"""Connections that ask nothing take nothing away from anybody: not from probes, and not from the API client."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from aiohttp import web

from restow.serving import server
from restow.serving.health import Health
from restow.serving.pages import pages
from restow.serving.server import most_connections
from serving.scraping import HERE, get, served, unverified
from serving.test_server import TLS

pytestmark = pytest.mark.asyncio

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


async def opened(port: int, tls: ssl.SSLContext | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(HERE, port, ssl=tls)


async def ends(reader: asyncio.StreamReader) -> bool:
    """Whether the server ends a connection without a word."""
    with suppress(ConnectionError):
        async with asyncio.timeout(20):
            return await reader.read() == b""
    return True


@pytest.mark.parametrize("tls", [None, unverified()], ids=["no handshake", "no request"])
async def test_the_oldest_ends_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext | None
) -> None:
    monkeypatch.setattr(server, "most_connections", lambda: 4)
    async with served(pages(Health(), None), TLS) as port:
        idle = [await opened(port, tls) for _ in range(12)]
        assert (await get(port, "/healthz")).status == 200
        assert [await ends(reader) for reader, _ in idle[:9]] == [True] * 9
        for _, writer in idle:
            writer.close()


@pytest.mark.parametrize(
    ("tls", "sent"),
    [(None, b""), (None, b"\x16\x03"), (unverified(), b""), (unverified(), REQUEST[:-2])],
    ids=["nothing", "half a handshake", "no request", "half a request"],
)
async def test_who_asks_nothing_is_ended(
    monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext | None, sent: bytes
) -> None:
    monkeypatch.setattr(server, "SECONDS_TO_ASK", 0.5)
    async with served(pages(Health(), None), TLS) as port:
        reader, writer = await opened(port, tls)
        writer.write(sent)
        assert await ends(reader)
        writer.close()


async def test_who_has_asked_may_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    silent: list[float] = []
    monkeypatch.setattr(server, "SECONDS_TO_ASK", 0.5)
    async with served(pages(Health(), None), TLS) as port:
        kept, other = await opened(port, unverified()), await opened(port, unverified())
        for _ in range(2):
            kept[1].write(REQUEST)
            assert b"200 OK" in await kept[0].readuntil(b"\r\n\r\nok")
            # The other one was there later, and is ended.
            silent.append(await ends(other[0]))
        for _, writer in (kept, other):
            writer.close()
    assert silent == [True, True]


async def test_who_waits_for_a_long_answer_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SECONDS_TO_ASK", 0.2)
    application = pages(Health(), None)

    async def slow(_request: web.Request) -> web.Response:
        await asyncio.sleep(0.5)
        return web.Response(text="done")

    application.router.add_get("/slow", slow)
    async with served(application, TLS) as port:
        assert (await get(port, "/slow")).text == "done"


async def test_a_connection_that_is_closed_counts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "most_connections", lambda: 2)
    async with served(pages(Health(), None), TLS) as port:
        kept = await opened(port, unverified())
        for _ in range(5):
            assert (await get(port, "/healthz")).status == 200
        kept[1].write(REQUEST)
        assert b"200 OK" in await kept[0].readuntil(b"\r\n\r\nok")
        kept[1].close()


@pytest.mark.parametrize(("limit", "most"), [(1_024, 100), (256, 64), (2, 1), (resource.RLIM_INFINITY, 100)])
async def test_a_quarter_of_all_descriptors_at_most(monkeypatch: pytest.MonkeyPatch, limit: int, most: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert most_connections() == most


#: Serves with 128 descriptors; for each line of input, says how many files it can open.
PROGRAM = """
import asyncio, os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
from restow.serving.health import Health
from restow.serving.pages import pages
from serving.scraping import served
from serving.test_server import TLS

def free():
    files = []
    try:
        while True:
            files.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return len(files)
    finally:
        for file in files:
            os.close(file)

async def main():
    async with served(pages(Health(), None), TLS) as port:
        print(port, flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(free(), flush=True)

asyncio.run(main())
"""


async def test_hundreds_of_idle_connections_leave_descriptors_for_the_api_client() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    idle: list[socket.socket] = []
    path = [str(Path(__file__).parents[1]), *sys.path]
    program = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": ":".join(path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdin is not None
    assert program.stdout is not None
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        port = int(await asyncio.to_thread(program.stdout.readline))
        idle += [socket.create_connection((HERE, port), 30) for _ in range(500)]
        assert (await get(port, "/healthz")).status == 200
        program.stdin.write("\n")
        program.stdin.flush()
        assert int(await asyncio.to_thread(program.stdout.readline)) > 70
    finally:
        program.kill()
        program.communicate()
        for each in idle:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.looptime
async def test_who_sends_half_a_question_is_answered_and_ended_within_two_seconds() -> None:
    """The API server waits a second for a webhook, and so does the webhook for a question."""
    question = b"POST /ask HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf"
    async with served(pages(Health(), None, {"/ask": lambda body: body}), None) as port:
        began = asyncio.get_running_loop().time()
        reader, writer = await opened(port, None)
        writer.write(question)
        async with asyncio.timeout(20):
            answer = await reader.read()
        took = asyncio.get_running_loop().time() - began
        writer.close()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert took < 2.0
