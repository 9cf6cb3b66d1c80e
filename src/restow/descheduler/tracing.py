"""Spans of cycles, strategies and evictions: their names, and what makes them.

Without a collector that speaks OpenTelemetry's protocol a span costs a call, and nothing is imported. Tracing is never a
reason to stop: what keeps it from working is said in a sentence, and there are no traces. The provider is this object's
own; the global one stays as it is.
Source: Descheduler 0.36, pkg/tracing; the names of spans and attributes are its.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from msgspec import Struct

from restow.client import eviction
from restow.executing.surroundings import Evicting
from restow.executing.task import Task

#: Names of spans, from the outside in; a strategy's is its own.
RUN: Final = "Run"
CYCLE: Final = "runDeschedulerLoop"
PROFILES: Final = "runProfiles"
EVICTION: Final = "EvictPod"

Attribute = str | int | float | bool


class Span(Protocol):
    """What is going on."""

    def happened(self, event: str, **attributes: Attribute) -> None:
        """Note an event, such as a failure."""
        ...


class Tracing(Protocol):
    """Makes spans, each within the one that is open."""

    def span(self, name: str, **attributes: Attribute) -> AbstractContextManager[Span]:
        """Return a span that lasts as long as its block."""
        ...

    def close(self) -> None:
        """Send what was not sent yet."""
        ...


class NoTracing:
    """Records nothing."""

    def span(self, name: str, **attributes: Attribute) -> AbstractContextManager[Span]:  # noqa: ARG002 - the protocol's
        """Return a span that is not recorded."""
        return nullcontext(self)

    def happened(self, event: str, **attributes: Attribute) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class TracedEvictions(Struct, frozen=True):
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
