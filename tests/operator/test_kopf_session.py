"""kopf asks the API server with restow's credentials, as they are at each request."""

from __future__ import annotations

from dataclasses import dataclass, field

import aiohttp
import pytest

from client.double import a_double, a_status, an_answer, an_api
from restow.client.credentials import Identity, bearer
from restow.client.errors import NoCredentials
from restow.operator.kopf_session import Session

pytestmark = pytest.mark.asyncio


@dataclass
class Rotating:
    """A token for each time that the one before was rejected."""

    tokens: list[str] = field(default_factory=lambda: ["old", "new"])

    async def identity(self) -> Identity:
        if not self.tokens:
            raise NoCredentials("the token file is empty")
        return Identity((bearer(self.tokens[0], "the test"),))

    def rejected(self) -> None:
        self.tokens.pop(0)


async def test_a_token_that_was_replaced_is_asked_for_again_and_kopf_does_not_notice() -> None:
    async with a_double() as double, an_api(double.url, Rotating()) as api:
        double.answers("GET", "/apis", a_status(401), an_answer({"groups": []}))
        session = Session(api)
        session.headers["User-Agent"] = "kopf/1"
        response = await session.request(
            method="GET", url=f"{double.url}/apis", headers={"Accept": "text/x"}, json=None
        )
        assert (response.status, await response.json()) == (200, {"groups": []})
    assert [each.headers["Authorization"] for each in double.asked] == ["Bearer old", "Bearer new"]
    assert {(each.headers["User-Agent"], each.headers["Accept"]) for each in double.asked} == {("kopf/1", "text/x")}


async def test_a_second_refusal_is_kopfs_to_judge() -> None:
    async with a_double() as double, an_api(double.url, Rotating()) as api:
        double.answers("GET", "/apis", a_status(401))
        response = await Session(api).request(method="GET", url=f"{double.url}/apis", headers=None)
        assert response.status == 401


async def test_without_credentials_for_a_while_it_is_as_without_a_connection() -> None:
    async with a_double() as double, an_api(double.url, Rotating([])) as api:
        with pytest.raises(aiohttp.ClientConnectionError, match="the token file is empty"):
            await Session(api).request(method="GET", url=f"{double.url}/apis", headers=None)


async def test_the_session_is_closed_by_whoever_opened_it() -> None:
    async with a_double() as double, an_api(double.url) as api:
        session = Session(api)
        await session.close()
        assert not session.closed
    assert session.closed
