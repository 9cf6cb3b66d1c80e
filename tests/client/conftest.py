"""A double with its client for each test, and the control plane of the end-to-end tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from client.double import Double, a_double, an_api
from e2e.conftest import built, namespace, own_plane, plane
from restow.client.transport import Api

__all__ = ["api", "built", "double", "namespace", "own_plane", "plane"]


@pytest_asyncio.fixture
async def double() -> AsyncIterator[Double]:
    async with a_double() as running:
        yield running


@pytest_asyncio.fixture
async def api(double: Double) -> AsyncIterator[Api]:
    async with an_api(double.url) as made:
        yield made
