"""Watch the event loop, and log when it or a cycle is stuck.

The event loop itself serves the pages: while it is blocked, ``/livez`` does not answer, and the kubelet's probe fails. A
slow loop shows in the delay of its next turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from restow.daemon.logs import Log
from restow.serving.health import Watchdog

#: Seconds without a turn of the event loop. Reading the lists of the largest clusters takes a few.
MOST_LAG: Final = 30.0
_LOOK: Final = 1.0
_WHO: Final = "event loop"


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
