"""Tasks beside others, and how a process ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from threading import Timer
from typing import Any, Final, TypeVar

from restow.running.logs import Log

T = TypeVar("T")

#: What a decision may take (seconds): many times what the largest plan takes, so that it will never end.
LONGEST_DECISION: Final = 1800.0

#: Seconds from SIGTERM to the end, whatever the API server does; less than the manifests' grace period.
ENDS_WITHIN: Final = 55.0
_FAILED: Final = 1


@asynccontextmanager
async def background(work: Coroutine[Any, Any, None], name: str) -> AsyncIterator[None]:
    """Do something in a task of this name while the block runs, and end it with the block."""
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


# Everything that the end waits for has a deadline of its own: answers to evictions, events, the lease, connections.
# This one is for what nobody foresaw, such as a thread of the system's resolver, which Python waits for. The
# kubelet kills the process a little later (``terminationGracePeriodSeconds`` in ``deploy/``); until then it could
# say why.
def told_to_stop(log: Log) -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set; the process has ended some time after that, whatever happens."""
    stopping = asyncio.Event()
    heed_signals(stopping, log)
    return stopping


def heed_signals(stopping: asyncio.Event, log: Log) -> None:
    """Have SIGTERM and SIGINT set an event, also where somebody else has taken them."""

    def stop() -> None:
        if not stopping.is_set():
            stopping.set()
            end_at_last(log)

    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop)


def end_at_last(log: Log, seconds: float = ENDS_WITHIN) -> None:
    """End the process that much later, unless it has ended by then; with exit status 1 and a line in the log."""

    def end() -> None:
        log.error("restow is forced to exit", f"it did not stop within {seconds:.0f} s of being told to")
        os._exit(_FAILED)

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
