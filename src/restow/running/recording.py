"""Who writes the events of a run, and what is told of those that are lost."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from restow.client.events import Loss, Recorder
from restow.client.transport import Api
from restow.running.logs import Log
from restow.running.reporter import CONTROLLER
from restow.serving.metrics import Metrics

#: Seconds that one request may take.
_REQUEST: Final = 10.0


@asynccontextmanager
async def recording(api: Api, *, log: Log, metrics: Metrics) -> AsyncIterator[Recorder]:
    """A recorder, whose last events are written at the end."""
    warned: set[Loss] = set()

    def lost(reason: Loss, why: str, events: int) -> None:
        metrics.events_lost(reason, events)
        if reason not in warned:
            warned.add(reason)
            log.caution(f"an event could not be written: {why}; restow_events_lost_total counts further ones")

    # Events wait for nobody, and nobody waits for them.
    unhurried = api.without_limit().within(_REQUEST)
    async with Recorder(unhurried, CONTROLLER, f"{CONTROLLER}-{socket.gethostname()}", on_lost=lost) as recorder:
        yield recorder
