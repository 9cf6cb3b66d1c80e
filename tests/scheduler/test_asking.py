"""Asking a scheduler why a pod waits: over HTTPS, with a token, and what its refusals mean."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from descheduler.hearing import Heard
from restow.daemon.connecting import HttpsSettings, https
from restow.errors import ClientError, InputError
from restow.scheduler.explanation import (
    DOES_NOT_SCHEDULE,
    NotWaitingError,
    QueueExplanation,
    WhereToAsk,
    endpoint_of,
    why_it_waits,
)
from restow.serving.health import Health
from restow.serving.pages import guarded, plain_text
from restow.serving.server import ListenAddress
from restow.serving.tls import TlsSettings, ciphers, tls_version

pytestmark = pytest.mark.asyncio

HERE = "127.0.0.1"
PAGE = "/pods/{namespace}/{name}"
TOLD = QueueExplanation(
    namespace="shop",
    name="db-0",
    uid="u",
    scheduler="my-scheduler",
    queue="active",
    attempts=0,
    waited=1.0,
    tried_again_in=0.0,
    nominated_node="",
    rejected_by=(),
    waits_for=(),
    sentences=("It is tried when its turn comes.",),
    last_attempt=None,
    feasible_nodes=1,
    objections=(),
)


def page(request: web.Request) -> web.Response:
    match request.match_info["name"]:
        case "db-0":
            return web.Response(body=msgspec.json.encode(TOLD))
        case "standby":
            return plain_text(f"{DOES_NOT_SCHEDULE}\n", HTTPStatus.SERVICE_UNAVAILABLE)
        case "odd":
            return web.Response(body=b'{"namespace": 3}')
        case name:
            return plain_text(f"shop/{name} does not wait for this replica\n", HTTPStatus.NOT_FOUND)


async def review(token: str, path: str) -> HTTPStatus:
    allowed = {"good": HTTPStatus.OK, "poor": HTTPStatus.FORBIDDEN}
    assert path.startswith("/pods/")
    return allowed.get(token, HTTPStatus.UNAUTHORIZED)


@asynccontextmanager
async def a_scheduler(*, explains: bool = True) -> AsyncIterator[str]:
    """The URL of one with its own certificate."""
    settings = HttpsSettings(endpoint=ListenAddress(HERE, 0), tls=TlsSettings(tls_version(""), ciphers(())))
    more = {PAGE: page} if explains else {}
    async with https(settings, Health(), None, {}, Heard().log, more=more, guard=guarded((), review)) as port:
        yield f"https://{HERE}:{port}"


async def ask(url: str, folder: Path, name: str = "db-0", token: str = "good") -> QueueExplanation:
    file = folder / "token"
    file.write_text(token)
    return await why_it_waits(await endpoint_of(WhereToAsk(url, str(file)), None, None, {}), "shop", name)


async def test_a_scheduler_on_this_machine_is_asked_whatever_its_certificate(tmp_path: Path) -> None:
    async with a_scheduler() as url:
        assert await ask(url, tmp_path) == TOLD


@pytest.mark.parametrize(
    ("name", "token", "words"),
    [
        ("db-0", "other", "does not accept the token; give it another one with --scheduler-token-file"),
        ("db-0", "poor", 'add the rule {nonResourceURLs: ["/pods/*"], verbs: [get]}'),
        ("standby", "good", "is a replica that waits; the lease names the one that schedules"),
        ("odd", "good", "the response does not match the API"),
    ],
)
async def test_a_refusal_says_what_to_do(tmp_path: Path, name: str, token: str, words: str) -> None:
    async with a_scheduler() as url:
        with pytest.raises(ClientError) as caught:
            await ask(url, tmp_path, name, token)
    assert words in str(caught.value)
    assert not isinstance(caught.value, NotWaitingError)


async def test_a_pod_that_does_not_wait_is_no_missing_page(tmp_path: Path) -> None:
    async with a_scheduler() as url:
        with pytest.raises(NotWaitingError, match="shop/db-9 does not wait for this replica"):
            await ask(url, tmp_path, "db-9")


async def test_a_scheduler_without_the_page_is_told_from_one_that_knows_no_such_pod(tmp_path: Path) -> None:
    async with a_scheduler(explains=False) as url:
        with pytest.raises(ClientError, match="it runs without --explain-pods, or is no restow scheduler"):
            await ask(url, tmp_path)


async def test_nobody_there_is_told_with_what_leads_there(tmp_path: Path) -> None:
    async with a_scheduler() as url:
        pass
    with pytest.raises(ClientError, match=r"cannot be reached.*; kubectl port-forward leads to a scheduler"):
        await ask(url, tmp_path)


async def test_a_kubeconfig_lends_its_token_and_nothing_else(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, {"token": "good", "as": "somebody"})
    endpoint = await endpoint_of(WhereToAsk(f"https://{HERE}:1"), str(file), None, {})
    assert (await endpoint.credentials.identity()).headers == (("Authorization", "Bearer good"),)


async def test_a_kubeconfig_without_a_token_says_how_to_give_one(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, {"username": "u", "password": "p"})
    with pytest.raises(InputError, match=r"there is no token.*--scheduler-token-file"):
        await endpoint_of(WhereToAsk(f"https://{HERE}:1"), str(file), None, {})


async def test_elsewhere_a_certificate_is_checked(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("good")
    there = await endpoint_of(WhereToAsk("https://scheduler:1", str(tmp_path / "token")), None, None, {})
    identity = await there.credentials.identity()
    assert identity.tls is not None
    assert identity.tls.check_hostname


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1",
        "127.0.0.1:10259",
        "https://",
        "https://user:word@h",
        "https://h/p",
        "https://h:p",
        "https://h:65536",
    ],
)
async def test_only_an_https_url_is_one(url: str) -> None:
    with pytest.raises(InputError, match="is not an https:// URL") as caught:
        await endpoint_of(WhereToAsk(url), None, None, {})
    assert "word" not in str(caught.value)


def kubeconfig(folder: Path, user: dict[str, str]) -> Path:
    written = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://h"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": user}],
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(written))
    return file
