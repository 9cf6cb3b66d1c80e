"""What kopf is told to do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from client.double import a_double, a_status, an_answer, an_api
from restow.client.credentials import Identity, bearer
from restow.client.errors import NoCredentials
from restow.operator import daemon
from restow.operator.daemon import Session
from restow.operator.objects import KUBEDESCHEDULERS

API: Any = SimpleNamespace(endpoint=SimpleNamespace(server="https://127.0.0.1:1"))


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


async def nothing() -> None:
    """There is nothing to remove."""


def registry() -> Any:
    return daemon._registry(API, lambda: None, nothing)


def test_a_removal_is_tried_so_often_and_no_more() -> None:
    (removal,) = registry()._changing.get_all_handlers()
    assert (removal.retries, removal.backoff) == (12, 10.0)
    assert KUBEDESCHEDULERS.plural in (removal.selector.plural, removal.selector.any_name)


def test_how_often_it_was_tried_can_be_noted_in_an_annotation() -> None:
    (removal,) = registry()._changing.get_all_handlers()
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", removal.id)


def test_only_the_resource_that_counts_waits_for_its_removal() -> None:
    (removal,) = registry()._changing.get_all_handlers()
    assert [removal.when(name=each) for each in ("cluster", "other")] == [True, False]


def test_no_last_configuration_is_kept() -> None:
    storage: Any = daemon._settings().persistence.diffbase_storage
    patch: dict[str, Any] = {}
    storage.store(body={}, patch=patch, essence={"spec": {}})
    assert (patch, storage.fetch(body={})) == ({}, None)


@pytest.mark.asyncio
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


@pytest.mark.asyncio
async def test_a_second_refusal_is_kopfs_to_judge() -> None:
    async with a_double() as double, an_api(double.url, Rotating()) as api:
        double.answers("GET", "/apis", a_status(401))
        response = await Session(api).request(method="GET", url=f"{double.url}/apis", headers=None)
        assert response.status == 401


@pytest.mark.asyncio
async def test_without_credentials_for_a_while_it_is_as_without_a_connection() -> None:
    async with a_double() as double, an_api(double.url, Rotating([])) as api:
        with pytest.raises(aiohttp.ClientConnectionError, match="the token file is empty"):
            await Session(api).request(method="GET", url=f"{double.url}/apis", headers=None)


@pytest.mark.asyncio
async def test_the_session_is_closed_by_whoever_opened_it() -> None:
    async with a_double() as double, an_api(double.url) as api:
        session = Session(api)
        await session.close()
        assert not session.closed
    assert session.closed
