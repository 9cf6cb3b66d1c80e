"""Evictions that are traced; without a collector that costs a call."""

from __future__ import annotations

from dataclasses import dataclass

from restow.client import eviction
from restow.executing.surroundings import Evicting
from restow.executing.task import Task
from restow.running.tracing import EVICTION, Tracing


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
            if not isinstance(answer, eviction.Evicted):
                span.happened("Eviction Failed", err=getattr(answer, "message", ""))
            return answer
