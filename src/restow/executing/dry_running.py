"""The dry run: what an execution would evict. It has no client, so it cannot write."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass

from restow.executing.memory import EvictionHistory
from restow.executing.outcomes import Dropped, Outcome, WouldEvict
from restow.executing.settings import Clock, ExecutionSettings, closed, elapsed
from restow.executing.task import Task
from restow.policies.codes import OutcomeCode


@dataclass(slots=True, frozen=True)
class DryRun:
    """Reports which moves would be made, and makes none."""

    settings: ExecutionSettings
    memory: EvictionHistory
    clock: Clock

    async def carry_out(self, tasks: Iterable[Task]) -> AsyncGenerator[Outcome, None]:
        """Yield one ending for each task, in the order of the plan."""
        for task in tasks:
            if (shut := closed(self.settings.windows, self.clock())) is not None:
                yield Dropped(task, shut, OutcomeCode.WINDOW)
            elif (why := self.memory.reason_against(task, elapsed())) is not None:
                yield Dropped(task, why, OutcomeCode.BACK_OFF)
            else:
                yield WouldEvict(task)
