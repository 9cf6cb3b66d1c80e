"""What a program that evicts keeps for others: events, and traces of evictions."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from restow.client import eviction
from restow.client.events import EventRecorder, Loss
from restow.client.transport import Api
from restow.daemon.logs import Log
from restow.descheduler.reporter import CONTROLLER
from restow.descheduler.spans import EVICTION, Tracing
from restow.executing.surroundings import Evicting
from restow.executing.task import Task

#: Seconds that one request may take.
_REQUEST: Final = 10.0


@dataclass(slots=True, frozen=True)
class TracedEvictions:
    """An ``Evicting`` that makes a span of each request."""

    evicting: Evicting
    tracing: Tracing

    async def evict(self, task: Task) -> eviction.Outcome:
        """What the other one answers. Attributes as the Descheduler's."""
        pod = task.move.pod
        attributes = {"podName": pod.name, "podNamespace": pod.namespace, "reason": task.move.reason}
        with self.tracing.span(EVICTION, operation="evict", **attributes) as span:
            answer = await self.evicting.evict(task)
            if not isinstance(answer, eviction.EvictionAccepted):
                span.happened("Eviction Failed", err=getattr(answer, "message", ""))
            return answer


class CountsLosses(Protocol):
    """Takes the figure; ``serving.metrics.Metrics`` is one."""

    def events_lost(self, reason: Loss, number: int, /) -> None:
        """Count events that could not be written."""
        ...


@asynccontextmanager
async def recording(
    api: Api, *, log: Log, metrics: CountsLosses, controller: str = CONTROLLER
) -> AsyncIterator[EventRecorder]:
    """A recorder, whose last events are written at the end; ``controller`` is whose events they are."""
    warned: set[Loss] = set()

    def lost(reason: Loss, why: str, events: int) -> None:
        metrics.events_lost(reason, events)
        if reason not in warned:
            warned.add(reason)
            log.warning(f"an event could not be written: {why}; restow_events_lost_total counts further ones")

    # Events have no rate limit, and evictions do not wait for them.
    unhurried = api.without_limit().within(_REQUEST)
    async with EventRecorder(unhurried, controller, f"{controller}-{socket.gethostname()}", on_lost=lost) as recorder:
        yield recorder
