"""Coroutines in virtual time.

An event loop asks its selector to wait until the next timer is due. The selector here does not wait, but ends the loop's run,
and the loop continues from an entry of the clock for that time. So everything else in the cluster happens in between, in its
order, and a run is the same every time.
"""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Coroutine
from typing import Any, Final

from restow.kube.timestamps import SECOND
from restow.simulating.virtual_time import VirtualClock

#: Timers are due at whole nanoseconds: a wait that is shorter than one would never end.
_SHORTEST: Final = 1


class _NoWaiting(selectors.SelectSelector):
    """Ends the run of a loop that has nothing to do now."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: asyncio.AbstractEventLoop | None = None
        #: Seconds until the loop has something to do again; None if it never has.
        self.pause: float | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Nothing: there are no writes to a simulated cluster from outside."""
        if (timeout is None or timeout > 0) and self.loop is not None:
            self.pause = timeout
            self.loop.stop()
        return []


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose time is that of an clock, in seconds since ``epoch`` (nanoseconds)."""

    def __init__(self, clock: VirtualClock, epoch: int) -> None:
        self._clock, self._epoch = clock, epoch
        self._waits = _NoWaiting()
        super().__init__(self._waits)
        self._waits.loop = self

    def time(self) -> float:
        return (self._clock.now - self._epoch) / SECOND

    def run_until_idle(self) -> float | None:
        """Run what can run now; returns the seconds until more can, None if nothing ever can."""
        self.run_forever()
        return self._waits.pause


class VirtualTask:
    """A coroutine that begins now and continues each time the clock reaches a time that it waits for.

    ``epoch`` (nanoseconds) is when the time that it sees began. The clock raises what it raises. One that has not ended
    must be stopped.
    """

    def __init__(self, clock: VirtualClock, epoch: int, work: Coroutine[Any, Any, None]) -> None:
        self._clock = clock
        self._loop = _Loop(clock, epoch)
        self._task = self._loop.create_task(work)
        self._go_on()

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._task.done()

    def stop(self) -> None:
        """Stop it now, at any await."""
        self._task.cancel()
        while not self.is_over:
            self._loop.run_until_idle()
        self._loop.close()

    def _go_on(self) -> None:
        if self._loop.is_closed():
            return
        pause = self._loop.run_until_idle()
        if self.is_over:
            self._loop.close()
            self._task.result()
        elif pause is not None:
            self._clock.after(max(math.ceil(pause * SECOND), _SHORTEST), self._go_on)
