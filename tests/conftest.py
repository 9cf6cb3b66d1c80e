"""What all tests share."""

from __future__ import annotations

import asyncio
import os
import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from client.double import Double
    from restow.client.transport import Api

# How long an example takes, or takes to draw, says more about the machine than about the code.
settings.register_profile("restow", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# CI tries the same examples each time: a change is refused for what it does. Everybody else's runs look further.
settings.register_profile("ci", settings.get_profile("restow"), derandomize=True)
settings.load_profile("ci" if "CI" in os.environ else "restow")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-of", type=int, default=1, metavar="N", help="Run one of N tests, always the same ones.")


def pytest_configure(config: pytest.Config) -> None:
    """Let the snapshots of tests that --one-of leaves out be unused; otherwise syrupy fails the run because of them."""
    if config.getoption("--one-of") > 1:
        config.option.warn_unused_snapshots = True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what --one-of leaves out; the names decide, so it is the same whatever else is chosen."""
    count = config.getoption("--one-of")
    chosen = [zlib.crc32(each.nodeid.encode()) % count == 0 for each in items]
    config.hook.pytest_deselected(items=[each for each, is_chosen in zip(items, chosen, strict=True) if not is_chosen])
    items[:] = [each for each, is_chosen in zip(items, chosen, strict=True) if is_chosen]


@pytest.fixture(scope="session", autouse=True)
def _an_event_loop_that_is_closed_in_the_end():
    """pytest-asyncio makes one where there is none and leaves it open, which is a warning (its issue 724)."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()


@pytest_asyncio.fixture
async def double() -> AsyncIterator[Double]:
    """A stand-in for an API server, or whatever else is asked over HTTP."""
    from client.double import a_double

    async with a_double() as running:
        yield running


@pytest_asyncio.fixture
async def api(double: Double) -> AsyncIterator[Api]:
    """A client of the double."""
    from client.double import an_api

    async with an_api(double.url) as made:
        yield made
