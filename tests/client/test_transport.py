"""Requests: what is sent, what is repeated and when, and what each failure becomes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest

from client.double import Answer, Double, a_status, an_answer, an_api
from restow import __version__
from restow.client.credentials import Identity
from restow.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    MalformedReply,
    NotFound,
    NotPermitted,
    ServerTrouble,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from restow.client.flow_control import TokenBucket
from restow.client.sessions import MOST_CONNECTIONS
from restow.client.transport import Api, Call

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PATH = "/api/v1/pods"
GOOD = an_answer({"kind": "PodList"})


async def read(api: Api) -> dict[str, str]:
    return await api.read(PATH, {}, msgspec.json.decode)


async def test_a_request_names_program_and_version(api: Api, double: Double) -> None:
    double.answers("GET", PATH, GOOD)

    assert await read(api) == {"kind": "PodList"}
    assert double.asked[0].headers["User-Agent"] == f"restow/{__version__}"
    assert double.asked[0].headers["Accept"] == "application/json"


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(a_status(429), id="429"),
        pytest.param(a_status(500), id="500"),
        pytest.param(a_status(503), id="503"),
        pytest.param(a_status(504), id="504"),
        pytest.param(Answer((), cut=True), id="reset before the body"),
        pytest.param(Answer((b'{"kind": ',), cut=True), id="cut in the body"),
        pytest.param(Answer((b'{"kind": ',)), id="half a body that ends in good order"),
        pytest.param(Answer((b"<html>",), 502), id="a proxy's page"),
        pytest.param(Answer((100.0,)), id="silence"),
    ],
)
async def test_reads_are_repeated_after_what_may_pass(api: Api, double: Double, trouble: Answer) -> None:
    double.answers("GET", PATH, trouble, trouble, GOOD)

    assert await read(api) == {"kind": "PodList"}
    assert len(double.asked) == 3


async def test_pauses_grow_and_are_never_in_step(api: Api, double: Double) -> None:
    double.answers("GET", PATH, a_status(503), a_status(503), a_status(503), GOOD)

    await read(api)

    first, second, third = (after.at - before.at for before, after in pairwise(double.asked))
    assert 0.25 <= first <= 0.5 <= second <= 1 <= third <= 2


async def test_the_server_names_the_shortest_pause(api: Api, double: Double) -> None:
    double.answers("GET", PATH, a_status(429, retry_after=7), GOOD)

    await read(api)

    assert 7 <= double.asked[1].at - double.asked[0].at <= 14


async def test_patience_ends(api: Api, double: Double) -> None:
    double.answers("GET", PATH, a_status(503, message="no room"))

    with pytest.raises(ServerTrouble, match="answered 503: no room"):
        await read(api)
    assert len(double.asked) == 5


@pytest.mark.parametrize(
    ("code", "error"),
    [
        pytest.param(400, ApiError, id="400"),
        pytest.param(403, Forbidden, id="403"),
        pytest.param(404, NotFound, id="404"),
        pytest.param(409, Conflict, id="409"),
        pytest.param(410, Gone, id="410"),
    ],
)
async def test_other_refusals_are_final(api: Api, double: Double, code: int, error: type[ApiError]) -> None:
    double.answers("GET", PATH, a_status(code, "Why", "because"))

    with pytest.raises(error, match="because") as raised:
        await read(api)
    assert (raised.value.status, raised.value.reason) == (code, "Why")
    assert len(double.asked) == 1


async def test_a_wrong_type_names_its_field_and_is_not_asked_for_again(api: Api, double: Double) -> None:
    double.answers("GET", PATH, GOOD)

    with pytest.raises(MalformedReply, match=r"GET /api/v1/pods: .* Expected `int`, got `str` - at `\$\.kind`"):
        await api.read(PATH, {}, lambda body: msgspec.json.decode(body, type=msgspec.defstruct("X", [("kind", int)])))
    assert len(double.asked) == 1


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(a_status(429), TooManyRequests, id="429"),
        pytest.param(a_status(500), ServerTrouble, id="500"),
        pytest.param(Answer((b"{",), cut=True), Unreachable, id="cut"),
    ],
)
async def test_writes_are_never_repeated(api: Api, double: Double, answer: Answer, error: type[Exception]) -> None:
    double.answers("POST", PATH, answer)

    with pytest.raises(error):
        await api.send(Call("POST", PATH, body=b"{}"))
    assert len(double.asked) == 1


async def test_a_request_ends_after_65_seconds_even_if_bytes_keep_coming(api: Api, double: Double) -> None:
    double.answers("POST", PATH, Answer((b" ", 10.0) * 20))

    with pytest.raises(Unreachable, match=r"did not answer in time \(the test\)"):
        await api.send(Call("POST", PATH))
    assert asyncio.get_running_loop().time() == pytest.approx(65, abs=1)


async def test_a_server_that_is_not_there_is_named_with_the_configuration(double: Double) -> None:
    async with an_api("http://127.0.0.1:1") as api:
        with pytest.raises(Unreachable, match=r"^http://127.0.0.1:1 \(the test\) cannot be reached: .*refused"):
            await api.send(Call("GET", PATH))


async def test_a_proxy_that_refuses_is_told_without_its_password(double: Double) -> None:
    async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    proxy = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    async with proxy, an_api("https://api:1") as api:
        through = replace(api, endpoint=replace(api.endpoint, proxy=f"http://me:hunter2@127.0.0.1:{port}"))
        with pytest.raises(Unreachable, match="407") as raised:
            await through.send(Call("GET", PATH))
    assert "hunter2" not in str(raised.value)


async def test_what_is_no_http_is_quoted_in_one_short_line() -> None:
    async def babble(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH\n" + b"9" * 5000 + b"\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, an_api(f"http://127.0.0.1:{port}") as api:
        with pytest.raises(Unreachable, match="the connection broke: 400, message=") as raised:
            await api.send(Call("GET", PATH))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300


async def test_tokens_do_not_follow_redirections(api: Api, double: Double) -> None:
    double.answers("GET", PATH, Answer((), 302, {"Location": f"{double.url}/elsewhere"}))

    with pytest.raises(ApiError, match="answered 302"):
        await read(api)
    assert [asked.path for asked in double.asked] == [PATH]


class Rotating:
    """Credentials whose first token is no longer good."""

    def __init__(self) -> None:
        self.token = "old"

    async def identity(self) -> Identity:
        return Identity((("Authorization", f"Bearer {self.token}"),))

    def rejected(self) -> None:
        self.token = "new"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_refused_token_is_replaced_and_the_request_sent_again(double: Double, method: str) -> None:
    double.answers(method, PATH, a_status(401), GOOD)
    async with an_api(double.url, Rotating()) as api:
        await api.send(Call(method, PATH))

    assert [asked.headers["Authorization"] for asked in double.asked] == ["Bearer old", "Bearer new"]


async def test_a_token_refused_twice_is_an_error(double: Double) -> None:
    double.answers("GET", PATH, a_status(401))
    async with an_api(double.url, Rotating()) as api:
        with pytest.raises(Unauthorized):
            await read(api)
    assert len(double.asked) == 2


async def test_every_attempt_counts_against_the_limit(double: Double) -> None:
    double.answers("POST", PATH, GOOD)
    async with an_api(double.url, limit=TokenBucket(2, 1)) as api:
        for _ in range(4):
            await api.send(Call("POST", PATH))
        await api.without_limit().send(Call("POST", PATH))

    assert [asked.at for asked in double.asked] == pytest.approx([0, 0.5, 1, 1.5, 1.5], abs=0.01)


async def test_without_permission_nothing_is_sent(api: Api, double: Double) -> None:
    with pytest.raises(NotPermitted):
        await api.send(Call("POST", PATH), permit=lambda: 0.0)
    assert not double.asked


async def test_permission_is_asked_when_the_turn_has_come_not_before(double: Double) -> None:
    """A request that waited for the rate limit past the end of the lease must not go out."""
    double.answers("POST", PATH, GOOD)
    time = asyncio.get_running_loop().time
    async with an_api(double.url, limit=TokenBucket(0.1, 1)) as api:
        await api.send(Call("POST", PATH), permit=lambda: 5 - time())
        with pytest.raises(NotPermitted):
            await api.send(Call("POST", PATH), permit=lambda: 5 - time())

    assert len(double.asked) == 1


async def test_permission_is_asked_once_more_when_the_body_is_written(api: Api, double: Double) -> None:
    """A process that stood still since it was asked first sends nothing when it goes on."""
    left = iter([5.0, -1.0])
    with pytest.raises(NotPermitted):
        await api.send(Call("POST", PATH, body=b"{}"), permit=lambda: next(left))
    assert not double.asked


async def test_a_request_in_flight_is_given_up_when_its_permission_ends(api: Api, double: Double) -> None:
    double.answers("POST", PATH, Answer((30.0,)))
    time = asyncio.get_running_loop().time

    with pytest.raises(Unreachable):
        await api.send(Call("POST", PATH), permit=lambda: 5 - time())
    assert time() == pytest.approx(5, abs=0.1)


async def test_requests_at_a_time_take_a_bounded_number_of_connections(api: Api, double: Double) -> None:
    double.answers("GET", PATH, Answer((1.0, b"{}")))

    await asyncio.gather(*(read(api) for _ in range(MOST_CONNECTIONS + 50)))

    first = min(each.at for each in double.asked)
    assert sum(each.at < first + 0.9 for each in double.asked) == MOST_CONNECTIONS
