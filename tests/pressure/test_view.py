"""The pages of the daemon over plain HTTP, as a dynamic scheduler has them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from builders.pressure_views import a_view
from restow.pressure.monitoring import PressureView, application
from restow.serving.health import Health
from restow.serving.server import ListenAddress, serving

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def served(view: PressureView, health: Health | None = None) -> AsyncIterator[str]:
    made = application(health or Health(), lambda: "metric 1\n", lambda: view, lambda shown: f"<p>{shown.trouble}")
    async with serving(made, ListenAddress("127.0.0.1", 0), None) as port:
        yield f"http://127.0.0.1:{port}"


async def get(url: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, response.content_type, await response.text()


async def test_status_is_ok_or_says_what_is_wrong() -> None:
    async with served(a_view(1, minutes=1)) as url:
        assert await get(f"{url}/status") == (200, "text/plain", "ok")
    async with served(a_view(1, minutes=1, trouble="Prometheus has not answered for 31 s")) as url:
        assert await get(f"{url}/status") == (503, "text/plain", "Prometheus has not answered for 31 s\n")


async def test_nodes_are_those_that_are_labelled() -> None:
    async with served(a_view(4, minutes=1, pressed=2)) as url:
        status, kind, text = await get(f"{url}/nodes")
    assert (status, kind) == (200, "application/json")
    assert json.loads(text) == {"type": "presure", "num": 2, "node_names": ["node-0000", "node-0001"]}


async def test_the_page_metrics_and_health_are_there() -> None:
    async with served(a_view(1, minutes=1, trouble="x")) as url:
        assert await get(f"{url}/") == (200, "text/html", "<p>x")
        assert (await get(f"{url}/metrics"))[2] == "metric 1\n"
        assert (await get(f"{url}/healthz"))[::2] == (200, "ok")
        assert (await get(f"{url}/readyz"))[0] == 503


async def test_the_page_may_load_nothing() -> None:
    async with served(a_view(1, minutes=1)) as url, aiohttp.ClientSession() as session, session.get(url) as response:
        assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'unsafe-inline'")
        assert "Server" not in response.headers
