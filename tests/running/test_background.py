"""Computations in a thread of their own, and how a process ends."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from restow.client.events import FAREWELL
from restow.client.leader_election import RELEASE
from restow.executing.execution import LAST_ANSWERS
from restow.running.background import ENDS_WITHIN, EndlessError, off_loop

#: Seconds.
LONG = 60.0

#: As a thread of the system's resolver does, this one keeps Python from ending.
STUCK = """
import sys, threading
from restow.running.background import end_at_last
from restow.running.logs import Log
threading.Thread(target=threading.Event().wait).start()
end_at_last(Log(sys.stderr), 0.1)
"""


@pytest.mark.asyncio
async def test_the_result_comes_from_another_thread() -> None:
    assert await off_loop(threading.get_ident, LONG) != threading.get_ident()


@pytest.mark.asyncio
async def test_what_is_raised_there_is_raised_here() -> None:
    def fail() -> None:
        raise LookupError("no such node")

    with pytest.raises(LookupError, match="no such node"):
        await off_loop(fail, LONG)


@pytest.mark.asyncio
async def test_the_loop_goes_on_meanwhile() -> None:
    asked = threading.Event()
    waiting = asyncio.ensure_future(off_loop(asked.wait, LONG))
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

    waiting = asyncio.ensure_future(off_loop(compute, LONG))
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
        await off_loop(compute, LONG)
    asked.set()
    assert ended.wait(10)
    await asyncio.sleep(1)


def test_what_the_end_waits_for_has_its_time_before_the_last_resort() -> None:
    """Seconds for answers to evictions, events, and the lease; the rest is for connections and pages."""
    assert LAST_ANSWERS + FAREWELL + RELEASE <= ENDS_WITHIN - 10


def test_a_process_that_cannot_end_is_ended_and_says_so() -> None:
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert 'restow is forced to exit" err="it did not stop within 0 s of being told to"' in ended.stderr
