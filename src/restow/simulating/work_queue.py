"""What a controller still has to look at: keys, each once, no matter how many events it got.

An event reaches a controller a moment after it happened, as a watch brings it. That is also what keeps two controllers
that undo each other's work from doing so without end in the same instant. Source: client-go's work queues.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from restow.kube.timestamps import SECOND
from restow.simulating.store import RefusedError
from restow.simulating.virtual_clock import VirtualClock

K = TypeVar("K", bound=Hashable)

#: The delay before a controller sees an event, in nanoseconds.
DELIVERY: Final = SECOND // 100


@dataclass(slots=True)
class WorkQueue(Generic[K]):
    """The keys that one controller will look at."""

    clock: VirtualClock
    look: Callable[[K], None]
    #: Whether later entries recur without end, and so do not keep the cluster from being quiet.
    recurring: bool = False
    #: When each key is looked at.
    _due: dict[K, int] = field(default_factory=dict)

    def add(self, key: K) -> None:
        """Something has happened to a key."""
        self._enter(key, DELIVERY, recurring=False)

    def add_after(self, key: K, delay: int) -> None:
        """Sync a key after a delay in nanoseconds, if not before."""
        self._enter(key, delay, recurring=self.recurring)

    def retry_after(self, key: K, delay: int) -> None:
        """Retry a key after a delay in nanoseconds, if not before; a cluster is quiet meanwhile."""
        self._enter(key, delay, recurring=True)

    def _enter(self, key: K, delay: int, *, recurring: bool) -> None:
        time = self.clock.now + delay
        if self._due.get(key, time + 1) > time:
            self._due[key] = time
            self.clock.at(time, lambda: self._look(key, time), recurring=recurring)

    def _look(self, key: K, time: int) -> None:
        # An entry that was overtaken by an earlier one is not for now.
        if self._due.get(key) == time:
            del self._due[key]
            # What the API server refuses is tried again when something has changed.
            with suppress(RefusedError):
                self.look(key)
