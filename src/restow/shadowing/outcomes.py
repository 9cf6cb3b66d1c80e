"""An eviction by another program, and its outcome: the replacement moves, comes back, stays pending, or is never created."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from restow.kube.objects import OwnerReference
from restow.shadowing.forecasts import Forecast

#: Seconds without a node after which a replacement counts as left pending.
PENDING_AFTER: Final = 30.0
#: Seconds after which no replacement is expected any more.
UNREPLACED_AFTER: Final = 120.0


class EvictionOutcome(StrEnum):
    """What an eviction came to."""

    #: The replacement landed on another node.
    MOVED = "moved"
    #: It landed on the node that the pod had left.
    IN_VAIN = "inVain"
    #: It had no node ``PENDING_AFTER`` after the pod had gone, even if it got one later.
    PENDING = "pending"
    #: No other pod came.
    UNREPLACED = "unreplaced"
    #: It is not known yet.
    OPEN = "open"


#: Those that a forecast has probabilities for, in its order.
FORETOLD: Final = (EvictionOutcome.MOVED, EvictionOutcome.IN_VAIN, EvictionOutcome.PENDING)


@dataclass(slots=True)
class ForeignEviction:
    """An eviction by another program; times are in seconds since the epoch."""

    at: float
    namespace: str
    pod: str
    uid: str
    #: The topmost workload, as Kind/name; empty for a pod without one.
    workload: str
    owner: OwnerReference | None
    #: The reason of the pod's condition, such as EvictionByEvictionAPI.
    reason: str
    #: The node that it leaves.
    source: str
    forecast: Forecast
    #: Whether the pod had itself replaced one whose eviction was seen, shortly before.
    is_repeated: bool = False
    #: When the pod had vanished.
    gone: float | None = None
    replacement: str = ""
    replacement_uid: str = ""
    #: When the replacement was first seen.
    came: float | None = None
    node: str = ""
    landed: float | None = None
    ready: float | None = None
    #: Seconds for which its controller had no ready pod, in the times that are over.
    seconds_down: float = 0.0
    #: Since when its controller has had no ready pod; None while it has one.
    down_since: float | None = None

    #: Whether later forecasts have learned from it.
    is_judged: bool = False

    def outcome(self, now: float) -> EvictionOutcome:
        """The outcome at a time."""
        if self.came is None:
            is_over = self.owner is None or now - self.at > UNREPLACED_AFTER
            return EvictionOutcome.UNREPLACED if is_over else EvictionOutcome.OPEN
        if self._waited(now) > PENDING_AFTER:
            return EvictionOutcome.PENDING
        if self.landed is None:
            return EvictionOutcome.OPEN
        return EvictionOutcome.IN_VAIN if self.node == self.source else EvictionOutcome.MOVED

    def downtime(self, now: float) -> float:
        """Seconds for which its controller has had no ready pod at a time."""
        return self.seconds_down + (0.0 if self.down_since is None else now - self.down_since)

    def _waited(self, now: float) -> float:
        """Seconds that the replacement has had no node, from when the old pod had left its room."""
        end = now if self.landed is None else self.landed
        return end - max(self.came or end, end if self.gone is None else self.gone)

    def is_over(self, now: float) -> bool:
        """Whether nothing about it changes any more."""
        if self.came is None:
            return self.outcome(now) is EvictionOutcome.UNREPLACED
        return self.ready is not None
