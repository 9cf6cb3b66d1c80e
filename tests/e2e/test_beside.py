"""What runs beside a test ends with it, and says so where it does not."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import pytest

from e2e.beside import coroutine_beside


def test_a_coroutine_lasts_as_long_as_the_block() -> None:
    began, ended = threading.Event(), threading.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    with coroutine_beside(work):
        assert began.wait(10)
        assert not ended.is_set()
    assert ended.is_set()


def test_an_error_of_it_is_raised_at_the_end() -> None:
    async def work() -> None:
        raise KeyError("what is not there")

    with pytest.raises(KeyError, match="what is not there"), coroutine_beside(work):
        pass


def test_a_coroutine_that_swallows_its_cancellation_stops_no_session() -> None:
    begun, over = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        await asyncio.to_thread(over.wait)

    with pytest.raises(TimeoutError), coroutine_beside(work, ending=0.1):
        begun.wait(10)
    over.set()
