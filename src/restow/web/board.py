"""What the pages show of a cluster now, and who waits for news of it.

A page that is open waits for the next change, then shows what is true by then: one that is slow skips what was between,
and nothing piles up for it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from restow.application.planning import Planned
    from restow.reporting.top_result import ClusterNow

#: A day, one in ten seconds.
_MOST_SAMPLES: Final = 8640


class Sample(Struct, frozen=True, rename="camel"):
    """A cluster at one moment, in a few numbers."""

    #: Seconds since the epoch.
    time: float
    #: Of the fullest node: requested as a share of its room.
    cpu: float
    memory: float
    cpu_spread: float
    memory_spread: float
    #: Pods without a node, and others that are under way.
    pending: int
    moving: int


def sample_of(now: ClusterNow, time: float) -> Sample:
    """The numbers of a cluster at a time in seconds since the epoch."""
    pending = sum(each.what == "waits for a node" for each in now.moving)
    return Sample(
        time,
        max((each.cpu for each in now.nodes), default=0.0),
        max((each.memory for each in now.nodes), default=0.0),
        now.cpu_spread,
        now.memory_spread,
        pending,
        len(now.moving) - pending,
    )


@dataclass(slots=True)
class News:
    """How often each part of a board has changed; of a page: how much of that it has shown."""

    now: int = 0
    plan: int = 0
    samples: int = 0


@dataclass(slots=True)
class Board:
    """What is known; pages that wait get every change."""

    now: ClusterNow | None = None
    planned: Planned | None = None
    #: Why there is no plan of the cluster as it is now; empty where there is one.
    problem: str = ""
    #: Why the cluster may be another one than is shown; empty where it is up to date.
    doubt: str = ""
    samples: list[Sample] = field(default_factory=list)
    news: News = field(default_factory=News)
    #: Whether no more news will come.
    is_closed: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def show(self, now: ClusterNow, time: float, doubt: str = "") -> None:
        """Show the cluster as it is at a time in seconds since the epoch; ``doubt`` is why it may be another one."""
        self.news.now += (now, doubt) != (self.now, self.doubt)
        self.now, self.doubt = now, doubt
        self.samples.append(sample_of(now, time))
        del self.samples[:-_MOST_SAMPLES]
        self.news.samples += 1
        self._tell()

    @property
    def caveats(self) -> str:
        """Why what is shown may not be true; empty where there is nothing to say."""
        return "; ".join(filter(None, (self.doubt, self.problem)))

    def show_plan(self, planned: Planned) -> None:
        """Show the plan of the cluster as it is."""
        self.planned, self.problem = planned, ""
        self.news.plan += 1
        self.news.now += 1
        self._tell()

    def show_problem(self, problem: str) -> None:
        """Show why there is no newer plan; an older one stays."""
        if problem != self.problem:
            self.problem = problem
            self.news.now += 1
            self._tell()

    def close(self) -> None:
        """Say that no more news will come."""
        self.is_closed = True
        self._tell()

    def has_news(self, shown: News) -> bool:
        """Whether something is newer than what was shown."""
        return self.news != shown

    async def changed(self, seconds: float) -> None:
        """Wait for the next change, but no longer than some seconds."""
        changed = self._changed
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
        except TimeoutError:
            return

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def columns(samples: list[Sample]) -> dict[str, list[float]]:
    """The samples as the charts take them: a list for each number."""
    names = zip(Sample.__struct_fields__, Sample.__struct_encode_fields__, strict=True)
    return {wire: [getattr(each, name) for each in samples] for name, wire in names}
