"""Spans of cycles, strategies and evictions: their names, and what makes them.

Without a collector a span costs a call. Source: Descheduler 0.36, pkg/tracing; the names of spans and attributes are its.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

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
