"""Computations in a thread of their own."""

from __future__ import annotations

import asyncio
import threading

import pytest

from restow.in_thread import EndlessError, in_thread

#: Seconds.
LONG = 60.0


@pytest.mark.asyncio
async def test_the_result_comes_from_another_thread() -> None:
    assert await in_thread(threading.get_ident, LONG) != threading.get_ident()


@pytest.mark.asyncio
async def test_what_is_raised_there_is_raised_here() -> None:
    def fail() -> None:
        raise LookupError("no such node")

    with pytest.raises(LookupError, match="no such node"):
        await in_thread(fail, LONG)


@pytest.mark.asyncio
async def test_the_loop_goes_on_meanwhile() -> None:
    asked = threading.Event()
    waiting = asyncio.ensure_future(in_thread(asked.wait, LONG))
    await asyncio.sleep(0)
    asked.set()
    assert await waiting


@pytest.mark.asyncio
async def test_whoever_is_cancelled_does_not_wait_for_the_thread() -> None:
    begun, asked, ended = threading.Event(), threading.Event(), threading.Event()

    def compute() -> None:
        begun.set()
        asked.wait()
        ended.set()

    waiting = asyncio.ensure_future(in_thread(compute, LONG))
    await asyncio.to_thread(begun.wait)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    asked.set()
    await asyncio.to_thread(ended.wait)


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_what_comes_too_late_is_dropped() -> None:
    asked, ended = threading.Event(), threading.Event()

    def compute() -> None:
        asked.wait()
        ended.set()

    with pytest.raises(EndlessError, match="within 60 s"):
        await in_thread(compute, LONG)
    asked.set()
    assert ended.wait(10)
    await asyncio.sleep(1)
