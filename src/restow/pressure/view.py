"""What the page shows of a daemon at one moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from restow.pressure.history import History
from restow.pressure.situation import Criteria, Situation


@dataclass(slots=True, frozen=True)
class View:
    """At one moment."""

    criteria: Criteria
    #: None before the first round, and in a process that waits for the lease.
    situation: Situation | None
    history: History
    #: The nodes that bear the label, by name.
    labelled: tuple[str, ...]
    #: What is wrong; empty if nothing is.
    trouble: str
    #: Whether this process may write.
    leads: bool
    dry_run: bool
    #: Nanoseconds since the epoch.
    now: int
    #: Seconds.
    interval: float


#: Makes a page of HTML.
Renderer = Callable[[View], str]
