"""What time it is for the API server."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import formatdate

import pytest

from client.double import Double, an_answer
from restow.client.errors import ServerTrouble
from restow.client.server import ServerTime, http_date
from restow.client.transport import Api, Call

NOON = 1_800_000_000.0
HOUR = 3600.0


@dataclass
class Clocks:
    """Ours: one that goes on whatever happens, and one that anybody may set."""

    passed: float = 500.0
    wall: float = NOON

    def made(self) -> ServerTime:
        return ServerTime(lambda: self.passed, lambda: self.wall)

    def sleep(self, seconds: float) -> None:
        self.passed += seconds
        self.wall += seconds


def date(seconds: float) -> str:
    return formatdate(seconds, usegmt=True)


def test_before_the_first_answer_it_is_our_own_time() -> None:
    assert Clocks().made().now() == NOON


@pytest.mark.parametrize("said", [None, "", "soon", "Thu, 99 Nov 2026 00:00:00 GMT", "Fri, 01 Jan 99999 00:00:00 GMT"])
def test_without_a_date_it_is_our_own_time(said: str | None) -> None:
    made = Clocks().made()
    made.answered(said)
    assert made.now() == NOON


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_from_then_on_it_is_the_servers_whatever_our_clock_is_set_to(jump: float) -> None:
    clocks = Clocks()
    made = clocks.made()
    made.answered(date(NOON - 100))
    clocks.sleep(60)
    clocks.wall += jump
    assert made.now() == NOON - 40


@pytest.mark.parametrize("jump", [-HOUR, HOUR, -3.0])
def test_where_the_servers_own_clock_is_set_its_next_answer_says_so(jump: float) -> None:
    made = Clocks().made()
    made.answered(date(NOON))
    made.answered(date(NOON + jump))
    assert made.now() == NOON + jump


def test_whole_seconds_do_not_make_the_time_go_back() -> None:
    """Of a date half a second is cut off on average, and an answer may be on its way for a while."""
    clocks = Clocks()
    made = clocks.made()
    made.answered(date(NOON))
    clocks.sleep(0.9)
    made.answered(date(NOON))
    assert made.now() == NOON + 0.9
    clocks.sleep(0.05)
    made.answered(date(NOON + 1))
    assert made.now() == NOON + 1


def test_a_date_without_a_zone_is_in_utc() -> None:
    assert http_date("Fri, 15 Jan 2027 08:00:00") == http_date("Fri, 15 Jan 2027 08:00:00 GMT") == NOON


@pytest.mark.asyncio
async def test_every_answer_says_what_time_it_is(api: Api, double: Double) -> None:
    double.answers("GET", "/version", an_answer({}, Date=date(NOON)))
    await api.without_limit().send(Call("GET", "/version"))
    assert api.server_time.now() == pytest.approx(NOON, abs=5)


@pytest.mark.asyncio
async def test_what_others_answer_does_not(api: Api, double: Double) -> None:
    """A metrics server behind it, a load balancer before it: their clocks do not date objects."""
    usage = "/apis/metrics.k8s.io/v1beta1/nodes"
    double.answers("GET", "/version", an_answer({}, Date=date(NOON)), an_answer({}, 502, Date=date(NOON + HOUR)))
    double.answers("GET", usage, an_answer({}, Date=date(NOON - HOUR)))
    await api.send(Call("GET", "/version"))
    await api.send(Call("GET", usage))
    with pytest.raises(ServerTrouble):
        await api.send(Call("GET", "/version"))
    assert api.server_time.now() == pytest.approx(NOON, abs=5)
