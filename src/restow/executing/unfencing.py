"""Removes abandoned fences. Every replica of restow does it, not only the leader.

A fence is held as long as its Lease is renewed. A replica that sees fenced nodes, and does not hold the fence itself,
applies for that Lease. As long as the holder renews it, nothing happens. If the holder is dead or has released the
Lease, one replica gets it and removes the fence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from restow.client.leader_election import Election, lead
from restow.client.leadership import Leadership
from restow.client.transport import Api
from restow.cluster.fenced_nodes import FencedNode
from restow.executing.fencing import Fencing, NodesNow, remove
from restow.executing.settings import elapsed

#: Seconds between two checks of the nodes, and the time that another process has to remove its fence itself.
PAUSE: Final = 0.5
_GRACE: Final = 1.0


class FenceMetrics(Protocol):
    """Metrics of fences; ``serving.steering_metrics.SteeringMetrics`` has them."""

    def fences_stand(self, nodes: int, seconds: float) -> None:
        """Set how many nodes are fenced, and for how many seconds the longest has been."""
        ...

    def fences_removed(self, nodes: int) -> None:
        """Count removed fences that were abandoned."""
        ...


@dataclass(slots=True)
class Unfencing:
    """Removes abandoned fences."""

    api: Api
    cluster: NodesNow
    #: Makes a candidate for the lease of fences.
    election: Callable[[], Election]
    #: Logs a warning.
    warn: Callable[[str], None]
    counts: FenceMetrics
    #: What this process fences itself while it leads; None while it does not.
    fencing: Fencing | None = None
    #: When each fenced node was first seen.
    _seen: dict[str, float] = field(default_factory=dict, init=False)
    #: Applies for the lease, and removes the fences once it has it.
    _applying: asyncio.Task[None] | None = field(default=None, init=False)

    async def run(self) -> None:
        """Check regularly, until cancelled."""
        try:
            while True:
                self.look()
                await asyncio.sleep(PAUSE)
        finally:
            if self._applying is not None:
                self._applying.cancel()
                await asyncio.wait((self._applying,))

    def look(self) -> None:
        """Note how long nodes are fenced. Apply for the Lease while there are fences that are not ours."""
        now, fences = elapsed(), self.cluster.fences()
        self._seen = {each.name: self._seen.get(each.name, now) for each in fences}
        oldest = max((now - seen for seen in self._seen.values()), default=0.0)
        self.counts.fences_stand(len(self._seen), oldest)
        if not self._strange(fences):
            if self._applying is not None:
                self._applying.cancel()
        elif oldest >= _GRACE and (self._applying is None or self._applying.done()):
            self._applying = asyncio.create_task(self._take_away(), name="take fences away")

    def _strange(self, fences: Iterable[FencedNode]) -> list[FencedNode]:
        """The fences that this process does not hold."""
        ours = self.fencing.value if self.fencing is not None else ""
        return [each for each in fences if each.value != ours]

    async def _take_away(self) -> None:
        try:
            await lead(self.election(), self._remove)
        except Exception as error:  # noqa: BLE001 - the next try may succeed, and no one else tries
            self.warn(f"fences that nobody holds were not removed: {error or type(error).__name__}")

    async def _remove(self, _leadership: Leadership) -> None:
        strange = self._strange(self.cluster.fences())
        problems = await remove(self.api, strange)
        for problem in problems:
            self.warn(problem)
        self.counts.fences_removed(len(strange) - len(problems))
