"""An API server of the test's own, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from live.apiserver import ApiServer, an_api_server
from restow.client.transport import Api


@pytest_asyncio.fixture
async def served() -> AsyncIterator[tuple[ApiServer, Api]]:
    async with an_api_server() as running:
        yield running


@pytest_asyncio.fixture
async def server(served: tuple[ApiServer, Api]) -> ApiServer:
    return served[0]


@pytest_asyncio.fixture
async def api(served: tuple[ApiServer, Api]) -> Api:
    return served[1]
