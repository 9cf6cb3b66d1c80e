"""Background tasks, the watchdog among them, and how a process ends.

The event loop itself serves the pages: while it is blocked, ``/livez`` does not answer, and the kubelet's probe fails. A
slow loop shows in the delay of its next turn. A process that was told to stop ends in time, whatever hangs.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from threading import Timer
from typing import Any, Final, TypeVar

from restow.daemon.logs import Log
from restow.serving.health import Watchdog

T = TypeVar("T")

#: Seconds without a turn of the event loop. Reading the lists of the largest clusters takes a few.
MOST_LAG: Final = 30.0
_LOOK: Final = 1.0
_WHO: Final = "event loop"
#: Longest time for a decision (seconds). The largest plan takes a small part of it; a longer decision never ends.
LONGEST_DECISION: Final = 1800.0

#: Longest time from SIGTERM to the end (seconds), even if the API server does not answer; less than the manifests'
#: grace period.
ENDS_WITHIN: Final = 55.0
_FAILED: Final = 1


@asynccontextmanager
async def background(work: Coroutine[Any, Any, None], name: str) -> AsyncIterator[None]:
    """Run a task of this name while the block runs; cancel it at the end of the block."""
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


# Everything that the end waits for has its own deadline: answers to evictions, events, the lease, connections.
# This deadline covers the unforeseen, such as a thread of the system's resolver, which Python waits for. It is shorter
# than ``terminationGracePeriodSeconds`` in ``deploy/``, so the process logs why before the kubelet kills it.
def told_to_stop(log: Log) -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set; the process ends at the latest ``ENDS_WITHIN`` seconds later."""
    stopping = asyncio.Event()
    heed_signals(stopping, log)
    return stopping


def heed_signals(stopping: asyncio.Event, log: Log) -> None:
    """Make SIGTERM and SIGINT set an event, in place of an earlier handler."""

    def stop() -> None:
        if not stopping.is_set():
            stopping.set()
            end_at_last(log)

    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop)


def end_at_last(log: Log, seconds: float = ENDS_WITHIN) -> None:
    """End the process after ``seconds``, if it still runs, with a log line and exit status 1."""

    def end() -> None:
        log.error("restow is forced to exit", f"it did not stop within {seconds:.0f} s of being told to")
        os._exit(_FAILED)

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()


@asynccontextmanager
async def watched(watchdog: Watchdog, log: Log) -> AsyncIterator[None]:
    """Check every second while the block runs."""
    looking = asyncio.create_task(_look(watchdog, log), name="watchdog")
    try:
        yield
    finally:
        looking.cancel()
        watchdog.rest(_WHO)


async def _look(watchdog: Watchdog, log: Log) -> None:
    told = ""
    while True:
        why = watchdog.stuck()
        if why and why != told:
            log.error("restow is stuck", why)
        told = why
        watchdog.expect(_WHO, "turn", MOST_LAG)
        await asyncio.sleep(_LOOK)
