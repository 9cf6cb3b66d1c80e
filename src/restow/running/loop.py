"""Cycles again and again, each counted from the beginning of the one before; or one.

A cycle that fails does not end the loop, for whatever is wrong may pass - unless it is that no news come any more, or a
decision without an end: only a new process can go on then. The one of a Job ends it. The policy is looked at before each
cycle and every few seconds in between, so that a broken one is told of when it is written.
Source of the interval: Descheduler 0.36, wait.NonSlidingUntil.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from restow.live.cluster import WatchEndedError
from restow.running.cycles import Cycles
from restow.running.deciding import Rules
from restow.running.logs import Log
from restow.running.off_loop import EndlessError
from restow.running.policy_source import PolicySource
from restow.serving.health import Health

#: Seconds between two looks at the policy file.
_LOOK: Final = 5.0


@dataclass(slots=True)
class Loop:
    """Ends when ``stopping`` is set, after the cycle that is under way has come to its end."""

    cycles: Cycles
    policies: PolicySource
    #: All but the policy, which is taken anew for each cycle.
    rules: Rules
    #: Seconds; 0 for one cycle.
    interval: float
    stopping: asyncio.Event
    health: Health
    log: Log

    async def run(self) -> None:
        """Perform cycles; raises whatever a single one fails with."""
        if not self.interval:
            await self._perform()
            return
        clock = asyncio.get_running_loop().time
        while not self.stopping.is_set():
            due = clock() + self.interval
            try:
                await self._perform()
                self.health.ready()
            except (WatchEndedError, EndlessError):
                raise
            except Exception as error:  # noqa: BLE001 - the next cycle may fare better, whatever it was
                why = str(error) or type(error).__name__
                self.log.failure("Descheduling cycle failed", why)
                self.health.not_ready(f"the last cycle failed: {why}")
            while not self.stopping.is_set() and (left := due - clock()) > 0:
                await self._pause(min(left, _LOOK))
                self.policies.refresh()

    async def _perform(self) -> None:
        self.policies.refresh()
        await self.cycles.perform(replace(self.rules, policy=self.policies.current))

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.stopping.wait()
        except TimeoutError:
            return
