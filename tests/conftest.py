"""What all tests share."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("restow", deadline=None)
settings.load_profile("restow")


@pytest.fixture(scope="session", autouse=True)
def _an_event_loop_that_is_closed_in_the_end():
    """pytest-asyncio makes one where there is none and leaves it open, which is a warning (its issue 724)."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()
